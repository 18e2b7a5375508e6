/*
 * Account: the user that is charged for requests
 *
 * There is one account for each uid that has or recently had work. It holds the share that the uid has had of each
 * class (virtual time of the fair queue), the tokens it spent of its budget a minute, and the memory that its requests
 * hold. Limits are not part of it: every request brings those that it began with.
 *
 * Pure: time is an argument. Budgets are counted in the boot clock, which also runs while the system sleeps.
 */
#ifndef SOTTO_SCHED_ACCOUNT_H
#define SOTTO_SCHED_ACCOUNT_H

#include "base/map.h"
#include "govern/limits.h"
#include <stdbool.h>

#define ACCOUNT_WEIGHT_USUAL 1000u
#define ACCOUNT_WEIGHT_MOST  1000000u

/* One token at weight 1, in virtual time. At the largest weight a token is still 1,000 units, so rounding does not
 * shift shares, and 64 bits last for at least 18 billion tokens. */
#define ACCOUNT_TOKEN 1000000000u

/* Bound on the prompts, ids and journals of one uid: thirty texts of the largest size, or hundreds of usual ones. */
#define ACCOUNT_BYTES_MAX (64u << 20)

struct account {
    uint32_t uid;
    uint32_t n_live;    /* requests that have not ended */
    uint32_t n_waiting; /* those of them without a sequence */
    uint64_t bytes;     /* memory that its requests hold */

    /* Virtual time: tokens served in the class, each ACCOUNT_TOKEN / weight. The account with the least goes first. */
    uint64_t served[PRIORITY_COUNT];
    uint64_t ahead[PRIORITY_COUNT];       /* the same for rows that are being computed */
    uint32_t n_held[PRIORITY_COUNT];      /* slots, at all engines */
    uint64_t short_round[PRIORITY_COUNT]; /* last round (queue::round) that left work of it out */
    uint64_t level;                       /* scratch of a step that is being filled */
    double sum_ns;                        /* scratch of one walk over the jobs */
    bool was_seen;                        /* the same */
    uint64_t text_steps[PRIORITY_COUNT];  /* work on its texts (loop/text_pool.h) */

    uint64_t spent_utok;    /* of the budget a minute, in millionths of a token, at @spent_us */
    uint64_t spent_us;      /* boot clock */
    uint64_t rest_until_us; /* boot clock: no token may be spent before, as its energy budget is spent */
    uint64_t suspect_us;    /* monotonic clock: until then its new requests are suspects */
    uint32_t n_guilty;      /* its requests that lost engines while it was a suspect */
    uint64_t barred_us;     /* boot clock: no token may be spent before, as its requests lost engines */
};

struct account_limits {
    uint32_t weight;          /* share inside a class; 0 means ACCOUNT_WEIGHT_USUAL */
    uint32_t n_streams;       /* live at once */
    uint32_t n_waiting;       /* those of them without a sequence */
    uint32_t tokens_a_minute; /* 0: no bound */
};

/* Returns the virtual time of one token at the weight of @limits. */
uint64_t account_unit(const struct account_limits *limits);

struct accounts {
    struct map by_uid;
};

void accounts_init(struct accounts *accounts);
void accounts_finish(struct accounts *accounts);

/* Finds the account of @uid or makes it. It lives as long as it has requests, debts or bytes. Returns 0 or -ENOMEM. */
int accounts_get(struct accounts *accounts, uint32_t uid, struct account **ret_account);

/* Forgets accounts without requests, bytes and suspicion once their spending no longer counts. */
void accounts_sweep(struct accounts *accounts, uint64_t now_us, uint64_t boot_us);

/* Returns how many more requests @account may have: by the limit on live ones or on waiting ones, whichever is less. */
uint32_t account_room(const struct account *account, const struct account_limits *limits);

enum account_outcome {
    ACCOUNT_OK,
    ACCOUNT_BUDGET, /* the minute's tokens are spent; *ret_wait_us: for how long */
    ACCOUNT_BYTES,  /* its requests hold as much memory as one uid may hold */
};

/* Says whether one more request with @n_bytes may come in, if the account has room for it (account_room()).
 * Changes nothing. */
int account_admit(const struct account *account, const struct account_limits *limits, uint64_t n_bytes,
                  uint64_t boot_us, uint64_t *ret_wait_us);

/* Returns the time until a token may be spent; 0: now. */
uint64_t account_wait_us(const struct account *account, uint32_t tokens_a_minute, uint64_t boot_us);

/* Returns the time until the last of @n_tok tokens may be spent if the account spends nothing else; 0: now. */
uint64_t account_until_us(const struct account *account, uint32_t tokens_a_minute, uint64_t n_tok, uint64_t boot_us);

/* Spends @n_tok of the budget. The budget may go into debt by one step. */
void account_spend(struct account *account, uint32_t tokens_a_minute, uint32_t n_tok, uint64_t boot_us);

/* Adds @bytes to the memory held for the account; below 0 gives it back. */
void account_hold(struct account *account, int64_t bytes);

#endif
