#include "outside.h"
#include "base/mem.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* As `sotto-tool --list` tells them; tokenize is here by its own name, and there with --file. */
const struct outside cli_outside[] = {
    { "convert", "make a GGUF file from a Hugging Face folder" },
    { "doctor", "check this machine: devices, sensors, limits, and what to change" },
    { "inspect", "show what is in a model file and what sotto does with it" },
    { "logits", "show the logits of a model after some tokens" },
    { "perplexity", "measure how well a model predicts a text, and what a format costs" },
    { "plan", "compute the best that a chip can do for a model" },
    { "quantize", "write a model file in fewer bits" },
    { "render", "apply a chat template to a conversation" },
    { "sensors", "show the sensors of load, heat, power and memory" },
    { NULL, NULL },
};

/* Runs @dir/sotto-@name in place of this program; comes back if it is not there. */
static void try_exec(const char *dir, const char *name, char **argv)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/sotto-%s", dir, name) < (int)sizeof(path)) {
        execv(path, argv);
    }
}

/* Names have small letters and dashes only: no way to other folders. */
void outside_run(const struct cli *cli, const char *name, int n, char **arguments)
{
    static char json[] = "--json";
    char self[PATH_MAX];
    ssize_t n_self = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char **argv = mem_calloc(MEM_MISC, (size_t)n + 3, sizeof(*argv));

    if (!argv || strspn(name, "abcdefghijklmnopqrstuvwxyz-") != strlen(name)) {
        mem_free(argv);
        return;
    }
    argv[0] = (char *)name;
    if (cli->json) {
        argv[1] = json;
    }
    memcpy(argv + 1 + cli->json, arguments, (size_t)n * sizeof(*argv));
    if (n_self > 0) {
        self[n_self] = '\0';
        *strrchr(self, '/') = '\0'; /* beside this program: not installed yet */
        try_exec(self, name, argv);
    }
    try_exec(SOTTO_LIBEXEC_DIR, name, argv);
    mem_free(argv);
}
