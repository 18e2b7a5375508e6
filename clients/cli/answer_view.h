/*
 * Answer view: a stream shown while it comes, and its figures
 */
#ifndef SOTTO_CLI_ANSWER_VIEW_H
#define SOTTO_CLI_ANSWER_VIEW_H

#include "base/buf.h"
#include "connection.h"
#include <jansson.h>

struct answer_view {
    const struct cli *cli;
    bool logprobs;   /* wanted in the JSON object */
    struct buf text; /* all of it, including what was already shown */
    struct buf tokens;
    json_t *facts; /* with --json: what Accepted told, and the logprobs */
    uint64_t seed; /* in force */
    bool cut;      /* ended by Ctrl-C */
    bool unheard;  /* standard output takes no more of it */
    bool done;
    enum sotto_code quiet; /* a failure with this code is not printed: the caller has another way */
    enum sotto_code code;  /* how it failed */
    int exit;
};

void answer_view_init(struct answer_view *view, const struct cli *cli, bool logprobs);
void answer_view_finish(struct answer_view *view);

/* Sends @request and shows the answer: its text as it comes and the figures on standard error, or one JSON object.
 * Ctrl-C cancels it, and the result is CLI_INTERRUPTED; a second Ctrl-C stops waiting for its end. */
int answer_view_run(struct answer_view *view, struct connection *connection, const struct sotto_generate *request);

#endif
