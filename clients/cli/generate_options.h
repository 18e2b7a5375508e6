/*
 * Generate options: the options that shape an answer, for `generate` and `chat`
 */
#ifndef SOTTO_CLI_GENERATE_OPTIONS_H
#define SOTTO_CLI_GENERATE_OPTIONS_H

#include "cli.h"
#include <jansson.h>

enum generate_option {
    OPTION_MODEL = CLI_ROWS_COUNT,
    OPTION_TEMPERATURE,
    OPTION_TOP_K,
    OPTION_TOP_P,
    OPTION_MIN_P,
    OPTION_SEED,
    OPTION_REPETITION_PENALTY,
    OPTION_FREQUENCY_PENALTY,
    OPTION_PRESENCE_PENALTY,
    OPTION_PENALTY_WINDOW,
    OPTION_BIAS,
    OPTION_MAX_TOKENS,
    OPTION_STOP,
    OPTION_SLIDE,
    OPTION_CLASS,
    OPTION_FIRST_TOKEN_BY,
    OPTION_FINISH_BY,
    OPTION_TOOLS,
    OPTION_VAR,
    OPTION_COUNT,
};

#define OPTION_CLASSES    "background|interactive|realtime"
#define OPTION_HELP_MODEL "name of the model; without it the daemon's default"
#define OPTION_HELP_CLASS "priority class; policy sets a ceiling"

#define OPTION_ROWS                                                                                                    \
    { "model", 'm', ARG_TEXT, "NAME", NULL, OPTION_HELP_MODEL },                                                       \
        { "temperature", 't', ARG_FLOAT, "T", NULL, "0 always takes the likeliest token; up to 100" },                 \
        { "top-k", 0, ARG_UINT, "N", NULL, "sample from the N likeliest tokens" },                                     \
        { "top-p", 0, ARG_FLOAT, "P", NULL, "sample from the likeliest tokens that sum up to probability P" },         \
        { "min-p", 0, ARG_FLOAT, "P", NULL, "drop tokens below P times the likeliest one's probability" },             \
        { "seed", 's', ARG_UINT, "N", NULL, "same seed, same answer; without it a random one, which is printed" },     \
        { "repetition-penalty", 0, ARG_FLOAT, "F", NULL, "divides the scores of tokens seen before; 1 is off" },       \
        { "frequency-penalty", 0, ARG_FLOAT, "F", NULL, "subtracted for each time a token was seen, -2 to 2" },        \
        { "presence-penalty", 0, ARG_FLOAT, "F", NULL, "subtracted once from each token seen, -2 to 2" },              \
        { "penalty-window", 0, ARG_UINT, "N", NULL, "how many tokens the penalties look back" },                       \
        { "bias", 0, ARG_TEXT, "ID:B", NULL, "adds B (-100 to 100, or -inf) to a token's score; may repeat" },         \
        { "max-tokens", 'n', ARG_UINT, "N", NULL, "ends the answer after N tokens" },                                  \
        { "stop", 0, ARG_TEXT, "S", NULL, "ends the answer before the text S; may repeat" },                           \
        { "slide", 0, ARG_UINT, "N", NULL, "when the context is full, keep its first N tokens and go on" },            \
        { "class", 0, ARG_CHOICE, NULL, OPTION_CLASSES, OPTION_HELP_CLASS },                                           \
        { "first-token-by", 0, ARG_UINT, "MS", NULL, "refuse at once if the first token can't come in time" },         \
        { "finish-by", 0, ARG_UINT, "MS", NULL, "refuse at once if the whole answer can't come in time" },             \
        { "tools", 0, ARG_TEXT, "FILE", NULL, "JSON file with a list of tools for the model's template" },             \
    {                                                                                                                  \
        "var", 0, ARG_TEXT, "NAME=JSON", NULL, "a variable of the model's template; may repeat"                        \
    }

/* The options as a request. Names and texts are those of the command line. */
struct generate_options {
    struct sotto_generate *generate; /* owned */
    const char *model;               /* NULL: the default one */
    json_t *variables;               /* owned; of the template, NULL: none */
};

/* CLI_OK, or CLI_FAILED: no memory (printed). */
int generate_options_init(struct generate_options *options);
void generate_options_finish(struct generate_options *options);

/* Takes an option of OPTION_ROWS. CLI_OK, or CLI_USAGE (printed). */
int generate_options_take(const struct cli *cli, struct generate_options *options, const struct arg_found *found);

/* Returns the class of one of OPTION_CLASSES. */
enum sotto_class generate_options_class(const char *word);

/* Reads "ID,ID,..." into *ret_n token ids, allocated (mem_free()). CLI_OK, or CLI_USAGE (printed). */
int generate_options_read_ids(const struct cli *cli, const char *text, uint32_t **ret_ids, size_t *ret_n);

#endif
