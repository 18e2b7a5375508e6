/*
 * Turn pick: what the turn asks before it decides
 *
 * Who wants a step, who may begin one, which step must make way for whom, and how long a place rests. For the turn's
 * own files: turn.c decides, turn_pick.c answers these questions and changes nothing, turn_told.c moves steps on. Pure.
 */
#ifndef SOTTO_SCHED_TURN_PICK_H
#define SOTTO_SCHED_TURN_PICK_H

#include "sched/turn.h"

/* Below every class. */
#define TURN_NOBODY (-1)

/* What a question is asked about. */
struct turn_view {
    const struct turn *turn;
    struct queue *queue;
    const struct turn_input *in;
};

/* True if @job fits the question; @step is what it is about, or NULL. */
typedef bool (*turn_fits_fn)(const struct turn_view *view, const struct job *job, const struct turn_step *step);

/* The highest class above @above of a job that fits, or @above. */
int turn_highest(const struct turn_view *view, int above, turn_fits_fn fits, const struct turn_step *step);

/* ---- jobs: turn_fits_fn */

/* A new step could begin with it now: it has a sequence and rows, its place is open and has rested, its lane is free
 * for it. */
bool turn_begins(const struct turn_view *view, const struct job *job, const struct turn_step *step);

/* The same, past a step of its lane that stands still. */
bool turn_overtakes(const struct turn_view *view, const struct job *job, const struct turn_step *step);

/* It waits for its first token, is realtime, and could stand in a step now (of the lane of @step): no rows of lower
 * classes are put beside it. */
bool turn_is_first(const struct turn_view *view, const struct job *job, const struct turn_step *step);

/* It is of a lower class and counts as realtime by now. */
bool turn_has_aged(const struct turn_view *view, const struct job *job, const struct turn_step *step);

/* It is of a higher class than @step, which runs, and would run if that stood still. */
bool turn_preempts(const struct turn_view *view, const struct job *job, const struct turn_step *step);

/* It makes it wrong that @step waits behind the one that runs, or to let it. */
bool turn_displaces(const struct turn_view *view, const struct job *job, const struct turn_step *step);

/* It is of the lane of @step and can't begin because of the steps that stand still there, or before @step has ended. */
bool turn_is_blocked(const struct turn_view *view, const struct job *job, const struct turn_step *step);

/* It is being opened: its class holds lower ones back for the microseconds that this takes. */
bool turn_is_opening(const struct turn_view *view, const struct job *job, const struct turn_step *step);

/* It has a sequence and rows, stands in no step, and its place is open: it could be served, were there a step. */
bool turn_wants(const struct turn_view *view, const struct job *job);

/* A new step could begin with it now, or once its lane has opened who is being opened there. */
bool turn_is_in_line(const struct turn_view *view, const struct job *job);

/* ---- steps */

/* The one that runs, or runs on until its part ends; NULL: none. */
struct turn_step *turn_runner(const struct turn *turn);

/* The one that waits or is being withdrawn; NULL: none. */
struct turn_step *turn_waiter(const struct turn *turn);

/* A slot for one more step; NULL: none is free. */
struct turn_step *turn_slot(struct turn *turn);

/* The class that it counts as: its own, or a higher one that it keeps out of its lane. */
int turn_class_of(const struct turn_view *view, const struct turn_step *step);

/* The gate, a paused place or sleep make it stand still. */
bool turn_is_gated(const struct turn_view *view, const struct turn_step *step);

/* All its requests have ended. */
bool turn_is_pointless(const struct turn_step *step);

/* Others had so much since it stands still that it gets a slice. */
bool turn_is_starving(const struct turn_view *view, const struct turn_step *step);

/* Foretold time of it that is left, in us; below 0: it takes longer than foretold, by so much. */
int64_t turn_left_us(const struct turn_step *step, uint64_t now_us);

/* ---- places */

/* When @place has rested enough, monotonic; 0: it owes nothing. */
uint64_t turn_rested_at_us(const struct turn *turn, enum governor_place place);

bool turn_is_rested(const struct turn_view *view, enum governor_place place);

/* Nothing bounds the place: steps run through, one may wait behind another. */
bool turn_is_free(const struct turn_view *view, enum governor_place place);

/* How long an arrival waits for the end of a step, or the length of a gift. */
uint32_t turn_patience_us(const struct turn_view *view, enum governor_place place);

/* ---- turn_told.c */

/* Asserts that the move is legal. */
void turn_move(struct turn_step *step, enum turn_state to);

#endif
