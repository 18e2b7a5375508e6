#include "sched/retry.h"
#include "base/num.h"
#include <stddef.h>

/* Who comes so much before its time is on time: a client's timer, and a message. */
#define EARLY_US 5000u

/* Of the last ones whose time has come so many are remembered: what a storm is like, and no moment of it. */
#define REMEMBERED 256.0

/* However few came lately: a line that stood still would be told no time at all. */
#define COME_LEAST 0.05

/* So many ends, and how fast they come is known. */
#define KNOWN_FROM 4u

/* Ends more than it takes: the slowest that was lately is not the slowest there can be. */
#define SPARE 1.0

/* The slips beside mine. */
struct line {
    struct retry_entry *mine;
    uint32_t n_own;
    uint32_t n_shared;
    uint32_t n_own_before; /* of them, in line before mine; without one, all */
    uint32_t n_shared_before;
};

void retry_list_init(struct retry_list *retry_list)
{
    retry_list->n = 0;
    retry_list->come = 1.0;
}

/* Forgets @slip. The last one moves to its place. */
static void drop(struct retry_list *retry_list, struct retry_entry *slip)
{
    *slip = retry_list->slips[--retry_list->n];
}

static void learn(struct retry_list *retry_list, bool came)
{
    retry_list->come += ((came ? 1.0 : 0.0) - retry_list->come) / REMEMBERED;
}

/* Most places are free: the storm is over, and who does not come any more says nothing of the next one. */
static bool is_calm(const struct retry_bound *bound)
{
    return bound->n_free > bound->n_most - bound->n_most / 4;
}

static void sweep(struct retry_list *retry_list, const struct retry_request *ask, uint64_t now_us)
{
    bool is_over = is_calm(&ask->own) && is_calm(&ask->shared);

    for (uint32_t i = 0; i < retry_list->n;) {
        if (retry_list->slips[i].due_us + RETRY_GRACE_US < now_us) {
            drop(retry_list, &retry_list->slips[i]);
            if (!is_over) {
                learn(retry_list, false);
            }
        } else {
            i++;
        }
    }
    if (retry_list->n == 0 && is_over) {
        retry_list->come = 1.0;
    }
}

static struct retry_entry *find(struct retry_list *retry_list, const struct retry_request *ask)
{
    for (uint32_t i = 0; i < retry_list->n; i++) {
        if (retry_list->slips[i].key == ask->key && retry_list->slips[i].uid == ask->uid) {
            return &retry_list->slips[i];
        }
    }
    return NULL;
}

static void look(struct retry_list *retry_list, const struct retry_request *ask, struct line *ret_line)
{
    *ret_line = (struct line){ .mine = find(retry_list, ask) };
    for (uint32_t i = 0; i < retry_list->n; i++) {
        const struct retry_entry *slip = &retry_list->slips[i];
        bool is_before = !ret_line->mine || slip->since_us <= ret_line->mine->since_us;

        if (slip == ret_line->mine) {
            continue;
        }
        ret_line->n_own += slip->uid == ask->uid;
        ret_line->n_shared += slip->group == ask->group;
        ret_line->n_own_before += slip->uid == ask->uid && is_before;
        ret_line->n_shared_before += slip->group == ask->group && is_before;
    }
}

/* Room for one that comes unasked: beside those who were told to come, who have half of all places at most. */
static bool has_room(const struct retry_bound *bound, uint32_t n_slips)
{
    return bound->n_free > num_min(n_slips, bound->n_most / 2);
}

/* Until there is a place behind @bound for one with @n_before before it. */
static double wait_us(const struct retry_list *retry_list, const struct retry_bound *bound, uint32_t n_before,
                      uint64_t now_us)
{
    double come = retry_list->come > COME_LEAST ? retry_list->come : COME_LEAST;
    double n_places = n_before * come + 1.0 + SPARE - bound->n_free;
    double estimated_us;
    double us;

    if (!bound->service || n_places <= 0.0) {
        return 0.0;
    }
    us = service_wait_us(bound->service, n_places, now_us);
    if (bound->service->n > KNOWN_FROM) {
        return us;
    }
    estimated_us = bound->first_us + (n_places - 1.0) * bound->gap_us;
    return estimated_us > us ? estimated_us : us;
}

/* What is told: the longer of two waits, and bounded. */
static uint64_t told_us(const struct retry_list *retry_list, const struct retry_request *ask, const struct line *line,
                        bool is_due, uint64_t now_us)
{
    double own_us = wait_us(retry_list, &ask->own, line->n_own_before, now_us);
    double shared_us = wait_us(retry_list, &ask->shared, line->n_shared_before, now_us);
    double us = own_us > shared_us ? own_us : shared_us;

    if (is_due) {
        /* What was told did not hold: as long again as it has waited, or it would be told so again and again. */
        double waited_us = (double)(now_us - line->mine->since_us);

        us = us > waited_us ? us : waited_us;
    }
    return us < RETRY_MOST_US ? num_max((uint64_t)us, RETRY_LEAST_US) : RETRY_MOST_US;
}

bool retry_admit(struct retry_list *retry_list, const struct retry_request *ask, uint64_t now_us,
                 uint64_t *ret_retry_us)
{
    struct line line;
    bool is_due;

    sweep(retry_list, ask, now_us);
    look(retry_list, ask, &line);
    is_due = line.mine && line.mine->due_us <= now_us + EARLY_US;
    if (is_due ? ask->own.n_free > 0 && ask->shared.n_free > 0
               : has_room(&ask->own, line.n_own) && has_room(&ask->shared, line.n_shared)) {
        if (line.mine) {
            drop(retry_list, line.mine);
            learn(retry_list, true);
        }
        return true;
    }
    if (line.mine && !is_due) {
        *ret_retry_us = line.mine->due_us - now_us;
        return false;
    }
    *ret_retry_us = told_us(retry_list, ask, &line, is_due, now_us);
    if (!line.mine && retry_list->n < RETRY_MOST && line.n_own < RETRY_MOST_A_UID) {
        line.mine = &retry_list->slips[retry_list->n++];
        *line.mine = (struct retry_entry){ .key = ask->key, .since_us = now_us, .uid = ask->uid, .group = ask->group };
    }
    if (line.mine) {
        line.mine->due_us = now_us + *ret_retry_us;
    }
    return false;
}
