/*
 * Ready: waiting until a model can serve, with progress
 */
#ifndef SOTTO_CLI_READY_H
#define SOTTO_CLI_READY_H

#include "connection.h"

struct ready {
    bool chat; /* its template is supported */
    char chat_reason[256];
};

/* Looks up the model @name (NULL: the default one) and waits for its loading, with progress on standard error. CLI_OK
 * also when there is no such model or it has failed: the request that follows tells so best. Else CLI_FAILED
 * (printed), or CLI_INTERRUPTED. */
int ready_wait(struct connection *connection, const char *name, struct ready *ret_ready);

/* Loads @name from @file (NULL: the configured one) with progress on standard error; @show gets the loaded model.
 * Returns as ready_wait(), but a failed load is CLI_FAILED (printed). */
int ready_load(struct connection *connection, const char *name, const char *file,
               void (*show)(void *owner, const struct sotto_model *model), void *owner);

#endif
