/*
 * Trace file: the ring of the last events as a file that a person can open
 *
 * The file is in the Trace Event Format (JSON), which trace viewers read: about:tracing, Perfetto, Speedscope. Steps
 * and slices are bars; the limits of the governor, the load of others and the temperature are curves; modes and tokens
 * are marks. It holds times, counts and numbers of streams, but no text and no token.
 */
#ifndef SOTTO_APP_TRACE_FILE_H
#define SOTTO_APP_TRACE_FILE_H

#include "base/buf.h"
#include "base/diag.h"
#include "base/trace.h"

/* Appends @events (oldest first) to @out. Returns 0, BUF_FULL or -ENOMEM. */
int trace_file_format(const struct trace_event *events, size_t n, struct buf *out);

/* Writes the ring to @path by way of a new file beside it (0600). Returns 0, an outcome above 0 if @diag says why not,
 * or a fault. */
int trace_file_write(const char *path, struct diag *diag);

#endif
