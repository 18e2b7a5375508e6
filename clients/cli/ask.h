/*
 * Ask: the options that shape an answer, for `generate` and `chat`
 */
#ifndef SOTTO_CLI_ASK_H
#define SOTTO_CLI_ASK_H

#include "cli.h"
#include <jansson.h>

enum ask_row {
    ASK_MODEL = CLI_ROWS_COUNT,
    ASK_TEMPERATURE,
    ASK_TOP_K,
    ASK_TOP_P,
    ASK_MIN_P,
    ASK_SEED,
    ASK_REPETITION_PENALTY,
    ASK_FREQUENCY_PENALTY,
    ASK_PRESENCE_PENALTY,
    ASK_PENALTY_WINDOW,
    ASK_BIAS,
    ASK_MAX_TOKENS,
    ASK_STOP,
    ASK_SLIDE,
    ASK_CLASS,
    ASK_FIRST_TOKEN_BY,
    ASK_FINISH_BY,
    ASK_TOOLS,
    ASK_VAR,
    ASK_ROWS_COUNT,
};

#define ASK_CLASSES "background|interactive|realtime"

#define ASK_ROWS                                                                                                       \
    { "model", 'm', ARG_TEXT, "NAME", NULL, "the model; without: the daemon's default" },                              \
        { "temperature", 't', ARG_FLOAT, "T", NULL, "0 takes the likeliest token always; up to 100" },                 \
        { "top-k", 0, ARG_UINT, "N", NULL, "only the N likeliest tokens" },                                            \
        { "top-p", 0, ARG_FLOAT, "P", NULL, "only the likeliest that together have P" },                               \
        { "min-p", 0, ARG_FLOAT, "P", NULL, "only those with P times the likeliest's share" },                         \
        { "seed", 's', ARG_UINT, "N", NULL, "same seed, same answer; without: drawn, and told" },                      \
        { "repetition-penalty", 0, ARG_FLOAT, "F", NULL, "divides what was said before; 1 is off" },                   \
        { "frequency-penalty", 0, ARG_FLOAT, "F", NULL, "for each time a token stood, -2 to 2" },                      \
        { "presence-penalty", 0, ARG_FLOAT, "F", NULL, "for each token that stood at all, -2 to 2" },                  \
        { "penalty-window", 0, ARG_UINT, "N", NULL, "how many tokens back the penalties look" },                       \
        { "bias", 0, ARG_TEXT, "ID:B", NULL, "adds B (-100 to 100, or -inf) to a token; may repeat" },                 \
        { "max-tokens", 'n', ARG_UINT, "N", NULL, "ends the answer after N tokens" },                                  \
        { "stop", 0, ARG_TEXT, "S", NULL, "ends the answer before the text S; may repeat" },                           \
        { "slide", 0, ARG_UINT, "N", NULL, "a full context keeps its first N tokens and goes on" },                    \
        { "class", 0, ARG_CHOICE, NULL, ASK_CLASSES, "how urgent it is; policy sets a ceiling" },                      \
        { "first-token-by", 0, ARG_UINT, "MS", NULL, "refused at once if its first token can't be there" },            \
        { "finish-by", 0, ARG_UINT, "MS", NULL, "refused at once if all of it can't be there" },                       \
        { "tools", 0, ARG_TEXT, "FILE", NULL, "a JSON list of tools for the model's template" },                       \
    {                                                                                                                  \
        "var", 0, ARG_TEXT, "NAME=JSON", NULL, "a variable of the model's template; may repeat"                        \
    }

/* What the options said; names and texts are those of the command line. */
struct ask {
    struct sotto_generate *generate; /* owned */
    const char *model;               /* NULL: the default one */
    json_t *variables;               /* owned; of the template, NULL: none */
};

/* False: no memory (said). */
bool ask_init(struct ask *ask);
void ask_finish(struct ask *ask);

/* Takes an option of ASK_ROWS. CLI_OK, or CLI_USAGE (said). */
int ask_take(const struct cli *cli, struct ask *ask, const struct arg_found *found);

/* The class of one of ASK_CLASSES. */
enum sotto_class ask_class(const char *word);

/* ID,ID,... as token ids: allocated (mem_free()), with their number. CLI_OK, or CLI_USAGE (said). */
int ask_read_ids(const struct cli *cli, const char *text, uint32_t **ret_ids, size_t *ret_n);

#endif
