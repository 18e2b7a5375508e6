#include "app/cmdline.h"
#include "base/args.h"
#include "base/clean.h"
#include "base/err.h"
#include "config/config_keys.h"
#include "proto/check.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_CONFIG "/etc/sotto/sotto.json"
#define ROOT_SOCKET  "/run/sotto/sotto.sock"
#define ARENA_MOST   (1u << 20)

enum option {
    OPTION_CONFIG,
    OPTION_SOCKET,
    OPTION_MODEL,
    OPTION_FOREGROUND,
    OPTION_ENGINE,
    OPTION_SENSE,
    OPTION_CHECK_CONFIG,
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_COUNT,
};

static const struct arg_row rows[OPTION_COUNT + 1] = {
    [OPTION_CONFIG] = { "config", 'c', ARG_TEXT, "FILE", NULL,
                        "Read FILE; without this option " USUAL_CONFIG ", if it is there." },
    [OPTION_SOCKET] = { "socket", 's', ARG_TEXT, "PATH", NULL, "Listen at PATH." },
    [OPTION_MODEL] = { "model", 'm', ARG_TEXT, "NAME=FILE", NULL,
                       "Load the GGUF file FILE as NAME at start; may be given often, the first is the "
                       "default." },
    [OPTION_FOREGROUND] = { "foreground", 'f', ARG_FLAG, NULL, NULL,
                            "Log for a person: with times, and without the journal's prefixes." },
    [OPTION_ENGINE] = { "engine", 0, ARG_TEXT, "PATH", NULL, "Start PATH as sotto-engine." },
    [OPTION_SENSE] = { "sense", 0, ARG_TEXT, "PATH", NULL, "Start PATH as sotto-sense." },
    [OPTION_CHECK_CONFIG] = { "check-config", 0, ARG_FLAG, NULL, NULL,
                              "Read the configuration, say what is wrong with it, and end." },
    [OPTION_HELP] = { "help", 'h', ARG_FLAG, NULL, NULL, "Print this page." },
    [OPTION_VERSION] = { "version", 0, ARG_FLAG, NULL, NULL, "Print the version." },
};

static void print_help(FILE *out)
{
    fprintf(out, "usage: sottod [--config FILE] [--socket PATH] [--model NAME=FILE]... [--foreground]\n"
                 "       sottod [--config FILE] --check-config\n\n"
                 "Serves language models to the programs of this computer, over a unix socket.\n\n"
                 "options:\n");
    args_help(rows, out);
    fprintf(out, "\nenvironment:\n"
                 "  SOTTO_SOCKET   as --socket\n"
                 "  SOTTO_LOG      levels by topic, as ipc:debug,stream:info\n"
                 "  SOTTO_CPU      instruction sets that engines may use, as scalar or avx2\n"
                 "\nSee sottod(8) and sotto.json(5).\n");
}

/* @path made absolute, since the daemon's folder is nobody's business; NULL: no memory, or no folder. */
static const char *absolute(struct options *options, const char *path)
{
    char folder[OPTIONS_PATH_BYTES];
    char *whole;
    size_t n;

    if (*path == '/') {
        return path;
    }
    if (!getcwd(folder, sizeof(folder))) {
        return NULL;
    }
    n = strlen(folder) + 1 + strlen(path) + 1;
    whole = arena_alloc(&options->arena, n);
    if (whole) {
        snprintf(whole, n, "%s/%s", folder, path);
    }
    return whole;
}

static int add_model(struct options *options, const char *text, struct diag *diag)
{
    struct config_extra_model *model = &options->models[options->extra.n_models];
    const char *equals = strchr(text, '=');
    char *name;

    if (!equals || !equals[1]) {
        diag_set(diag, "--model %s: must be NAME=FILE", text);
        return OPTIONS_BAD;
    }
    if (options->extra.n_models == OPTIONS_MODELS_MOST) {
        diag_set(diag, "--model: at most %d models fit on the command line; use a configuration file",
                 OPTIONS_MODELS_MOST);
        return OPTIONS_BAD;
    }
    name = arena_alloc(&options->arena, (size_t)(equals - text) + 1);
    model->file = absolute(options, equals + 1);
    if (!name || !model->file) {
        return err_new(-ENOMEM);
    }
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = '\0';
    if (!check_name(name)) {
        diag_set(diag, "--model %s: a name has 1 to 64 characters out of A-Z a-z 0-9 . _ : / -", name);
        return OPTIONS_BAD;
    }
    for (size_t i = 0; i < options->extra.n_models; i++) {
        if (strcmp(options->models[i].name, name) == 0) {
            diag_set(diag, "--model %s: given twice", name);
            return OPTIONS_BAD;
        }
    }
    model->name = name;
    options->extra.n_models++;
    return OPTIONS_RUN;
}

static int set_path(struct options *options, const char *text, const char **ret_path, const char *what,
                    struct diag *diag)
{
    if (!*text) {
        diag_set(diag, "%s: the path is empty", what);
        return OPTIONS_BAD;
    }
    *ret_path = absolute(options, text);
    return *ret_path ? OPTIONS_RUN : err_new(-ENOMEM);
}

