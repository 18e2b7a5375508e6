/*
 * Yield: what the screen leaves us
 *
 * Yielding is made of short submissions and of pauses between them, not of priorities: some drivers have none to ask
 * for. The load of others rises here at once and falls over 100 ms, so that what draws in bursts is met by what is
 * free between them only after a while. A compositor can say more than the load tells: how long its frames are, that
 * one was missed, until when it will draw hard.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_GOVERN_YIELD_H
#define SOTTO_GOVERN_YIELD_H

#include <stdbool.h>
#include <stdint.h>

struct governor_bound;
struct governor_input;
struct governor_policy;

struct yield {
    double load;         /* of others, 0 to 1: up at once, down slowly */
    double courage;      /* factor of slice and duty: falls with missed frames, comes back slowly */
    uint64_t told_us;    /* end of the last phase that a compositor told of; 0: none */
    double seen;         /* the last load that was really read */
    bool has_seen;       /* there was one */
    uint64_t active_us;  /* when the screen was last seen to move */
    uint64_t crowded_us; /* since when there is next to no room; 0: there is */
    uint64_t known_us;   /* of the first tick: a load never seen has the grace time from then on */
    bool is_crowded;     /* for long enough to go elsewhere */
    bool is_started;
};

void yield_init(struct yield *yield);

/*
 * What is left for us beside the screen. @elapsed_s: since the last tick; above 1 the filters start anew. Sets
 * `is_crowded`.
 */
void yield_tick(struct yield *yield, const struct governor_policy *policy, const struct governor_input *input,
                double elapsed_s, struct governor_bound *ret_bound);

#endif
