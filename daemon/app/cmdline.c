/*
 * Cmdline: options, variables, and the programs and paths that they name
 */
#include "app/cmdline.h"
#include "base/args.h"
#include "base/clean.h"
#include "base/err.h"
#include "config/config_keys.h"
#include "proto/check.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CONFIG "/etc/sotto/sotto.json"
#define ROOT_SOCKET    "/run/sotto/sotto.sock"
#define ARENA_MOST     (1u << 20)

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
                        "Read the configuration FILE; the default is " DEFAULT_CONFIG ", if it exists." },
    [OPTION_SOCKET] = { "socket", 's', ARG_TEXT, "PATH", NULL, "Listen at PATH." },
    [OPTION_MODEL] = { "model", 'm', ARG_TEXT, "NAME=FILE", NULL,
                       "Load the GGUF file FILE as NAME at start; may be repeated, and the first is the "
                       "default model." },
    [OPTION_FOREGROUND] = { "foreground", 'f', ARG_FLAG, NULL, NULL,
                            "Log for a person, with times, also if the journal reads the log." },
    [OPTION_ENGINE] = { "engine", 0, ARG_TEXT, "PATH", NULL, "Start PATH as sotto-engine." },
    [OPTION_SENSE] = { "sense", 0, ARG_TEXT, "PATH", NULL, "Start PATH as sotto-sense." },
    [OPTION_CHECK_CONFIG] = { "check-config", 0, ARG_FLAG, NULL, NULL,
                              "Check the configuration, print its errors, and exit." },
    [OPTION_HELP] = { "help", 'h', ARG_FLAG, NULL, NULL, "Print this help." },
    [OPTION_VERSION] = { "version", 0, ARG_FLAG, NULL, NULL, "Print the version." },
};

static void print_help(FILE *out)
{
    fprintf(out, "usage: sottod [--config FILE] [--socket PATH] [--model NAME=FILE]... [--foreground]\n"
                 "       sottod [--config FILE] --check-config\n\n"
                 "Serves language models to the programs of this computer over a unix socket.\n\n"
                 "options:\n");
    args_help(rows, out);
    fprintf(out, "\nenvironment:\n"
                 "  SOTTO_SOCKET   path of the socket, unless --socket is given\n"
                 "  SOTTO_LOG      log levels by topic, such as ipc:debug,stream:info\n"
                 "  SOTTO_CPU      best instruction set that engines may use: scalar, avx2,\n"
                 "                 avx2-vnni, avx512, neon, neon-dotprod or neon-i8mm\n"
                 "  STATE_DIRECTORY  folder for what is learnt of the chip; nothing is kept without it\n"
                 "\nSee sottod(8) and sotto.json(5).\n");
}

/* Returns @path as an absolute path; NULL if there is no memory, or no current folder. */
static const char *absolute(struct cmdline *options, const char *path)
{
    char folder[CMDLINE_PATH_BYTES];
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

static int add_model(struct cmdline *options, const char *text, struct diag *diag)
{
    struct config_extra_model *model = &options->models[options->extra.n_models];
    const char *equals = strchr(text, '=');
    char *name;

    if (!equals || !equals[1]) {
        diag_set(diag, "--model %s: expected NAME=FILE", text);
        return CMDLINE_BAD;
    }
    if (options->extra.n_models == CMDLINE_MODELS_MOST) {
        diag_set(diag, "--model: given more than %d times, the limit; use a configuration file", CMDLINE_MODELS_MOST);
        return CMDLINE_BAD;
    }
    name = arena_alloc(&options->arena, (size_t)(equals - text) + 1);
    model->file = absolute(options, equals + 1);
    if (!name || !model->file) {
        return err_new(-ENOMEM);
    }
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = '\0';
    if (!check_name(name)) {
        diag_set(diag, "--model %s: not a model name; expected 1 to 64 characters of A-Z a-z 0-9 . _ : / -", name);
        return CMDLINE_BAD;
    }
    for (size_t i = 0; i < options->extra.n_models; i++) {
        if (strcmp(options->models[i].name, name) == 0) {
            diag_set(diag, "--model %s: given twice; each name may be given once", name);
            return CMDLINE_BAD;
        }
    }
    model->name = name;
    options->extra.n_models++;
    return CMDLINE_RUN;
}

static int set_path(struct cmdline *options, const char *text, const char **ret_path, const char *what,
                    struct diag *diag)
{
    if (!*text) {
        diag_set(diag, "%s: the path is empty; give one", what);
        return CMDLINE_BAD;
    }
    *ret_path = absolute(options, text);
    return *ret_path ? CMDLINE_RUN : err_new(-ENOMEM);
}

static int take(struct cmdline *options, const struct arg_found *found, FILE *out, struct diag *diag)
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
        return CMDLINE_RUN;
    case OPTION_CHECK_CONFIG:
        options->check_config = true;
        return CMDLINE_RUN;
    case OPTION_HELP:
        print_help(out);
        return CMDLINE_ANSWERED;
    case OPTION_VERSION:
        fprintf(out, "sottod %s\n", SOTTO_VERSION);
        return CMDLINE_ANSWERED;
    case OPTION_COUNT:
        break;
    }
    diag_set(diag, "unexpected argument %s; sottod takes options only, see --help", found->text);
    return CMDLINE_BAD;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static int read_environment(struct cmdline *options, struct diag *diag)
{
    const char *socket = variable("SOTTO_SOCKET");

    options->log_levels = variable("SOTTO_LOG");
    options->cpu_mask = variable("SOTTO_CPU");
    options->runtime_folder = variable("XDG_RUNTIME_DIR");
    options->journal_stream = variable("JOURNAL_STREAM");
    options->state_folder = variable("STATE_DIRECTORY");
    return socket ? set_path(options, socket, &options->extra.socket, "SOTTO_SOCKET", diag) : CMDLINE_RUN;
}

