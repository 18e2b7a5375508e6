/*
 * Dispatcher part: what the dispatcher's files share: sequences (dispatcher_open.c), steps (dispatcher_step.c), the end of an engine
 * (dispatcher_lost.c), and what drives them (dispatcher.c).
 */
#ifndef SOTTO_DISPATCH_DISPATCHER_PART_H
#define SOTTO_DISPATCH_DISPATCHER_PART_H

#include "dispatch/dispatcher.h"

static inline struct stream *dispatcher_stream_of(struct job *job)
{
    return container_of(job, struct stream, job);
}

static inline struct instance *dispatcher_instance_of(struct engine_queue *eq)
{
    return container_of(eq, struct instance, eq);
}

/* The watchdog of what is awaited now: what runs and waits, or else an opening; nothing: none. */
void dispatcher_watch(struct instance *instance);

/* ---- dispatcher_open.c */

/* Opens whoever has a seat, and takes seats from those who must give theirs. */
void dispatcher_seat(struct hub *hub, const struct dispatch_input *in);

void dispatcher_on_opened(struct instance *instance, const Sotto__Engine__Opened *opened);
void dispatcher_on_refused(struct instance *instance, const Sotto__Engine__Refused *refused);

/* ---- dispatcher_step.c */

/* Passes on what the turn has decided; not DISPATCH_NONE. */
void dispatcher_tell(struct hub *hub, const struct dispatch_order *order);

void dispatcher_on_step_done(struct instance *instance, const Sotto__Engine__StepDone *done);
void dispatcher_on_suspended(struct instance *instance, const Sotto__Engine__Suspended *suspended);
void dispatcher_on_withdrawn(struct instance *instance, const Sotto__Engine__Withdrawn *withdrawn);

#endif
