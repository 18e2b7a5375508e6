/*
 * sotto-tool: one program under many names
 *
 * Called as sotto-COMMAND, or as COMMAND (as `sotto COMMAND` does), it runs that command; called as sotto-tool it runs
 * the command that its first argument names.
 */
#include "base/file.h"
#include "tool/tool.h"
#include <string.h>

static int list(FILE *out)
{
    for (const struct tool *const *tool = tools; *tool; tool++) {
        fprintf(out, "  %-12s %s\n", (*tool)->name, (*tool)->summary);
    }
    return fflush(out) == 0 ? TOOL_OK : TOOL_FAILED;
}

static int usage(FILE *out, int code)
{
    fputs("usage: sotto-tool COMMAND [OPTION]... [ARGUMENT]...\n\n"
          "Inspects and makes model files; needs no daemon. `sotto COMMAND` does the same.\n\n",
          out);
    list(out);
    fputs("\n\"sotto-tool COMMAND --help\" explains a command.\n", out);
    return code;
}

/* Lists the options of a command, one on each line, for completion in shells. */
static int list_options(const struct tool *tool)
{
    for (const struct arg_row *row = tool->rows; row->name; row++) {
        printf("--%s\n", row->name);
    }
    return fflush(stdout) == 0 ? TOOL_OK : TOOL_FAILED;
}

static int run(const struct tool *tool, int argc, char **argv)
{
    struct tool_call call = { .tool = tool };
    struct args args;

    if (argc == 1 && strcmp(argv[0], "--options") == 0) {
        return list_options(tool);
    }
    args_init(&args, tool->rows, argc, argv);
    return tool->run(&call, &args);
}

/* Returns the command that this program was called as, or NULL. */
static const struct tool *find_called(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    return tool_find(strncmp(name, "sotto-", 6) == 0 ? name + 6 : name);
}

int main(int argc, char **argv)
{
    const struct tool *tool = argc > 0 ? find_called(argv[0]) : NULL;

    if (file_hold_std()) {
        return TOOL_FAILED;
    }
    if (tool) {
        return run(tool, argc - 1, argv + 1);
    }
    if (argc < 2) {
        return usage(stderr, TOOL_USAGE);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        return usage(stdout, TOOL_OK);
    }
    if (strcmp(argv[1], "--list") == 0) {
        return list(stdout);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("sotto-tool %s\n", SOTTO_VERSION);
        return TOOL_OK;
    }
    tool = tool_find(argv[1]);
    if (!tool) {
        fprintf(stderr, "sotto-tool: unknown command \"%s\"\n", argv[1]);
        return usage(stderr, TOOL_USAGE);
    }
    return run(tool, argc - 2, argv + 2);
}
