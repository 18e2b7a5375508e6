/*
 * Turn pick: what the turn asks before it decides
 *
 * Who wants a step, who may begin one, which step must make way for whom, and how long a place rests. For the turn's
 * own files: turn.c decides, dispatch_pick.c answers these questions and changes nothing, dispatch_told.c moves steps on. Pure.
 */
#ifndef SOTTO_SCHED_DISPATCH_PICK_H
#define SOTTO_SCHED_DISPATCH_PICK_H

#include "sched/dispatch.h"

/* Below every class. */
#define DISPATCH_NOBODY (-1)

/* What a question is asked about. */
struct dispatch_view {
    const struct dispatch *dispatch;
    struct queue *queue;
    const struct dispatch_input *in;
};

/* True if @job fits the question; @step is what it is about, or NULL. */
typedef bool (*dispatch_fits_fn)(const struct dispatch_view *view, const struct job *job,
                                 const struct dispatch_step *step);

/* The highest class above @above of a job that fits, or @above. */
int dispatch_highest(const struct dispatch_view *view, int above, dispatch_fits_fn fits,
                     const struct dispatch_step *step);

/* ---- jobs: dispatch_fits_fn */

/* A new step could begin with it now: it has a sequence and rows, its place is open and has rested, its lane is free
 * for it. */
bool dispatch_begins(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step);

/* The same, past a step of its lane that stands still. */
bool dispatch_overtakes(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step);

/* It waits for its first token, is realtime, and could stand in a step now (of the lane of @step): no rows of lower
 * classes are put beside it. */
bool dispatch_is_first(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step);

/* It is of a lower class and counts as realtime by now. */
bool dispatch_has_aged(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step);

/* It is of a higher class than @step, which runs, and would run if that stood still. */
bool dispatch_preempts(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step);

/* It makes it wrong that @step waits behind the one that runs, or to let it. */
bool dispatch_displaces(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step);

/* It is of the lane of @step and can't begin because of the steps that stand still there, or before @step has ended. */
bool dispatch_is_blocked(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step);

/* It is being opened: its class holds lower ones back for the microseconds that this takes. */
bool dispatch_is_opening(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step);

/* It has a sequence and rows, stands in no step, and its place is open: it could be served, were there a step. */
bool dispatch_wants(const struct dispatch_view *view, const struct job *job);

/* A new step could begin with it now, or once its lane has opened who is being opened there. */
bool dispatch_is_in_line(const struct dispatch_view *view, const struct job *job);

/* ---- steps */

/* The one that runs, or runs on until its part ends; NULL: none. */
struct dispatch_step *dispatch_runner(const struct dispatch *dispatch);

/* The one that waits or is being withdrawn; NULL: none. */
struct dispatch_step *dispatch_waiter(const struct dispatch *dispatch);

/* A slot for one more step; NULL: none is free. */
struct dispatch_step *dispatch_slot(struct dispatch *dispatch);

/* The class that it counts as: its own, or a higher one that it keeps out of its lane. */
int dispatch_class_of(const struct dispatch_view *view, const struct dispatch_step *step);

/* The gate, a paused place or sleep make it stand still. */
bool dispatch_is_gated(const struct dispatch_view *view, const struct dispatch_step *step);

/* All its requests have ended. */
bool dispatch_is_pointless(const struct dispatch_step *step);

/* Others had so much since it stands still that it gets a slice. */
bool dispatch_is_starving(const struct dispatch_view *view, const struct dispatch_step *step);

/* Foretold time of it that is left, in us; below 0: it takes longer than foretold, by so much. */
int64_t dispatch_left_us(const struct dispatch_step *step, uint64_t now_us);

/* ---- places */

/* When @processor has rested enough, monotonic; 0: it owes nothing. */
uint64_t dispatch_rested_at_us(const struct dispatch *dispatch, enum processor processor);

bool dispatch_is_rested(const struct dispatch_view *view, enum processor processor);

/* Nothing bounds the place: steps run through, one may wait behind another. */
bool dispatch_is_free(const struct dispatch_view *view, enum processor processor);

/* How long an arrival waits for the end of a step, or the length of a gift. */
uint32_t dispatch_patience_us(const struct dispatch_view *view, enum processor processor);

/* ---- dispatch_told.c */

/* Asserts that the move is legal. */
void dispatch_move(struct dispatch_step *step, enum dispatch_state to);

#endif
