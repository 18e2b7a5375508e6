/*
 * Dispatcher: from the scheduler's decisions to the engines, and back to the streams
 *
 * It assigns slots to streams (Open), asks sched what to tell an engine next (Step, Continue, Suspend, Withdraw), tells
 * it, and hands out what comes back. Every decision is made in sched/; here is only what passes it on.
 *
 * dispatcher_open.c: sequences. dispatcher_step.c: steps. dispatcher_lost.c: the end of an engine. The loop's thread.
 */
#ifndef SOTTO_DISPATCH_DISPATCHER_H
#define SOTTO_DISPATCH_DISPATCHER_H

#include "dispatch/governor_loop.h"
#include "loop/alarm.h"
#include "session/session.h"

struct dispatcher {
    struct streams *streams;
    struct sessions *sessions;
    struct governor_loop *governor_loop;
    struct planner planner;
    struct alarm alarm; /* a processor has rested, a budget has room again, a deadline passes */
};

/* Borrows its arguments. 0 or a fault: no descriptor is left for the alarm. */
int dispatcher_init(struct dispatcher *dispatcher, struct streams *streams, struct sessions *sessions,
                    struct governor_loop *governor_loop);

/* Undoes dispatcher_init(); not after dispatcher_start(). Does nothing if dispatcher_init() failed. */
void dispatcher_drop(struct dispatcher *dispatcher);

/* Puts the alarm into the loop; from here on it is closed by dispatcher_close(). */
void dispatcher_start(struct dispatcher *dispatcher);
void dispatcher_close(struct dispatcher *dispatcher, void (*closed)(void *owner), void *owner);

/* Ends what is too late, and tells engines what can be told now. Once a tick. */
void dispatcher_run(struct dispatcher *dispatcher);

/* Takes an engine's answer: Opened, Refused, StepDone, Suspended, Withdrawn, … An answer that contradicts what was
 * asked kills the engine. */
void dispatcher_on_answer(struct dispatcher *dispatcher, struct instance *instance,
                          const Sotto__Engine__FromEngine *answer);

/*
 * Takes note that the engine is gone: lays blame, fails the guilty request, takes the sequences of the others away.
 * Returns the crashes of the last minute that no request is to blame for.
 */
uint32_t dispatcher_on_lost(struct dispatcher *dispatcher, struct instance *instance, const struct engine_end *end);

/* Returns whether nothing runs: all steps have ended, or stand still. */
bool dispatcher_is_still(const struct dispatcher *dispatcher);

#endif
