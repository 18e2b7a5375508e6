#include "stream/quota.h"
#include "base/clock.h"
#include "base/num.h"
#include "proto/limit.h"
#include "stream/stream.h"

struct account_limits quota_limits(const struct grant *grant)
{
    return (struct account_limits){
        .weight = grant->weight,
        .n_streams = grant->n_streams,
        .n_waiting = LIMIT_WAITING_A_UID,
        .tokens_a_minute = grant->tokens_a_minute,
    };
}

/* Counts the requests that wait. A parked request waits for its client only, so it does not count. */
static uint32_t count_waiting(const struct streams *streams)
{
    struct list *link;
    uint32_t n = 0;

    list_for_each (link, &streams->all) {
        const struct stream *stream = container_of(link, struct stream, link);

        n += !stream->job.parked && (stream->state == STREAM_TOKENIZING || stream->state == STREAM_WAITING);
    }
    return n;
}

/* Returns how many requests may wait before one of @request's class and user is refused: many requests of lower classes
 * do not lock out the urgent ones, nor a few users all others. */
static uint32_t waiting_most(const struct quota_request *request)
{
    uint32_t n_parts = (uint32_t)(PRIORITY_REALTIME - request->priority);

    n_parts += request->account->n_waiting >= LIMIT_WAITING_FEW;
    return LIMIT_WAITING - n_parts * LIMIT_WAITING_KEPT;
}

/* ---- refusals */

static void explain_full(const struct streams *streams, const struct quota_request *request, uint32_t retry_ms,
                         struct diag *diag)
{
    const struct account *account = request->account;

    if (account->n_live >= request->grant->n_streams) {
        diag_set(diag, "%u requests of this user are live, as many as it may have: end one, or try again in %u ms",
                 account->n_live, retry_ms);
    } else if (account->n_waiting >= LIMIT_WAITING_A_UID) {
        diag_set(diag, "%u requests of this user are waiting already, as many as it may have: try again in %u ms",
                 account->n_waiting, retry_ms);
    } else {
        diag_set(diag, "the queue is full: %u requests wait: try again in %u ms", count_waiting(streams), retry_ms);
    }
}

/* Returns how long until the joules of the user's minute allow anything; 0: now. */
static uint64_t energy_wait_us(struct streams *streams, const struct grant *grant)
{
    struct usage *usage = usage_table_get(&streams->usage_table, grant->uid);

    return usage ? usage_wait_us(usage, grant->energy_a_minute, clock_boot_us()) : 0;
}

/* Returns whether a budget is spent (tokens or energy), or the account is barred for a while for the engines that its
 * requests have cost. */
static bool is_spent(struct streams *streams, const struct quota_request *request, uint64_t tokens_wait_us,
                     uint32_t *ret_retry_ms, struct diag *diag)
{
    uint64_t energy_us = energy_wait_us(streams, request->grant);
    uint64_t wait_us = num_max(tokens_wait_us, energy_us);
    bool is_energy = request->grant->tokens_a_minute == 0 || energy_us >= tokens_wait_us; /* of a later now */

    if (wait_us == 0) {
        return false;
    }
    *ret_retry_ms = (uint32_t)num_min(num_div_up(wait_us, 1000), UINT32_MAX);
    if (request->account->barred_us > clock_boot_us()) {
        diag_set(diag, "%u requests of this user have crashed their engine: try again in %u ms",
                 request->account->n_guilty, *ret_retry_ms);
        return true;
    }
    diag_set(diag, "this user's %u %s a minute are spent: try again in %u ms",
             is_energy ? request->grant->energy_a_minute : request->grant->tokens_a_minute,
             is_energy ? "joules" : "tokens", *ret_retry_ms);
    return true;
}

/* The estimate looks at all requests, so it is made once a millisecond: a user may be refused thousands of times in
 * it. */
static uint32_t retry_ms(struct streams *streams, const struct quota_request *request,
                         const struct account_limits *limits)
{
    struct streams_retry *retry = &streams->retry;
    const uint64_t now_ms = clock_mono_us() / 1000;

    if (retry->at_ms != now_ms || retry->account != request->account || retry->priority != request->priority) {
        const uint64_t wait_us =
            queue_retry_us(&streams->queue, request->account, limits, request->priority, streams->limits);

        *retry = (struct streams_retry){ .at_ms = now_ms,
                                         .account = request->account,
                                         .priority = request->priority,
                                         .retry_ms = (uint32_t)num_div_up(wait_us, 1000) };
    }
    return retry->retry_ms;
}

int quota_check(struct streams *streams, const struct quota_request *request, uint32_t *ret_retry_ms, struct diag *diag)
{
    const struct account_limits limits = quota_limits(request->grant);
    uint64_t wait_us = 0;
    int r;

    r = account_admit(request->account, &limits, request->n_bytes, clock_boot_us(), &wait_us);
    if (r != ACCOUNT_BYTES && is_spent(streams, request, wait_us, ret_retry_ms, diag)) {
        return SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED;
    }
    if (r != ACCOUNT_BYTES && account_room(request->account, &limits) > 0 &&
        count_waiting(streams) < waiting_most(request)) {
        return 0;
    }
    *ret_retry_ms = retry_ms(streams, request, &limits);
    if (r == ACCOUNT_BYTES) {
        diag_set(diag, "this user's requests hold %llu MiB of memory already, and no more may",
                 (unsigned long long)(request->account->bytes >> 20));
    } else {
        explain_full(streams, request, *ret_retry_ms, diag);
    }
    return SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED;
}
