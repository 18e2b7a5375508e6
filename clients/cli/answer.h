/*
 * Answer: a stream shown while it comes, and its figures
 */
#ifndef SOTTO_CLI_ANSWER_H
#define SOTTO_CLI_ANSWER_H

#include "base/buf.h"
#include "talk.h"
#include <jansson.h>

struct answer {
    const struct cli *cli;
    bool logprobs;   /* wanted in the JSON object */
    struct buf text; /* all of it, also when it was shown already */
    struct buf tokens;
    json_t *facts; /* with --json: what Accepted and Done told, logprobs */
    uint64_t seed; /* in force */
    bool cut;      /* ended by Ctrl-C */
    bool unheard;  /* standard output takes no more of it */
    bool done;
    enum sotto_code quiet; /* a failure with this code is not said: the caller has another way */
    enum sotto_code code;  /* how it failed */
    int exit;
};

void answer_init(struct answer *answer, const struct cli *cli, bool logprobs);
void answer_finish(struct answer *answer);

/*
 * Sends @ask and shows the answer: its text as it comes and the figures on standard error, or one JSON object.
 * Ctrl-C cancels it: it ends as usual, with CLI_INTERRUPTED; pressed again it is not waited for.
 */
int answer_run(struct talk *talk, const struct sotto_generate *ask, struct answer *answer);

#endif
