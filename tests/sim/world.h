/*
 * World: one scenario, from its first moment until nothing is left of it
 */
#ifndef SOTTO_SIM_WORLD_H
#define SOTTO_SIM_WORLD_H

#include "chart.h"
#include "clients.h"
#include "monitor.h"

struct world_result {
    struct tallies tallies;
    uint64_t n_events;
    uint64_t n_asked;
    uint64_t n_refused;
    uint64_t n_rows; /* computed before the clients left */
    uint64_t n_tok;
    uint64_t n_frames;
    uint64_t n_missed;
    uint64_t n_missed_alone;
    uint64_t n_mode_changes;
};

/* The observers; each may be NULL. */
struct world_view {
    struct chart *chart;
    FILE *trace; /* a line for each event */
};

/* Runs @scenario. @view may be NULL. */
void world_run(const struct scenario *scenario, const struct world_view *view, struct world_result *ret_result);

#endif
