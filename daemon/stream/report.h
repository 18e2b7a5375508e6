/*
 * Report: the messages of a stream to its client
 *
 * A callback may end the stream: the caller of a report checks whether it is over before it goes on.
 */
#ifndef SOTTO_STREAM_REPORT_H
#define SOTTO_STREAM_REPORT_H

#include "stream/stream.h"

/* Reports that the request is accepted, once. */
void report_accepted(struct stream *stream);

/* Reports a notice with a sentence (or NULL). */
void report_notice(struct stream *stream, Sotto__V1__NoticeKind kind, const char *detail);

/* Reports that its model is being loaded, once. */
void report_loading(struct stream *stream);

/* Reports that its model is loaded, after report_loading(). */
void report_loaded(struct stream *stream);

/* Notes with which numerics it goes on, and reports a change: an engine may compute with other ones than the engine
 * before it. */
void report_numerics(struct stream *stream);

/* Reports that the tokens of its account's minute are spent, once; report_unthrottled(): it runs again. */
void report_throttled(struct stream *stream);
void report_unthrottled(struct stream *stream);

/* Reports the governor's mode (GOVERNOR_FULL: nothing holds it back), with a sentence. */
void report_mode(struct stream *stream, enum governor_mode mode, uint64_t now_us, const char *sentence);

/* Report what has become of its sequence. */
void report_preempted(struct stream *stream, bool parked);
void report_rebuilding(struct stream *stream);
void report_resumed(struct stream *stream);

/* Reports the end. */
void report_end(struct stream *stream);

/* Returns @source in the protocol's words. */
Sotto__V1__EnergySource report_energy_source(enum energy_source source);

#endif
