/*
 * Normalised least mean squares (Widrow and Hoff 1960; Nagumo and Noda 1967): after each step the values move along
 * the step's own load, just so far that a part of the error would be gone. Loads differ by orders of magnitude
 * between parts (1 fixed part, thousands of pages), so distances are taken in units of each part's first value.
 * It needs no history, forgets by itself when the clock of the chip changes, and is exact in the limit if the
 * times are linear.
 */
#include "sched/cost.h"

/* Part of an error that one step takes away: some tens of steps follow a change of clock, one noisy step
 * is soon forgotten. */
#define COST_PACE 0.5

/* A step that took many times what was foretold was interrupted (a debugger, a suspended machine): it
 * teaches no more than that it was slow. */
#define COST_OUTLIER 4.0

void cost_init(struct cost *cost, const uint64_t first_ns[COST_PART_COUNT])
{
    for (size_t i = 0; i < COST_PART_COUNT; i++) {
        cost->ns[i] = first_ns[i] ? (double)first_ns[i] : 1.0;
        cost->scale[i] = cost->ns[i];
    }
}

double cost_of(const struct cost *cost, const struct cost_load *load)
{
    double ns = 0.0;

    for (size_t i = 0; i < COST_PART_COUNT; i++) {
        ns += cost->ns[i] * load->n[i];
    }
    return ns;
}

void cost_learn(struct cost *cost, const struct cost_load *load, uint64_t took_ns)
{
    double foretold = cost_of(cost, load);
    double took = (double)took_ns;
    double norm = 0.0;
    double error;

    if (took > COST_OUTLIER * foretold) {
        took = COST_OUTLIER * foretold;
    }
    error = took - foretold;
    for (size_t i = 0; i < COST_PART_COUNT; i++) {
        double share = cost->scale[i] * load->n[i];

        norm += share * share;
    }
    if (norm <= 0.0) {
        return;
    }
    for (size_t i = 0; i < COST_PART_COUNT; i++) {
        cost->ns[i] += COST_PACE * error * cost->scale[i] * cost->scale[i] * load->n[i] / norm;
        if (cost->ns[i] < 1.0) {
            cost->ns[i] = 1.0;
        }
    }
}
