/*
 * Dispatch pick: the questions behind a decision
 *
 * Which jobs want a step, which may begin one, which step makes way for which job, and how long a processor rests. For
 * the files of the dispatch only: dispatch.c decides, dispatch_pick.c answers these questions and changes nothing,
 * dispatch_events.c moves steps on. Pure.
 */
#ifndef SOTTO_SCHED_DISPATCH_PICK_H
#define SOTTO_SCHED_DISPATCH_PICK_H

#include "sched/dispatch.h"

/* Below every class. */
#define DISPATCH_NO_PRIORITY (-1)

/* The state that a question refers to. */
struct dispatch_view {
    const struct dispatch *dispatch;
    struct queue *queue;
    const struct dispatch_input *in;
};

/* True if @job fits the question, which is about @step or, if NULL, about any. */
typedef bool (*dispatch_fits_fn)(const struct dispatch_view *view, const struct job *job,
                                 const struct dispatch_step *step);

/* Returns the highest class above @above of a job that fits, or @above. */
int dispatch_highest(const struct dispatch_view *view, int above, dispatch_fits_fn fits,
                     const struct dispatch_step *step);

/* ---- jobs: dispatch_fits_fn */

/* True if a new step could begin with @job now: it has a sequence and rows, its processor is open and rested, and
 * its engine admits it. */
bool dispatch_begins(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step);

/* True if dispatch_begins(), and a step of its engine is suspended. */
bool dispatch_overtakes(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step);

/* True if @job is realtime, waits for its first token, and could be in a step now (of the engine of @step): no rows
 * of lower classes are put beside it. */
bool dispatch_is_first(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step);

/* True if @job is of a lower class and counts as realtime by age. */
bool dispatch_has_aged(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step);

/* True if @job is of a higher class than the running @step, and would run if that were suspended. */
bool dispatch_preempts(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step);

/* True if @job makes it wrong that @step waits behind the running step. */
bool dispatch_displaces(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step);

/* True if the sequence of @job is being opened: its class holds back lower ones for the microseconds that this
 * takes. */
bool dispatch_is_opening(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step);

/* True if @job has a sequence and rows, is in no step, and its processor is open: it needs only a step. */
bool dispatch_wants(const struct dispatch_view *view, const struct job *job);

/* True if a new step could begin with @job now, or as soon as its engine has opened a sequence. */
bool dispatch_is_in_line(const struct dispatch_view *view, const struct job *job);

/* ---- steps */

/* Returns the running step, including one that is being suspended; NULL: none. */
struct dispatch_step *dispatch_runner(const struct dispatch *dispatch);

/* Returns the step that waits or is being withdrawn; NULL: none. */
struct dispatch_step *dispatch_waiter(const struct dispatch *dispatch);

/* Returns an unused step; NULL: there is none. */
struct dispatch_step *dispatch_free_step(struct dispatch *dispatch);

/* Returns the class that @step counts as: its own, or a higher one that it keeps out of its engine. */
int dispatch_priority_of(const struct dispatch_view *view, const struct dispatch_step *step);

/* True if the gate, a paused processor or sleep suspends @step. */
bool dispatch_is_gated(const struct dispatch_view *view, const struct dispatch_step *step);

/* True if all its requests have ended. */
bool dispatch_is_pointless(const struct dispatch_step *step);

/* True if others had so much time since its suspension that it gets a slice. */
bool dispatch_is_starving(const struct dispatch_view *view, const struct dispatch_step *step);

/* ---- processors */

/* Returns when @processor has rested enough, monotonic; 0: it owes no rest. */
uint64_t dispatch_rested_at_us(const struct dispatch *dispatch, enum processor processor);

bool dispatch_is_rested(const struct dispatch_view *view, enum processor processor);

/* Returns the length of a boost. */
uint32_t dispatch_boost_us(const struct dispatch_view *view, enum processor processor);

/* ---- dispatch_events.c */

/* Moves @step to @to; asserts that the move is legal. */
void dispatch_move(struct dispatch_step *step, enum dispatch_state to);

#endif