static int take(struct options *options, const struct arg_found *found, FILE *out, struct diag *diag)
{
    switch ((enum option)found->row) {
    case OPTION_CONFIG:
        return set_path(options, found->text, &options->config, "--config", diag);
    case OPTION_SOCKET:
        return set_path(options, found->text, &options->extra.socket, "--socket", diag);
    case OPTION_ENGINE:
        return set_path(options, found->text, &options->engine, "--engine", diag);
    case OPTION_SENSE:
        return set_path(options, found->text, &options->sense, "--sense", diag);
    case OPTION_MODEL:
        return add_model(options, found->text, diag);
    case OPTION_FOREGROUND:
        options->foreground = true;
        return OPTIONS_RUN;
    case OPTION_CHECK_CONFIG:
        options->check_config = true;
        return OPTIONS_RUN;
    case OPTION_HELP:
        print_help(out);
        return OPTIONS_ANSWERED;
    case OPTION_VERSION:
        fprintf(out, "sottod %s\n", SOTTO_VERSION);
        return OPTIONS_ANSWERED;
    case OPTION_COUNT:
        break;
    }
    diag_set(diag, "%s: sottod takes options only; see --help", found->text);
    return OPTIONS_BAD;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static int read_environment(struct options *options, struct diag *diag)
{
    const char *socket = variable("SOTTO_SOCKET");

    options->log_levels = variable("SOTTO_LOG");
    options->cpu_mask = variable("SOTTO_CPU");
    options->runtime_folder = variable("XDG_RUNTIME_DIR");
    return socket ? set_path(options, socket, &options->extra.socket, "SOTTO_SOCKET", diag) : OPTIONS_RUN;
}

int options_read(struct options *ret_options, int argc, char **argv, FILE *out, struct diag *diag)
{
    struct options *options = ret_options;
    struct args args;
    int r;

    memset(options, 0, sizeof(*options));
    arena_init(&options->arena, MEM_MISC, ARENA_MOST);
    options->extra.models = options->models;
    r = read_environment(options, diag);
    args_init(&args, rows, argc - 1, argv + 1);
    while (r == OPTIONS_RUN) {
        struct arg_found found;
        int next = args_next(&args, &found, diag);

        if (next == ARGS_END) {
            break;
        }
        r = next == ARGS_BAD ? OPTIONS_BAD : take(options, &found, out, diag);
    }
    if (r == OPTIONS_RUN && !options->config && access(USUAL_CONFIG, F_OK) == 0) {
        options->config = USUAL_CONFIG;
    }
    return r;
}

void options_finish(struct options *options)
{
    arena_finish(&options->arena);
}

/* A program of ours: where an option says, beside this one, in the build folder's place, or installed. */
static bool find_program(const char *given, const char *option, const char *name, const char *room,
                         char path[OPTIONS_PATH_BYTES], struct diag *diag)
{
    char self[OPTIONS_PATH_BYTES] = "";
    char *slash;

    if (given) {
        snprintf(path, OPTIONS_PATH_BYTES, "%s", given);
        if (access(path, X_OK) == 0) {
            return true;
        }
        diag_set(diag, "%s %s: no program there", option, given);
        return false;
    }
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0) {
        self[0] = '\0';
    }
    slash = strrchr(self, '/');
    for (int i = 0; slash && i < 2; i++) {
        int n = snprintf(path, OPTIONS_PATH_BYTES, "%.*s%s%s%s", (int)(slash + 1 - self), self, i ? "../" : "",
                         i ? room : "", name);

        if (n < OPTIONS_PATH_BYTES && access(path, X_OK) == 0) {
            return true;
        }
    }
    snprintf(path, OPTIONS_PATH_BYTES, "%s/%s", SOTTO_LIBEXEC_DIR, name);
    if (access(path, X_OK) == 0) {
        return true;
    }
    diag_set(diag, "%s is neither beside sottod nor at %s; give %s PATH", name, path, option);
    return false;
}

bool options_find_engine(const struct options *options, char path[OPTIONS_PATH_BYTES], struct diag *diag)
{
    return find_program(options->engine, "--engine", "sotto-engine", "engine/", path, diag);
}

bool options_find_sense(const struct options *options, char path[OPTIONS_PATH_BYTES], struct diag *diag)
{
    return find_program(options->sense, "--sense", "sotto-sense", "sensor/", path, diag);
}

bool options_usual_socket(const struct options *options, bool is_root, char path[OPTIONS_PATH_BYTES], struct diag *diag)
{
    if (is_root) {
        snprintf(path, OPTIONS_PATH_BYTES, "%s", ROOT_SOCKET);
        return true;
    }
    if (!options->runtime_folder) {
        diag_set(diag, "no socket: XDG_RUNTIME_DIR is not set; give --socket PATH");
        return false;
    }
    snprintf(path, OPTIONS_PATH_BYTES, "%s/sotto.sock", options->runtime_folder);
    return true;
}