int cmdline_read(struct cmdline *ret_options, int argc, char **argv, FILE *out, struct diag *diag)
{
    struct cmdline *options = ret_options;
    struct args args;
    int r;

    memset(options, 0, sizeof(*options));
    arena_init(&options->arena, MEM_MISC, ARENA_MOST);
    options->extra.models = options->models;
    r = read_environment(options, diag);
    args_init(&args, rows, argc - 1, argv + 1);
    while (r == CMDLINE_RUN) {
        struct arg_found found;
        int next = args_next(&args, &found, diag);

        if (next == ARGS_END) {
            break;
        }
        r = next == ARGS_BAD ? CMDLINE_BAD : take(options, &found, out, diag);
    }
    if (r == CMDLINE_RUN && !options->config && access(DEFAULT_CONFIG, F_OK) == 0) {
        options->config = DEFAULT_CONFIG;
    }
    return r;
}

void cmdline_finish(struct cmdline *options)
{
    arena_finish(&options->arena);
}

/* Finds one of our programs: at the path that an option gives, beside this one, in its place in a build folder, or
 * installed. */
static bool find_program(const char *given, const char *option, const char *name, const char *folder,
                         char path[CMDLINE_PATH_BYTES], struct diag *diag)
{
    char self[CMDLINE_PATH_BYTES] = "";
    char *slash;

    if (given) {
        snprintf(path, CMDLINE_PATH_BYTES, "%s", given);
        if (access(path, X_OK) == 0) {
            return true;
        }
        diag_set(diag, "%s %s: not an executable file", option, given);
        return false;
    }
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0) {
        self[0] = '\0';
    }
    slash = strrchr(self, '/');
    for (int i = 0; slash && i < 2; i++) {
        int n = snprintf(path, CMDLINE_PATH_BYTES, "%.*s%s%s%s", (int)(slash + 1 - self), self, i ? "../" : "",
                         i ? folder : "", name);

        if (n < CMDLINE_PATH_BYTES && access(path, X_OK) == 0) {
            return true;
        }
    }
    snprintf(path, CMDLINE_PATH_BYTES, "%s/%s", SOTTO_LIBEXEC_DIR, name);
    if (access(path, X_OK) == 0) {
        return true;
    }
    diag_set(diag, "%s is neither beside sottod nor at %s; install it, or give %s PATH", name, path, option);
    return false;
}

bool cmdline_find_engine(const struct cmdline *options, char path[CMDLINE_PATH_BYTES], struct diag *diag)
{
    return find_program(options->engine, "--engine", "sotto-engine", "engine/", path, diag);
}

bool cmdline_find_sense(const struct cmdline *options, char path[CMDLINE_PATH_BYTES], struct diag *diag)
{
    return find_program(options->sense, "--sense", "sotto-sense", "sensor/", path, diag);
}

bool cmdline_default_socket(const struct cmdline *options, bool is_root, char path[CMDLINE_PATH_BYTES],
                            struct diag *diag)
{
    if (is_root) {
        snprintf(path, CMDLINE_PATH_BYTES, "%s", ROOT_SOCKET);
        return true;
    }
    if (!options->runtime_folder) {
        diag_set(diag, "no default for the socket, because XDG_RUNTIME_DIR is not set; give --socket PATH");
        return false;
    }
    snprintf(path, CMDLINE_PATH_BYTES, "%s/sotto.sock", options->runtime_folder);
    return true;
}
