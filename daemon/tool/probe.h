/*
 * Probe: reads a machine's sensors for a command, once or repeatedly
 *
 * It uses the threads and the choices of sotto-sense, so that a person sees what the daemon would use. A source that
 * hangs is shown as such and blocks nothing.
 */
#ifndef SOTTO_TOOL_PROBE_H
#define SOTTO_TOOL_PROBE_H

#include "base/diag.h"
#include "sensor/discovery.h"
#include "sensor/sampler.h"

/* Rates need two readings with some time between; the first scan of a device's clients starts the interval. */
#define PROBE_USUAL_MS 700u

struct probe {
    struct discovery discovery;
    struct finder finder;
    struct readers readers;
    struct sampler sampler;
    struct scan_result scan_result;
    int notify_fd; /* an eventfd, written when something was found or read */
};

/* Opens the machine below @root ("/": this one) and finds its sources within five seconds. Returns false if @diag says
 * why not. */
bool probe_open(struct probe *probe, const char *root, struct diag *diag);

/* Reads for @for_ms, load every 100 ms. */
void probe_read(struct probe *probe, uint32_t for_ms);

/* Frees the probe. Returns false if a thread is blocked in a source, so that the memory can't be freed: end the
 * process. */
bool probe_close(struct probe *probe);

/* Returns the age of the reading of @channel. */
uint64_t probe_age_ms(const struct channel *channel);

/* Returns "ok", "passed over", or the name of another state. */
const char *probe_state(const struct channel *channel);

/* Writes the value with its unit, "54.0 C", to @text, or "" if there is none. Returns @text. */
const char *probe_value(const struct channel *channel, char *text, size_t cap);

#define PROBE_VALUE_BYTES 40

#endif
