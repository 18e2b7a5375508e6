/*
 * Options: the command line and the environment of sottod
 *
 * The environment is read here and nowhere else. What was given wins over what is set in the environment, that over
 * the configuration file, that over what is usual.
 */
#ifndef SOTTO_APP_CMDLINE_H
#define SOTTO_APP_CMDLINE_H

#include "config/config.h"

#define OPTIONS_MODELS_MOST 16
#define OPTIONS_PATH_BYTES  4096

struct options {
    const char *config;         /* or NULL: the usual file, if there is one */
    struct config_extra extra;  /* socket and models, for the configuration */
    const char *engine;         /* or NULL: looked for */
    const char *sense;          /* or NULL: looked for */
    const char *log_levels;     /* SOTTO_LOG, or NULL */
    const char *cpu_mask;       /* SOTTO_CPU, or NULL */
    const char *runtime_folder; /* XDG_RUNTIME_DIR, or NULL */
    bool foreground;
    bool check_config;
    struct config_extra_model models[OPTIONS_MODELS_MOST];
    struct arena arena; /* behind what had to be put together */
};

enum options_outcome {
    OPTIONS_RUN,
    OPTIONS_ANSWERED, /* a page was printed: exit code 0 */
    OPTIONS_BAD,      /* @diag says what: exit code 2 */
};

/* Pages go to @out. An outcome, or -ENOMEM. */
int options_read(struct options *ret_options, int argc, char **argv, FILE *out, struct diag *diag);
void options_finish(struct options *options);

/* Where sotto-engine is: beside this program, in the build folder's place, or installed. False: nowhere, and @diag
 * says where it was looked for. */
bool options_find_engine(const struct options *options, char path[OPTIONS_PATH_BYTES], struct diag *diag);

/* The same for sotto-sense. */
bool options_find_sense(const struct options *options, char path[OPTIONS_PATH_BYTES], struct diag *diag);

/* Where the socket is when nobody says so: /run/sotto for root, the runtime folder for anybody else. */
bool options_usual_socket(const struct options *options, bool is_root, char path[OPTIONS_PATH_BYTES],
                          struct diag *diag);

#endif
