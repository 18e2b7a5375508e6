/*
 * Dispatcher: from the turn to the engines, and back to the streams
 *
 * It seats who may be seated (Open), asks the turn what to tell an engine next (Step, Continue, Suspend, Withdraw),
 * tells it, and hands out what comes back. All that is decided is decided in sched/; here is only what passes it on.
 *
 * The loop's thread.
 */
#ifndef SOTTO_DISPATCH_DISPATCHER_H
#define SOTTO_DISPATCH_DISPATCHER_H

#include "stream/stream.h"

/* Its alarm is open; the hub closes it. */
void dispatcher_start(struct hub *hub);

/* Ends what is too late, and tells engines what can be told now. Once a turn of the loop. */
void dispatcher_run(struct hub *hub);

/* Opened, Refused, StepDone, Suspended, Withdrawn, Stats, … of @instance's engine. What contradicts what was asked kills
 * the engine. */
void dispatcher_on_answer(struct instance *instance, const Sotto__Engine__FromEngine *answer);

/*
 * The engine is gone: lays blame, ends who struck out, unseats the rest. Returns the crashes of the last minute that
 * no request is to blame for.
 */
uint32_t dispatcher_engine_lost(struct instance *instance, const struct engine_end *end);

/* Gives @stream's sequence back. What steps under way still say of it is dropped when it has ended. */
void dispatcher_close(struct stream *stream);

/* The same for one that goes on: it is in no step any more, and nothing of it is computed. */
void dispatcher_put_aside(struct stream *stream);

/* What follows is dropped between the parts of a running step. */
void dispatcher_tell_stop(struct instance *instance, uint32_t sequence);

/* Closes a sequence, trimmed to @n_known tokens (0: as it is), if the engine takes orders. */
void dispatcher_tell_close(struct instance *instance, uint32_t sequence, uint32_t n_known, bool keep);

/* @stream's sequence, in no step, becomes pin @number: its pages stay and its seat is free. */
void dispatcher_pin(struct stream *stream, uint32_t number);

/* Makes @sequence pin @number; 0: drops that. If the engine takes orders. */
void dispatcher_tell_pin(struct instance *instance, uint32_t number, uint32_t sequence);

/* Asks an engine for its Stats. */
void dispatcher_query(struct instance *instance);

#endif
