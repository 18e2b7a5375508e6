/*
 * Trace file: the ring of the last events as a file that a person can open
 *
 * In the Trace Event Format (JSON) that trace viewers read: about:tracing, Perfetto, Speedscope. Steps and slices are
 * bars; what the governor allows, the load of others and the temperature are curves; modes and tokens are marks. There
 * is no text of anybody in it and no token: times, counts and numbers of streams.
 */
#ifndef SOTTO_APP_TRACE_FILE_H
#define SOTTO_APP_TRACE_FILE_H

#include "base/buf.h"
#include "base/diag.h"
#include "base/trace.h"

/* Appends @events (oldest first) to @out. 0, BUF_FULL or -ENOMEM. */
int trace_file_format(const struct trace_event *events, size_t n, struct buf *out);

/* Writes what the ring holds to @path: a new file beside it, 0600, that takes its place. 0, or above 0: @diag says why
 * not; or a fault. */
int trace_file_write(const char *path, struct diag *diag);

#endif
