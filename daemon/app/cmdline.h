/*
 * Cmdline: the command line and the environment of sottod
 *
 * The environment is read here and nowhere else. Options override the environment, which overrides the configuration
 * file, which overrides the defaults.
 */
#ifndef SOTTO_APP_CMDLINE_H
#define SOTTO_APP_CMDLINE_H

#include "config/config.h"

#define CMDLINE_MODELS_MOST 16
#define CMDLINE_PATH_BYTES  4096

struct cmdline {
    const char *config;         /* or NULL: the default file, if it exists */
    struct config_extra extra;  /* socket and models, for the configuration */
    const char *engine;         /* or NULL: find it */
    const char *sense;          /* or NULL: find it */
    const char *log_levels;     /* SOTTO_LOG, or NULL */
    const char *cpu_mask;       /* SOTTO_CPU, or NULL */
    const char *runtime_folder; /* XDG_RUNTIME_DIR, or NULL */
    const char *journal_stream; /* JOURNAL_STREAM, or NULL */
    const char *state_folder;   /* STATE_DIRECTORY, or NULL */
    bool foreground;
    bool check_config;
    struct config_extra_model models[CMDLINE_MODELS_MOST];
    struct arena arena; /* holds the strings that were composed */
};

enum cmdline_outcome {
    CMDLINE_RUN,
    CMDLINE_ANSWERED, /* help or version was printed: exit code 0 */
    CMDLINE_BAD,      /* @diag says why: exit code 2 */
};

/* Reads the command line; help goes to @out. Returns a cmdline_outcome or -ENOMEM. */
int cmdline_read(struct cmdline *ret_options, int argc, char **argv, FILE *out, struct diag *diag);
void cmdline_finish(struct cmdline *options);

/* Finds sotto-engine: beside this program, in its place in a build folder, or installed. Returns false if it is
 * nowhere, and @diag says where it was expected. */
bool cmdline_find_engine(const struct cmdline *options, char path[CMDLINE_PATH_BYTES], struct diag *diag);

/* Finds sotto-sense in the same way. */
bool cmdline_find_sense(const struct cmdline *options, char path[CMDLINE_PATH_BYTES], struct diag *diag);

/* Gives the default path of the socket: in /run/sotto for root, in the runtime folder for other users. */
bool cmdline_default_socket(const struct cmdline *options, bool is_root, char path[CMDLINE_PATH_BYTES],
                            struct diag *diag);

#endif
