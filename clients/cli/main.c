/*
 * sotto: the command line to the daemon
 *
 * `sotto [--socket PATH] COMMAND ...` runs a row of the table below. A command that is not in it but lies as
 * libexec/sotto/sotto-COMMAND (those that need no daemon) is run from there.
 */
#include "base/file.h"
#include "cli.h"
#include "outside.h"
#include "suggest.h"
#include <errno.h>
#include <stdarg.h>
#include <string.h>

const struct command *const cli_commands[] = {
    &cmd_chat,   &cmd_completion, &cmd_detokenize, &cmd_embed,    &cmd_generate, &cmd_hint,  &cmd_load, &cmd_models,
    &cmd_reload, &cmd_session,    &cmd_status,     &cmd_tokenize, &cmd_unload,   &cmd_watch, NULL,
};

enum main_row {
    MAIN_VERSION = CLI_ROWS_COUNT,
};

const struct arg_row cli_rows[] = {
    CLI_ROWS,
    [MAIN_VERSION] = { "version", 0, ARG_FLAG, NULL, NULL, "show the version" },
    { NULL },
};

void cli_page(const struct command *command, FILE *out)
{
    fprintf(out, "usage: sotto %s [OPTION]...%s%s\n\n%s\n\n", command->name, *command->words ? " " : "", command->words,
            command->about);
    args_help(command->rows, out);
}

void cli_main_page(FILE *out)
{
    fputs("usage: sotto [--socket PATH] COMMAND [OPTION]... [ARGUMENT]...\n\n"
          "Talks to sottod, the daemon that runs this computer's language model.\n\n",
          out);
    for (const struct command *const *command = cli_commands; *command; command++) {
        fprintf(out, "  %-12s %s\n", (*command)->name, (*command)->summary);
    }
    fputs("\nOn model files, without a daemon (and tokenize --file):\n\n", out);
    for (const struct outside *outside = cli_outside; outside->name; outside++) {
        fprintf(out, "  %-12s %s\n", outside->name, outside->summary);
    }
    fputs("\n\"sotto COMMAND --help\" tells all about one of them.\n\n", out);
    args_help(cli_rows, out);
}

int cli_usage(const struct cli *cli, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "sotto%s%s: ", cli->command ? " " : "", cli->command ? cli->command->name : "");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n\"sotto%s%s --help\" shows how it is used\n", cli->command ? " " : "",
            cli->command ? cli->command->name : "");
    return CLI_USAGE;
}

int cli_fail(const struct cli *cli, const struct sotto_error *error)
{
    fprintf(stderr, "sotto: %s%s%s%s\n", error->message, *error->field ? " (" : "", error->field,
            *error->field ? ")" : "");
    return CLI_FAILED;
}

/* Why standard output took no more, at the first time that it did not. */
static int out_fault;

bool cli_show(const struct cli *cli)
{
    (void)cli;
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return true;
    }
    out_fault = out_fault ? out_fault : errno;
    return false;
}

int cli_flush(const struct cli *cli)
{
    if (cli_show(cli)) {
        return CLI_OK;
    }
    if (out_fault != EPIPE) {
        fprintf(stderr, "sotto: can't write to standard output: %s\n",
                out_fault ? strerror(out_fault) : "a part of it was lost");
    }
    return CLI_FAILED;
}

/* True: it was a common option, and it is taken. */
static bool take_common(struct cli *cli, const struct arg_found *found)
{
    switch (found->row) {
    case CLI_SOCKET:
        cli->socket = found->text;
        return true;
    case CLI_JSON:
        cli->json = true;
        return true;
    case CLI_HELP:
        cli->help = true;
        return true;
    default:
        return false; /* an option of one table only, or a plain argument */
    }
}

enum cli_next cli_next(struct cli *cli, struct args *args, struct arg_found *ret_found)
{
    struct diag diag = DIAG_INIT;

    for (;;) {
        int r = args_next(args, ret_found, &diag);

        if (r == ARGS_END) {
            return CLI_NEXT_END;
        }
        if (r != ARGS_FOUND) {
            cli_usage(cli, "%s", diag.text);
            return CLI_NEXT_STOP;
        }
        if (!take_common(cli, ret_found)) {
            return CLI_NEXT_FOUND;
        }
        if (cli->help) {
            cli_page(cli->command, stdout);
            return CLI_NEXT_STOP;
        }
    }
}

int cli_end(const struct cli *cli)
{
    return cli->help ? cli_flush(cli) : CLI_USAGE;
}

int cli_words(struct cli *cli, struct args *args, const char **words, int cap)
{
    struct arg_found found;
    enum cli_next next;
    int n = 0;

    while ((next = cli_next(cli, args, &found)) == CLI_NEXT_FOUND) {
        if (n == cap) {
            return -1 - cli_usage(cli, "\"%s\" is one argument too many", found.text);
        }
        words[n++] = found.text;
    }
    return next == CLI_NEXT_STOP ? -1 - cli_end(cli) : n;
}

static const struct command *find_command(const char *name)
{
    for (const struct command *const *command = cli_commands; *command; command++) {
        if (strcmp((*command)->name, name) == 0) {
            return *command;
        }
    }
    return NULL;
}

static int run_unknown(const struct cli *cli, const char *name, int n, char **arguments)
{
    const char *meant;

    outside_run(cli, name, n, arguments);
    meant = suggest_command(name);
    if (meant) {
        return cli_usage(cli, "there is no command \"%s\"; did you mean \"%s\"?", name, meant);
    }
    return cli_usage(cli, "there is no command \"%s\"", name);
}

/* "sotto help", "sotto help COMMAND". */
static int show_help(struct cli *cli, const char *name)
{
    const struct command *command = name ? find_command(name) : NULL;
    static char help[] = "--help";
    char *const page[] = { help };

    if (name && !command) {
        outside_run(cli, name, 1, (char **)page);
        return cli_usage(cli, "there is no command \"%s\"", name);
    }
    if (command) {
        cli_page(command, stdout);
    } else {
        cli_main_page(stdout);
    }
    return cli_flush(cli);
}

static int run_command(struct cli *cli, int argc, char **argv)
{
    const struct command *command = find_command(argv[0]);
    struct args args;

    if (strcmp(argv[0], "help") == 0) {
        return show_help(cli, argc > 1 ? argv[1] : NULL);
    }
    if (!command) {
        return run_unknown(cli, argv[0], argc - 1, argv + 1);
    }
    cli->command = command;
    args_init(&args, command->rows, argc - 1, argv + 1);
    return command->run(cli, &args);
}

int main(int argc, char **argv)
{
    struct cli cli = { .socket = NULL };
    struct diag diag = DIAG_INIT;
    struct arg_found found;
    struct args args;
    int r;

    if (file_hold_std()) {
        return CLI_FAILED;
    }
    args_init(&args, cli_rows, argc - 1, argv + 1);
    while ((r = args_next(&args, &found, &diag)) == ARGS_FOUND) {
        if (found.row < 0) {
            return run_command(&cli, argc - args.at, argv + args.at);
        }
        if (found.row == MAIN_VERSION) {
            printf("sotto %s (libsotto %s)\n", SOTTO_VERSION, sotto_version());
            return cli_flush(&cli);
        }
        take_common(&cli, &found);
        if (cli.help) {
            return show_help(&cli, NULL);
        }
    }
    if (r == ARGS_BAD) {
        return cli_usage(&cli, "%s", diag.text);
    }
    cli_main_page(stderr);
    return CLI_USAGE;
}
