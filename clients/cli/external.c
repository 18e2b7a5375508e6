#include "external.h"
#include "base/mem.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* The texts are those of `sotto-tool --list`. tokenize is missing here since it is a command of its own. */
const struct external cli_external[] = {
    { "bench", "measure how fast a model is here, beside the limits of the machine" },
    { "convert", "make a GGUF file from a Hugging Face folder" },
    { "doctor", "check this machine: devices, sensors, limits, and what to change" },
    { "inspect", "show what is in a model file and what sotto does with it" },
    { "logits", "show the logits of a model after some tokens" },
    { "pack", "write a model file in the order in which it is computed" },
    { "perplexity", "measure how well a model predicts a text, and what a format costs" },
    { "plan", "compute the best that a chip can do for a model" },
    { "quantize", "write a model file in fewer bits" },
    { "render", "apply a chat template to a conversation" },
    { "sensors", "show the sensors of load, heat, power and memory" },
    { NULL, NULL },
};

bool external_is_known(const char *name)
{
    for (const struct external *external = cli_external; external->name; external++) {
        if (strcmp(external->name, name) == 0) {
            return true;
        }
    }
    return strcmp(name, "tokenize") == 0;
}

/* Runs @dir/sotto-@name in place of this program; returns if that fails. */
static void try_exec(const char *dir, const char *name, char **argv)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/sotto-%s", dir, name) < (int)sizeof(path)) {
        execv(path, argv);
    }
}

/* Writes the folder of this program: in a build that is not installed the others lie beside it. */
static const char *own_folder(char folder[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);

    if (n <= 0) {
        return NULL;
    }
    folder[n] = '\0';
    *strrchr(folder, '/') = '\0';
    return folder;
}

void external_run(const struct cli *cli, const char *name, int n, char **arguments)
{
    static char json[] = "--json";
    char folder[PATH_MAX];
    char **argv = mem_calloc(MEM_MISC, (size_t)n + 3, sizeof(*argv));

    /* A name of small letters and dashes leads to no other folder. */
    if (!argv || strspn(name, "abcdefghijklmnopqrstuvwxyz-") != strlen(name)) {
        mem_free(argv);
        return;
    }
    argv[0] = (char *)name;
    if (cli->json) {
        argv[1] = json;
    }
    memcpy(argv + 1 + cli->json, arguments, (size_t)n * sizeof(*argv));
    if (own_folder(folder)) {
        try_exec(folder, name, argv);
    }
    try_exec(SOTTO_LIBEXEC_DIR, name, argv);
    mem_free(argv);
}

int external_missing(const char *name)
{
    char folder[PATH_MAX];
    const char *own = own_folder(folder);

    fprintf(stderr,
            "sotto: this command is the program sotto-%s, which can't be run from %s%s%s\n"
            "It is installed together with sottod: install the package that has the daemon.\n",
            name, SOTTO_LIBEXEC_DIR, own ? " or " : "", own ? own : "");
    return CLI_FAILED;
}
