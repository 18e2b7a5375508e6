/*
 * Dispatcher part: what the dispatcher's files share
 */
#ifndef SOTTO_DISPATCH_DISPATCHER_PART_H
#define SOTTO_DISPATCH_DISPATCHER_PART_H

#include "dispatch/dispatcher.h"

static inline struct instance *instance_of(struct engine_queue *eq)
{
    return container_of(eq, struct instance, eq);
}

/* ---- dispatcher_open.c */

/* Opens the streams that have a slot, and takes slots from those that must give theirs. */
void dispatcher_assign_slots(struct dispatcher *dispatcher, const struct dispatch_input *in);

void dispatcher_on_opened(struct dispatcher *dispatcher, struct instance *instance,
                          const Sotto__Engine__Opened *opened);
void dispatcher_on_refused(struct dispatcher *dispatcher, struct instance *instance,
                           const Sotto__Engine__Refused *refused);

/* ---- dispatcher_step.c */

/* Sets the watchdog for what is awaited of the engine now: what runs and waits, or else an opening; or nothing. */
void dispatcher_watch(const struct dispatcher *dispatcher, struct instance *instance);

/* Passes an order of sched on; not DISPATCH_NONE. */
void dispatcher_tell(struct dispatcher *dispatcher, const struct dispatch_order *order);

void dispatcher_on_step_done(struct dispatcher *dispatcher, struct instance *instance,
                             const Sotto__Engine__StepDone *done);
void dispatcher_on_suspended(struct dispatcher *dispatcher, struct instance *instance,
                             const Sotto__Engine__Suspended *suspended);
void dispatcher_on_withdrawn(struct dispatcher *dispatcher, struct instance *instance,
                             const Sotto__Engine__Withdrawn *withdrawn);

#endif
