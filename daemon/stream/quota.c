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

/* Who is parked waits for its client, for as long as that likes, and for no place. */
static uint32_t count_waiting(const struct hub *hub)
{
    struct list *link;
    uint32_t n = 0;

    list_for_each (link, &hub->streams) {
        const struct stream *stream = container_of(link, struct stream, link);

        n += !stream->job.parked && (stream->state == STREAM_TOKENIZING || stream->state == STREAM_WAITING);
    }
    return n;
}

/* ---- the same request */

struct hasher {
    ProtobufCBuffer base;
    uint64_t hash;
};

static void hash_more(ProtobufCBuffer *buffer, size_t n, const uint8_t *bytes)
{
    struct hasher *hasher = (struct hasher *)buffer;

    hasher->hash = map_hash(bytes, n, hasher->hash);
}

static uint64_t key_of(const struct hub *hub, const struct quota_request *ask)
{
    struct hasher hasher = { .base.append = hash_more, .hash = hub->keys.salt + ask->priority };

    protobuf_c_message_pack_to_buffer(&ask->ask->base, &hasher.base);
    return hasher.hash;
}

/* ---- bounds */

/* Parts of the places to wait that are kept from @ask: a crowd of lower classes does not shut the door to those who
 * can't wait, nor a few users to all others. */
static uint32_t parts_kept(const struct quota_request *ask)
{
    return (uint32_t)(PRIORITY_REALTIME - ask->priority) + (ask->account->n_waiting >= LIMIT_WAITING_FEW);
}

static void fill_bounds(const struct hub *hub, const struct quota_request *ask, struct retry_request *place)
{
    const struct account_limits limits = quota_limits(ask->grant);
    const struct account *account = ask->account;
    uint32_t n_most = LIMIT_WAITING - place->group * LIMIT_WAITING_KEPT;

    place->own = (struct retry_bound){
        .n_free = account_room(account, &limits),
        .n_most = (uint32_t)num_min(limits.n_streams, limits.n_waiting),
        .service = &account->service,
    };
    place->own.gap_us =
        queue_estimate_us(&hub->queue, account, ask->priority, hub->governor.limits, &place->own.first_us);
    place->shared = (struct retry_bound){
        .n_free = n_most - (uint32_t)num_min(count_waiting(hub), n_most),
        .n_most = n_most,
        .service = &hub->queue.service,
    };
    place->shared.gap_us =
        queue_estimate_us(&hub->queue, NULL, ask->priority, hub->governor.limits, &place->shared.first_us);
}

/* ---- what is said */

static void say_full(const struct hub *hub, const struct quota_request *ask, uint32_t retry_ms, struct diag *diag)
{
    const struct account *account = ask->account;

    if (account->n_live >= ask->grant->n_streams) {
        diag_set(diag, "%u requests of this user are live, as many as it may have: end one, or come back in %u ms",
                 account->n_live, retry_ms);
    } else if (account->n_waiting >= LIMIT_WAITING_A_UID) {
        diag_set(diag, "%u requests of this user are waiting already, and no more may: come back in %u ms",
                 account->n_waiting, retry_ms);
    } else {
        diag_set(diag,
                 "%u requests are waiting already, and no more of this class may beside those that were told "
                 "to come "
                 "back: come back in %u ms",
                 count_waiting(hub), retry_ms);
    }
}

/* A budget is spent: tokens, or energy; or it has to rest for what it did. */
static bool is_spent(struct hub *hub, const struct quota_request *ask, uint64_t tokens_wait_us, uint32_t *ret_retry_ms,
                     struct diag *diag)
{
    uint64_t energy_wait_us = metering_wait_us(hub, ask->grant, clock_boot_us());
    uint64_t wait_us = num_max(tokens_wait_us, energy_wait_us);
    bool is_energy = ask->grant->tokens_a_minute == 0 || energy_wait_us >= tokens_wait_us; /* of a later now */

    if (wait_us == 0) {
        return false;
    }
    *ret_retry_ms = (uint32_t)num_min(num_div_up(wait_us, 1000), UINT32_MAX);
    if (ask->account->barred_us > clock_boot_us()) {
        diag_set(diag, "%u requests of this user have cost the engine they ran on: come back in %u ms",
                 ask->account->n_guilty, *ret_retry_ms);
        return true;
    }
    diag_set(diag, "this user's %u %s a minute are spent: come back in %u ms",
             is_energy ? ask->grant->energy_a_minute : ask->grant->tokens_a_minute, is_energy ? "joules" : "tokens",
             *ret_retry_ms);
    return true;
}

int quota_check(struct hub *hub, const struct quota_request *ask, uint32_t *ret_retry_ms, struct diag *diag)
{
    const struct account_limits limits = quota_limits(ask->grant);
    struct retry_request place = {
        .key = key_of(hub, ask),
        .uid = ask->account->uid,
        .group = parts_kept(ask),
    };
    uint64_t wait_us = 0;
    int r;

    r = account_admit(ask->account, &limits, ask->n_bytes, clock_boot_us(), &wait_us);
    if (r != ACCOUNT_BYTES && is_spent(hub, ask, wait_us, ret_retry_ms, diag)) {
        return SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED;
    }
    fill_bounds(hub, ask, &place);
    if (r == ACCOUNT_BYTES) {
        place.own.n_free = 0;
    }
    if (retry_admit(&hub->retry_list, &place, clock_mono_us(), &wait_us)) {
        return 0;
    }
    *ret_retry_ms = (uint32_t)num_div_up(wait_us, 1000);
    if (r == ACCOUNT_BYTES) {
        diag_set(diag, "this user's requests hold %llu MiB of memory already, and no more may",
                 (unsigned long long)(ask->account->bytes >> 20));
    } else {
        say_full(hub, ask, *ret_retry_ms, diag);
    }
    return SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED;
}
