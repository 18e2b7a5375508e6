/*
 * Look: a machine's sensors, read once or again and again by a command
 *
 * With the very threads and choices of sotto-sense, so that what a person is shown is what the daemon would use: a
 * source that hangs is shown as such and holds nothing up.
 */
#ifndef SOTTO_TOOL_PROBE_H
#define SOTTO_TOOL_PROBE_H

#include "base/diag.h"
#include "sensor/discovery.h"
#include "sensor/sampler.h"

/* Rates need two readings with some time between; the first walk over clients of a device is no interval yet. */
#define PROBE_USUAL_MS 700u

struct probe {
    struct machine machine;
    struct finder finder;
    struct readers readers;
    struct sampler sampler;
    struct scan_result scan_result;
    int wakeup; /* an eventfd: something was found or read */
};

/* Opens the machine below @root ("/": this one) and finds its sources, five seconds at most. False: @diag says why. */
bool probe_open(struct probe *probe, const char *root, struct diag *diag);

/* Reads for @for_ms, load every 100 ms. */
void probe_read(struct probe *probe, uint32_t for_ms);

/* False: a thread is inside a source that does not answer, so memory can't be freed: end the process. */
bool probe_close(struct probe *probe);

/* How old the reading of @channel is. */
uint64_t probe_age_ms(const struct channel *channel);

/* "ok", "passed over", or another state's word. */
const char *probe_state(const struct channel *channel);

/* The value with its unit for people, "54.0 C"; "" where there is none. Returns @text. */
const char *probe_value(const struct channel *channel, char *text, size_t cap);

#define PROBE_VALUE_BYTES 40

#endif
