/*
 * Retry: the time after which a refused request should be sent again
 *
 * A request that is refused because the queue is full is told when room is expected, and keeps a position in line: the
 * next one is told a later time. So the reported time is an expected time of service, as on a numbered ticket, and a
 * Retry-After (RFC 9110, 10.2.3) that is kept: a request that returns on time finds room, unless requests ended more
 * slowly than before. The line is a virtual schedule (the theoretical arrival times of GCRA, ITU-T I.371 A.1): one
 * position for each room that comes free, however fast requests arrive.
 *
 * No request needs to return, and most may never do. So at most half of the room is reserved for requests that were
 * told to return, others get the rest, and one that does not return is forgotten soon after its time. The fraction that
 * returns is learnt, and the line moves as fast as it says.
 *
 * The protocol has no field for this: a request is recognised by a hash of its content and by its user. Two requests
 * with equal content are one to this list, and a request that is sent again too early is told the same time.
 *
 * Pure.
 */
#ifndef SOTTO_SCHED_RETRY_H
#define SOTTO_SCHED_RETRY_H

#include "sched/service.h"
#include <stdbool.h>
#include <stdint.h>

/* Beyond this many entries a refused request gets no position: two minutes of the storm of soak.py, which is ten
 * times what the chip can do. The second bound is for one user. */
#define RETRY_MOST       16384u
#define RETRY_MOST_A_UID 4096u

/* Bounds of the reported time: below, asking again costs more than it brings; above, nothing can be estimated. */
#define RETRY_LEAST_US 50000u
#define RETRY_MOST_US  300000000u

/* An entry is kept for this long after its time, to allow for delays of the client. */
#define RETRY_GRACE_US 2000000u

/* A refused request that may return. */
struct retry_entry {
    uint64_t key;      /* hash of the request */
    uint64_t since_us; /* when it was first refused: the order of the line */
    uint64_t due_us;   /* time that was reported */
    uint32_t uid;
    uint32_t group;
};

struct retry_list {
    struct retry_entry entries[RETRY_MOST]; /* in no order */
    uint32_t n;
    double return_rate; /* fraction of the due requests that returned; smoothed */
};

/* Room under one limit. */
struct retry_bound {
    uint32_t n_free;
    uint32_t n_most;
    const struct service *service; /* how fast room comes free; NULL: there is no limit */
    double gap_us;                 /* estimate while nothing is measured: between two ends, */
    double first_us;               /* and until the first */
};

struct retry_request {
    uint64_t key;
    uint32_t uid;
    uint32_t group;            /* selects the shared limit, for example that of a class */
    struct retry_bound own;    /* limit of the user */
    struct retry_bound shared; /* limit of all requests of @group */
};

void retry_list_init(struct retry_list *retry_list);

/* Returns true if the request may come in; its entry is removed. If not, it should be sent again in *ret_retry_us,
 * and its position in line is kept. */
bool retry_admit(struct retry_list *retry_list, const struct retry_request *request, uint64_t now_us,
                 uint64_t *ret_retry_us);

#endif
