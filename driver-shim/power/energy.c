/*
 * Sums that only rise.
 */
#include "power/energy.h"

void energy_counter_init(struct energy_counter *counter, uint64_t range_uj)
{
    *counter = (struct energy_counter){ .range_uj = range_uj };
}

uint64_t energy_count(struct energy_counter *counter, uint64_t raw_uj)
{
    if (counter->has_raw && raw_uj >= counter->raw_uj) {
        counter->total_uj += raw_uj - counter->raw_uj;
    } else if (counter->has_raw && counter->range_uj >= counter->raw_uj) {
        counter->total_uj += counter->range_uj - counter->raw_uj + raw_uj;
    }
    /* Else a first value, or a new start whose beginning nobody saw. */
    counter->raw_uj = raw_uj;
    counter->has_raw = true;
    return counter->total_uj;
}

uint64_t energy_integrate(struct energy_integral *integral, int64_t mw, uint64_t at_us)
{
    const int64_t used_mw = mw > 0 ? mw : 0;

    if (integral->has_last && at_us > integral->at_us && at_us - integral->at_us <= ENERGY_GAP_US) {
        integral->total_nj += (uint64_t)(used_mw + integral->mw) * (at_us - integral->at_us) / 2;
    }
    integral->mw = used_mw;
    integral->at_us = at_us;
    integral->has_last = true;
    return integral->total_nj / 1000;
}
