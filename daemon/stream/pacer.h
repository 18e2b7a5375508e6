/*
 * Pacer: from the plan to the engines, and back to the streams
 *
 * It seats who may be seated (Open), asks the planner for the next step, sends it to the engine whose turn it is, and
 * hands out what comes back. One step is under way on all engines together. While a sequence is being opened no step
 * is sent: the answer takes microseconds, and who has just come is in the step at once.
 *
 * The loop's thread.
 */
#ifndef SOTTO_STREAM_PACER_H
#define SOTTO_STREAM_PACER_H

#include "stream/stream.h"

/* Sends what can be sent now. Once a turn. */
void pacer_run(struct hub *hub);

/* Opened, Refused, StepDone, Stats, … of @edition's engine. What contradicts what was asked kills the engine. */
void pacer_on_answer(struct edition *edition, const Sotto__Engine__FromEngine *answer);

/*
 * The engine is gone: lays blame, ends who struck out, unseats the rest. Returns the crashes of the last minute that
 * no request is to blame for.
 */
uint32_t pacer_engine_lost(struct edition *edition, const struct engine_end *end);

/* Gives @stream's sequence back. */
void pacer_close(struct stream *stream);

/* Asks an engine for its Stats. */
void pacer_query(struct edition *edition);

#endif
