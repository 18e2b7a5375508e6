/*
 * Place: may this user have one more request?
 *
 * The bounds that need neither model nor words: live and waiting requests of a user, places to wait that all share,
 * memory, and budgets. Who is refused is told when to come again, and keeps a place in line (sched/comeback.h).
 */
#ifndef SOTTO_STREAM_QUOTA_H
#define SOTTO_STREAM_QUOTA_H

#include "hub/hub_state.h"

struct quota_request {
    const Sotto__V1__Generate *ask; /* all of it makes it the same when it comes again */
    struct account *account;
    const struct grant *grant;
    enum priority priority;
    uint64_t n_bytes; /* that it would hold */
};

struct account_limits quota_limits(const struct grant *grant);

/* 0, or above 0 a Code with the sentence in @diag and *ret_retry_ms. */
int quota_check(struct hub *hub, const struct quota_request *ask, uint32_t *ret_retry_ms, struct diag *diag);

#endif
