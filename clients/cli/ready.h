/*
 * Ready: a model that can be asked, or the news of its loading
 */
#ifndef SOTTO_CLI_READY_H
#define SOTTO_CLI_READY_H

#include "talk.h"

struct ready {
    bool chat; /* its template is understood */
    char chat_reason[256];
};

/*
 * Looks at the model @name (NULL: the default one); one that is not loaded yet is waited for, with progress on
 * standard error. CLI_OK, also when there is no such model or it has failed: the request that follows says so best.
 * CLI_FAILED (said), or CLI_INTERRUPTED.
 */
int ready_wait(struct talk *talk, const char *name, struct ready *ret_ready);

/* Loads @name from @file (NULL: the configured one) with progress on standard error; @show gets the loaded model. */
int ready_load(struct talk *talk, const char *name, const char *file,
               void (*show)(void *owner, const struct sotto_model *model), void *owner);

#endif
