/*
 * Pacer part: what the pacer's files share: sequences (pacer_open.c), steps (pacer_step.c), the end of an engine
 * (pacer_lost.c), and what drives them (pacer.c).
 */
#ifndef SOTTO_DISPATCH_DISPATCHER_PART_H
#define SOTTO_DISPATCH_DISPATCHER_PART_H

#include "dispatch/dispatcher.h"

static inline struct stream *pacer_stream_of(struct job *job)
{
    return container_of(job, struct stream, job);
}

static inline struct edition *pacer_edition_of(struct engine_queue *eq)
{
    return container_of(eq, struct edition, eq);
}

/* The watchdog of what is awaited now: what runs and waits, or else an opening; nothing: none. */
void pacer_watch(struct edition *edition);

/* ---- pacer_open.c */

/* Opens whoever has a seat, and takes seats from those who must give theirs. */
void pacer_assign(struct hub *hub, const struct dispatch_input *in);

void pacer_on_opened(struct edition *edition, const Sotto__Engine__Opened *opened);
void pacer_on_refused(struct edition *edition, const Sotto__Engine__Refused *refused);

/* ---- pacer_step.c */

/* Passes on what the turn has decided; not DISPATCH_NONE. */
void pacer_tell(struct hub *hub, const struct dispatch_order *order);

void pacer_on_step_done(struct edition *edition, const Sotto__Engine__StepDone *done);
void pacer_on_suspended(struct edition *edition, const Sotto__Engine__Suspended *suspended);
void pacer_on_withdrawn(struct edition *edition, const Sotto__Engine__Withdrawn *withdrawn);

#endif
