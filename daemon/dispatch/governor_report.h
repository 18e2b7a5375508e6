/*
 * Governor report: what the governor has decided, for watchers and for the streams that it holds back
 *
 * A change of mode or cause is an event ("mode" on Watch, and so a line in the log), a counter and a mark in the trace.
 * Each stream that is held back is notified once, and not more often than GOVERNOR_REPORT_US.
 */
#ifndef SOTTO_DISPATCH_GOVERNOR_REPORT_H
#define SOTTO_DISPATCH_GOVERNOR_REPORT_H

#include "govern/governor.h"
#include "stream/stream.h"

#define GOVERNOR_REPORT_US 1000000u

/* Returns the name of the processor in events and Status: "device" or "cores". */
const char *governor_report_processor(enum processor processor);

/* Reports the modes and causes that differ from @was, the limits before. */
void governor_report_modes(const struct governor *governor, const struct governor_limits was[PROCESSOR_COUNT],
                           struct events *events);

/* Reports to streams that are held back now, or no longer. */
void governor_report_streams(const struct governor *governor, struct streams *streams, uint64_t now_us);

#endif
