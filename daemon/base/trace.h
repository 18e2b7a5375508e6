/*
 * Trace: a ring of the last timed events
 *
 * It is cheap enough to be always on: one atomic add claims the next slot, which is overwritten. On SIGUSR2 sottod
 * writes the ring in a form that a trace viewer reads (app/trace_file.h). Events hold only numbers, never text of a
 * prompt.
 */
#ifndef SOTTO_BASE_TRACE_H
#define SOTTO_BASE_TRACE_H

#include <stddef.h>
#include <stdint.h>

enum trace_what {
    TRACE_STEP_SENT,   /* a: step id, b: rows */
    TRACE_STEP_DONE,   /* a: step id, b: microseconds */
    TRACE_TOKEN,       /* a: stream, b: index */
    TRACE_PARK,        /* a: stream, b: reason */
    TRACE_ENGINE_LOST, /* a: pid, b: signal */
    TRACE_MODE,        /* a: processor * 100 + mode, b: cause */
    TRACE_LIMITS,      /* a: processor * 10000 + permille of duty, b: longest slice in microseconds */
    TRACE_SLICE,       /* a: processor, b: microseconds that it was held */
    TRACE_SENSE,       /* a: permille of the device that others use, b: millidegrees of the hottest zone */
    TRACE_SENSE_STATE, /* a: source, b: state */
    TRACE_WHAT_COUNT,
};

struct trace_event {
    uint64_t at_us; /* CLOCK_MONOTONIC */
    uint64_t a;
    uint64_t b;
    enum trace_what what;
};

void trace_add(enum trace_what what, uint64_t a, uint64_t b);

/* Copies the newest @cap events, oldest first, and returns how many. */
size_t trace_copy(struct trace_event *out, size_t cap);

const char *trace_what_name(enum trace_what what);

#endif
