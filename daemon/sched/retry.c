#include "sched/retry.h"
#include "base/num.h"
#include <stddef.h>

/* A request that returns this much early is on time: a client's timer, and a message. */
#define EARLY_US 5000u

/* Window, in due requests, of the moving average of the fraction that returns: the length of a storm, not a moment
 * of it. */
#define WINDOW 256.0

/* Least fraction assumed, or a line that stood still would have no time to report. */
#define RATE_LEAST 0.05

/* From this many ends on the service rate counts as measured. */
#define KNOWN_FROM 4u

/* Ends added to those needed: the slowest service seen lately is not the slowest possible. */
#define SPARE 1.0

/* The entries beside mine. */
struct line {
    struct retry_entry *mine;
    uint32_t n_own;
    uint32_t n_shared;
    uint32_t n_own_before; /* those before mine in line; all if there is no mine */
    uint32_t n_shared_before;
};

void retry_list_init(struct retry_list *retry_list)
{
    retry_list->n = 0;
    retry_list->return_rate = 1.0;
}

/* Forgets @entry. The last entry moves to its index. */
static void drop(struct retry_list *retry_list, struct retry_entry *entry)
{
    *entry = retry_list->entries[--retry_list->n];
}

static void learn(struct retry_list *retry_list, bool returned)
{
    retry_list->return_rate += ((returned ? 1.0 : 0.0) - retry_list->return_rate) / WINDOW;
}

/* True if most of the room is free: the storm is over, and requests that no longer return say nothing about the next
 * one. */
static bool is_calm(const struct retry_bound *bound)
{
    return bound->n_free > bound->n_most - bound->n_most / 4;
}

static void sweep(struct retry_list *retry_list, const struct retry_request *request, uint64_t now_us)
{
    bool is_calm_now = is_calm(&request->own) && is_calm(&request->shared);

    for (uint32_t i = 0; i < retry_list->n;) {
        if (retry_list->entries[i].due_us + RETRY_GRACE_US < now_us) {
            drop(retry_list, &retry_list->entries[i]);
            if (!is_calm_now) {
                learn(retry_list, false);
            }
        } else {
            i++;
        }
    }
    if (retry_list->n == 0 && is_calm_now) {
        retry_list->return_rate = 1.0;
    }
}

static struct retry_entry *find(struct retry_list *retry_list, const struct retry_request *request)
{
    for (uint32_t i = 0; i < retry_list->n; i++) {
        if (retry_list->entries[i].key == request->key && retry_list->entries[i].uid == request->uid) {
            return &retry_list->entries[i];
        }
    }
    return NULL;
}

static void look(struct retry_list *retry_list, const struct retry_request *request, struct line *ret_line)
{
    *ret_line = (struct line){ .mine = find(retry_list, request) };
    for (uint32_t i = 0; i < retry_list->n; i++) {
        const struct retry_entry *entry = &retry_list->entries[i];
        bool is_before = !ret_line->mine || entry->since_us <= ret_line->mine->since_us;

        if (entry == ret_line->mine) {
            continue;
        }
        ret_line->n_own += entry->uid == request->uid;
        ret_line->n_shared += entry->group == request->group;
        ret_line->n_own_before += entry->uid == request->uid && is_before;
        ret_line->n_shared_before += entry->group == request->group && is_before;
    }
}

/* True if there is room for a new request beside those that were told to return, which have half of it at most. */
static bool has_room(const struct retry_bound *bound, uint32_t n_reserved)
{
    return bound->n_free > num_min(n_reserved, bound->n_most / 2);
}

/* Returns the time until there is room under @bound for a request with @n_before before it. */
static double wait_us(const struct retry_list *retry_list, const struct retry_bound *bound, uint32_t n_before,
                      uint64_t now_us)
{
    double rate = retry_list->return_rate > RATE_LEAST ? retry_list->return_rate : RATE_LEAST;
    double n_places = n_before * rate + 1.0 + SPARE - bound->n_free;
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

/* Returns the time to report: the longer of the two waits, within bounds. */
static uint64_t report_us(const struct retry_list *retry_list, const struct retry_request *request,
                          const struct line *line, bool is_due, uint64_t now_us)
{
    double own_us = wait_us(retry_list, &request->own, line->n_own_before, now_us);
    double shared_us = wait_us(retry_list, &request->shared, line->n_shared_before, now_us);
    double us = own_us > shared_us ? own_us : shared_us;

    if (is_due) {
        /* The time reported before did not hold. The request waits again as long as it has waited, or it would be
         * told so again and again. */
        double waited_us = (double)(now_us - line->mine->since_us);

        us = us > waited_us ? us : waited_us;
    }
    return us < RETRY_MOST_US ? num_max((uint64_t)us, RETRY_LEAST_US) : RETRY_MOST_US;
}

bool retry_admit(struct retry_list *retry_list, const struct retry_request *request, uint64_t now_us,
                 uint64_t *ret_retry_us)
{
    struct line line;
    bool is_due;

    sweep(retry_list, request, now_us);
    look(retry_list, request, &line);
    is_due = line.mine && line.mine->due_us <= now_us + EARLY_US;
    if (is_due ? request->own.n_free > 0 && request->shared.n_free > 0
               : has_room(&request->own, line.n_own) && has_room(&request->shared, line.n_shared)) {
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
    *ret_retry_us = report_us(retry_list, request, &line, is_due, now_us);
    if (!line.mine && retry_list->n < RETRY_MOST && line.n_own < RETRY_MOST_A_UID) {
        line.mine = &retry_list->entries[retry_list->n++];
        *line.mine = (struct retry_entry){
            .key = request->key, .since_us = now_us, .uid = request->uid, .group = request->group
        };
    }
    if (line.mine) {
        line.mine->due_us = now_us + *ret_retry_us;
    }
    return false;
}
