/*
 * Account: who is charged
 *
 * One for each uid that has or had work. It holds the share that the uid has had of each class (virtual time of the
 * fair queue), what it spent of its tokens a minute, and what memory its requests hold. Limits are no part of it:
 * every request brings those that it began with.
 *
 * Pure: time is an argument. Budgets are counted in the boot clock, which runs on in sleep.
 */
#ifndef SOTTO_SCHED_ACCOUNT_H
#define SOTTO_SCHED_ACCOUNT_H

#include "base/map.h"
#include "sched/service.h"
#include <stdbool.h>

enum priority {
    PRIORITY_BACKGROUND,
    PRIORITY_INTERACTIVE,
    PRIORITY_REALTIME,
    PRIORITY_COUNT,
};

#define ACCOUNT_WEIGHT_USUAL 1000u
#define ACCOUNT_WEIGHT_MOST  1000000u

/* One token at weight 1, in virtual time: at the largest weight a token is still a thousand units, so
 * rounding takes no share, and 64 bits last for 18 milliards of tokens at the least. */
#define ACCOUNT_TOKEN 1000000000u

/* Prompts, ids and journals of one uid: thirty texts of the largest size, or hundreds of usual ones. */
#define ACCOUNT_BYTES_MAX (64u << 20)

struct account {
    uint32_t uid;
    uint32_t n_live;    /* requests that have not ended */
    uint32_t n_waiting; /* of them, those without a sequence */
    uint64_t bytes;     /* held for them */

    /* Virtual time: tokens served in the class, each ACCOUNT_TOKEN / weight. The least goes first. */
    uint64_t served[PRIORITY_COUNT];
    uint64_t ahead[PRIORITY_COUNT];      /* likewise, rows that are under way */
    uint32_t n_held[PRIORITY_COUNT];     /* seats, on all lanes */
    uint64_t short_turn[PRIORITY_COUNT]; /* the last turn (queue::turn) that left work of it out */
    uint64_t level;                      /* of a step that is being filled; means nothing between steps */
    double sum_ns;                       /* of a walk over jobs; means nothing between walks */

    struct service service; /* while requests of it wait, or half of its places are taken */

    uint64_t spent_utok;    /* of the budget a minute, in millionths of a token, at @spent_us */
    uint64_t spent_us;      /* boot clock */
    uint64_t rest_until_us; /* no token may be spent before: its energy is spent (boot clock) */
    uint64_t suspect_us;    /* until then its new requests are suspects (monotonic clock) */
    uint32_t n_guilty;      /* its requests that lost engines, while it was a suspect */
    uint64_t barred_us;     /* no token may be spent before, since they did (boot clock) */
};

struct account_limits {
    uint32_t weight;          /* share inside a class; ACCOUNT_WEIGHT_USUAL is usual, 0 counts as that */
    uint32_t n_streams;       /* live at once */
    uint32_t n_waiting;       /* of them without a sequence */
    uint32_t tokens_a_minute; /* 0: no bound */
};

/* Virtual time of one token at @limits' weight. */
uint64_t account_unit(const struct account_limits *limits);

struct accounts {
    struct map by_uid;
};

void accounts_init(struct accounts *accounts);
void accounts_finish(struct accounts *accounts);

/* The account of @uid, made if there is none; lives as long as it has requests, debts or bytes. 0 or
 * -ENOMEM. */
int accounts_get(struct accounts *accounts, uint32_t uid, struct account **ret_account);

/* Forgets accounts without requests, bytes, suspicion, and with nothing spent that still counts. */
void accounts_sweep(struct accounts *accounts, uint64_t now_us, uint64_t boot_us);

/* Places that are left to it: of those live, or of those waiting if they are fewer. */
uint32_t account_room(const struct account *account, const struct account_limits *limits);

enum account_outcome {
    ACCOUNT_OK,
    ACCOUNT_BUDGET, /* the minute's tokens are spent; *ret_wait_us says for how long */
    ACCOUNT_BYTES,  /* its requests hold as much memory as one uid may */
};

/* If it has a place (comeback.h), may one more request with @n_bytes come in? Changes nothing. */
int account_admit(const struct account *account, const struct account_limits *limits, uint64_t n_bytes,
                  uint64_t boot_us, uint64_t *ret_wait_us);

/* How long until a token may be spent; 0: now. */
uint64_t account_wait_us(const struct account *account, uint32_t tokens_a_minute, uint64_t boot_us);

/* How long until the last of @n_tok tokens may be spent, if nobody else of the account spends; 0: now. */
uint64_t account_until_us(const struct account *account, uint32_t tokens_a_minute, uint64_t n_tok, uint64_t boot_us);

/* Spends @n_tok of the budget; it may go into debt by one step. */
void account_spend(struct account *account, uint32_t tokens_a_minute, uint32_t n_tok, uint64_t boot_us);

/* Adds to (or, below 0, gives back) the bytes held for the account. */
void account_hold(struct account *account, int64_t bytes);

#endif
