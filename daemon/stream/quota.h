/*
 * Quota: may this user have one more request?
 *
 * Checks the bounds that need neither model nor text: live and waiting requests of a user, the waiting requests of all
 * users, memory, and budgets. A request that is refused is told when to retry, and keeps its place in line until then
 * (sched/retry.h).
 */
#ifndef SOTTO_STREAM_QUOTA_H
#define SOTTO_STREAM_QUOTA_H

#include "stream/grant.h"
#include "stream/streams.h"

struct quota_request {
    const Sotto__V1__Generate *generate; /* compared as a whole: the same request that comes again */
    struct account *account;
    const struct grant *grant;
    enum priority priority;
    uint64_t n_bytes; /* that it would hold */
};

/* Returns what an account may have. */
struct account_limits quota_limits(const struct grant *grant);

/* 0, or above 0 a Code with the sentence in @diag and the time to retry in *ret_retry_ms. */
int quota_check(struct streams *streams, const struct quota_request *request, uint32_t *ret_retry_ms,
                struct diag *diag);

#endif
