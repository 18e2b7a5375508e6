/*
 * Comeback: who was told when to come again
 *
 * A request that is refused for want of a place is told when one is expected, and keeps a place in line: the next
 * one is told a later time. So what is told is an expected time of service, as a bank's numbered slips are, and a
 * Retry-After (RFC 9110, 10.2.3) that keeps its word: who comes back when told finds a place, unless places came
 * free more slowly than they did before. The line itself is a virtual schedule (the theoretical arrival times of
 * GCRA, ITU-T I.371 A.1): one place each time that one comes free, however fast they ask.
 *
 * Nobody need come back, and most may never: for those who were told, half of the places are kept at most, others
 * have the rest, and who does not come is forgotten soon after its time. What of them come is learnt, and the line
 * moves as fast as that says.
 *
 * There is nothing in the protocol for it: a request is known by what it asks for (a hash of that, and its user).
 * Two that are alike in all of it are one to this, and whoever asks again before its time is told the same time.
 *
 * Pure.
 */
#ifndef SOTTO_SCHED_RETRY_H
#define SOTTO_SCHED_RETRY_H

#include "sched/service.h"
#include <stdbool.h>
#include <stdint.h>

/* Who is refused beside so many that are to come keeps no place: two minutes of the storm that soak.py plays, which is
 * ten times what the chip can do. And so many of one user. */
#define RETRY_MOST       16384u
#define RETRY_MOST_A_UID 4096u

/* Bounds of what is told: below, asking again costs more than it brings; above, nothing is foretold. */
#define RETRY_LEAST_US 50000u
#define RETRY_MOST_US  300000000u

/* Its place in line is kept for so long behind its time: a client's own delays. */
#define RETRY_GRACE_US 2000000u

/* A place to come back to. */
struct retry_entry {
    uint64_t key;      /* of the request */
    uint64_t since_us; /* first refused: the order of the line */
    uint64_t due_us;   /* told */
    uint32_t uid;
    uint32_t group;
};

struct retry_list {
    struct retry_entry slips[RETRY_MOST]; /* in no order */
    uint32_t n;
    double come; /* of those whose time has come, so many came; smoothed */
};

/* Places behind one bound. */
struct retry_bound {
    uint32_t n_free;
    uint32_t n_most;
    const struct service *service; /* how fast they come free; NULL: there is no bound */
    double gap_us;                 /* foretold, while nothing is known of that: between two, */
    double first_us;               /* and until the first */
};

struct retry_request {
    uint64_t key;
    uint32_t uid;
    uint32_t group;            /* which of the shared bounds: those of one class, say */
    struct retry_bound own;    /* of the user */
    struct retry_bound shared; /* of all who come by @group */
};

void retry_list_init(struct retry_list *retry_list);

/* May it come in? True: it has a place, and none in line any more. False: it is to come again in *ret_retry_us, and
 * its place in line is kept. */
bool retry_admit(struct retry_list *retry_list, const struct retry_request *ask, uint64_t now_us,
                 uint64_t *ret_retry_us);

#endif
