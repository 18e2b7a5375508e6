/*
 * Yield: what the screen leaves us
 *
 * Yielding consists of short submissions and of pauses between them, not of priorities, which some drivers lack. A
 * frame is several submissions, each of which may wait for a slice of ours, and the last one is made shortly before the
 * scan-out. So a slice is a small part of what a frame leaves, and the sum of all leaves a headroom.
 *
 * The load of others rises here at once and falls over 100 ms, so after bursts of drawing the free time between them is
 * used only after a while. A compositor can report more than the load shows: the length of its frames, that one was
 * missed, and until when it will draw hard.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_GOVERN_YIELD_H
#define SOTTO_GOVERN_YIELD_H

#include "govern/contention.h"

struct governor_bound;
struct governor_input;
struct governor_policy;

struct yield {
    double load;           /* of others, 0 to 1: rises at once, falls slowly */
    double peak;           /* of it, falls more slowly: a growth is a rise above it */
    double courage;        /* factor of slice and duty: falls with missed frames, recovers slowly */
    uint64_t grown_us;     /* when the load last grew; 0: it never did */
    uint64_t announced_us; /* end of the last phase that a compositor announced; 0: none */
    double seen;           /* last load that was really read */
    bool has_seen;         /* there was such a reading */
    struct contention contention;
    double frame_us;     /* as of the last tick */
    uint64_t active_us;  /* when the screen last changed */
    uint64_t crowded_us; /* since when there is almost no room; 0: there is some */
    uint64_t known_us;   /* first tick: a load never read has its grace time from then on */
    bool is_crowded;     /* long enough to move new streams to the cores */
    bool is_started;
};

void yield_init(struct yield *yield);

/* Takes in a slice on the GPU, as governor_on_slice() does. */
void yield_on_slice(struct yield *yield, const struct governor_policy *policy, uint64_t ended_us, uint64_t held_us,
                    uint64_t waited_us);

/*
 * Fills in the bound that graphics set. @elapsed_s is the time since the last tick; above 1 the filters start afresh.
 * Sets `is_crowded`.
 */
void yield_tick(struct yield *yield, const struct governor_policy *policy, const struct governor_input *input,
                double elapsed_s, struct governor_bound *ret_bound);

#endif
