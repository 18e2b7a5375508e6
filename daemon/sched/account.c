/*
 * The budget is a bucket seen from its other side: spent tokens leak away at the rate of the limit, and a request may
 * spend while less than a minute's worth is left in the bucket. So the limit may change from one request to the next (a
 * reload) without a bucket to convert.
 */
#include "sched/account.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/num.h"
#include <assert.h>
#include <errno.h>

#define UTOK      1000000u
#define MINUTE_US 60000000u

uint64_t account_unit(const struct account_limits *limits)
{
    uint64_t weight = limits->weight ? limits->weight : ACCOUNT_WEIGHT_USUAL;

    return ACCOUNT_TOKEN / num_min(weight, ACCOUNT_WEIGHT_MOST);
}

void accounts_init(struct accounts *accounts)
{
    map_init(&accounts->by_uid, MEM_SCHED);
}

void accounts_finish(struct accounts *accounts)
{
    struct map_entry *entry;
    size_t at = 0;

    while ((entry = map_next(&accounts->by_uid, &at))) {
        mem_free(entry->value.pointer);
    }
    map_finish(&accounts->by_uid);
}

int accounts_get(struct accounts *accounts, uint32_t uid, struct account **ret_account)
{
    cleanup(mem_freep) struct account *account = NULL;
    union map_value *found;
    int r;

    found = map_find(&accounts->by_uid, uid);
    if (found) {
        *ret_account = found->pointer;
        return 0;
    }
    account = mem_calloc(MEM_SCHED, 1, sizeof(*account));
    if (!account) {
        return err_new(-ENOMEM);
    }
    account->uid = uid;
    r = map_put(&accounts->by_uid, uid, (union map_value){ .pointer = account });
    if (r) {
        return err_up(r);
    }
    *ret_account = steal(&account);
    return 0;
}

/* Returns the part of @account's spending that has not leaked away, in millionths of a token. */
static uint64_t unleaked(const struct account *account, uint32_t tokens_a_minute, uint64_t boot_us)
{
    uint64_t past_us = boot_us > account->spent_us ? boot_us - account->spent_us : 0;
    uint64_t leaked;

    /* tokens/min = tokens * UTOK / MINUTE_US millionths a microsecond */
    if (!num_mul(past_us, tokens_a_minute, &leaked)) {
        return 0;
    }
    leaked /= MINUTE_US / UTOK;
    return leaked >= account->spent_utok ? 0 : account->spent_utok - leaked;
}

void accounts_sweep(struct accounts *accounts, uint64_t now_us, uint64_t boot_us)
{
    struct map_entry *entry;
    size_t at = 0;

    while ((entry = map_next(&accounts->by_uid, &at))) {
        struct account *account = entry->value.pointer;
        bool quiet = account->n_live == 0 && account->bytes == 0 && account->suspect_us <= now_us;

        /* Whatever the limit is, a debt of one step is gone after some minutes. */
        if (quiet && boot_us - account->spent_us > 10 * (uint64_t)MINUTE_US) {
            map_remove(&accounts->by_uid, account->uid);
            mem_free(account);
        }
    }
}

uint64_t account_until_us(const struct account *account, uint32_t tokens_a_minute, uint64_t n_tok, uint64_t boot_us)
{
    uint64_t limit_utok = (uint64_t)tokens_a_minute * UTOK;
    uint64_t until_us = num_max(account->rest_until_us, account->barred_us);
    uint64_t rest_us = until_us > boot_us ? until_us - boot_us : 0;
    uint64_t spent_utok;

    if (tokens_a_minute == 0) {
        return rest_us;
    }
    spent_utok = unleaked(account, tokens_a_minute, boot_us) + num_min(n_tok, UINT32_MAX) * UTOK;
    if (spent_utok <= limit_utok) {
        return rest_us;
    }
    return num_max(rest_us, num_div_up((spent_utok - limit_utok) * (MINUTE_US / UTOK), tokens_a_minute));
}

uint64_t account_wait_us(const struct account *account, uint32_t tokens_a_minute, uint64_t boot_us)
{
    /* One whole token must have room; waking for less would be in vain. */
    return account_until_us(account, tokens_a_minute, 1, boot_us);
}

uint32_t account_room(const struct account *account, const struct account_limits *limits)
{
    uint32_t n_live = limits->n_streams - (uint32_t)num_min(account->n_live, limits->n_streams);
    uint32_t n_waiting = limits->n_waiting - (uint32_t)num_min(account->n_waiting, limits->n_waiting);

    return (uint32_t)num_min(n_live, n_waiting);
}

int account_admit(const struct account *account, const struct account_limits *limits, uint64_t n_bytes,
                  uint64_t boot_us, uint64_t *ret_wait_us)
{
    uint64_t wait_us;

    if (num_saturate(account->bytes, n_bytes, UINT64_MAX) > ACCOUNT_BYTES_MAX) {
        return ACCOUNT_BYTES;
    }
    wait_us = account_wait_us(account, limits->tokens_a_minute, boot_us);
    if (wait_us) {
        *ret_wait_us = wait_us;
        return ACCOUNT_BUDGET;
    }
    return ACCOUNT_OK;
}

void account_spend(struct account *account, uint32_t tokens_a_minute, uint32_t n_tok, uint64_t boot_us)
{
    account->spent_utok = tokens_a_minute ? unleaked(account, tokens_a_minute, boot_us) : 0;
    account->spent_us = boot_us;
    if (tokens_a_minute) {
        account->spent_utok = num_saturate(account->spent_utok, (uint64_t)n_tok * UTOK, UINT64_MAX / 64);
    }
}

void account_hold(struct account *account, int64_t bytes)
{
    assert(bytes >= 0 || account->bytes >= (uint64_t)-bytes);
    account->bytes += (uint64_t)bytes;
}
