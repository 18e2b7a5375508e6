/*
 * Energy: microjoules since the first reading
 *
 * A counter of the machine runs round at some point (powercap says where) or begins again at 0 (a driver that was
 * loaded anew); unrolled it only rises. Where there is only a power meter, its watts are added up over time. Where
 * there is neither there is no figure: energy is never invented.
 *
 * Pure: no clock, no file.
 */
#ifndef SOTTO_POWER_ENERGY_H
#define SOTTO_POWER_ENERGY_H

#include <stdbool.h>
#include <stdint.h>

struct energy_counter {
    uint64_t
        range_uj;    /* the largest value before it begins again at 0; 0: it never does, running back is a new start */
    uint64_t raw_uj; /* as last read */
    uint64_t total_uj;
    bool has_raw;
};

void energy_counter_init(struct energy_counter *counter, uint64_t range_uj);

/* Takes what was read and returns the total: 0 the first time. One turn at most fits between two readings. */
uint64_t energy_count(struct energy_counter *counter, uint64_t raw_uj);

struct energy_integral {
    uint64_t total_nj;
    uint64_t at_us; /* of the last watts */
    int64_t mw;
    bool has_last;
};

/* Between watts that are further apart nothing is added: what happened there is not known. */
#define ENERGY_GAP_US 5000000u

/* Adds the mean of these and the last watts over the time between (mW times us are nJ). Power below 0 (charging)
 * counts as none. Returns the total in uJ. */
uint64_t energy_integrate(struct energy_integral *integral, int64_t mw, uint64_t at_us);

#endif
