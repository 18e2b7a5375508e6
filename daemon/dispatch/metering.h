/*
 * Metering: how much energy and how many rows each request of a step took, and what that does to its user's budget
 */
#ifndef SOTTO_DISPATCH_METERING_H
#define SOTTO_DISPATCH_METERING_H

#include "govern/energy.h"
#include "machine/machine_watch.h"
#include "stream/stream.h"

struct metering {
    struct energy energy;
    bool has_meter;
};

void metering_init(struct metering *metering, const struct energy_stated *stated);

/* Reads the meter, which may have moved, at @now_us; slices have held all processors for @held_us until then. */
void metering_read(struct metering *metering, const struct machine_watch *watch, uint64_t now_us, uint64_t held_us);

/* Charges the requests of @step, which has ended. */
void metering_charge(struct metering *metering, const struct dispatch_step *step);

/* Counts @n_tok rows that were computed for @stream. */
void metering_count(struct stream *stream, uint32_t n_tok);

#endif
