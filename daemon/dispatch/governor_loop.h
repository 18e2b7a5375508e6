/*
 * Governor loop: drives the governor
 *
 * A tick gathers what is known (readings of sotto-sense, compositors' hints, the time that steps have held their
 * processors, sleep) and asks the governor. It ticks with each reading, so every GOVERNOR_LOOP_TICK_MS, while there is
 * work, or a hint holds, and three seconds longer; whenever the kernel reports something; and never else: an idle
 * daemon has no timer. What changes is reported (governor_report.h), and engines are told how many pages they may use.
 *
 * The loop's thread.
 */
#ifndef SOTTO_DISPATCH_GOVERNOR_LOOP_H
#define SOTTO_DISPATCH_GOVERNOR_LOOP_H

#include "dispatch/metering.h"
#include "machine/compositor.h"

#define GOVERNOR_LOOP_TICK_MS 50u

struct governor_loop {
    struct governor governor;
    struct metering metering;
    struct streams *streams;
    struct events *events;
    struct machine_watch *watch; /* borrowed; set before governor_loop_start() */

    uv_timer_t timer;
    bool ticks;
    bool is_asleep;    /* from PrepareForSleep on, until the machine is awake and has been looked at */
    uint64_t calm_us;  /* since when it ticks only to see what the work did; 0: it does not */
    uint64_t awake_us; /* when it woke; 0: the machine has been looked at since */
    uint64_t ticked_us;

    /* Time that slices have held each processor, ever, and how much of it the governor has been told. */
    uint64_t held_us[PROCESSOR_COUNT];
    uint64_t reported_us[PROCESSOR_COUNT];
    uint64_t n_slices[PROCESSOR_COUNT];

    struct list compositors; /* compositor::link: those that have hinted, and are connected */
    uint32_t n_missed;       /* frames, of all of them, since the last tick */
};

void governor_loop_init(struct governor_loop *loop, struct streams *streams, const struct governor_policy *policy,
                        const struct energy_stated *stated);

/* Puts the timer into the loop. */
void governor_loop_start(struct governor_loop *loop);
void governor_loop_close(struct governor_loop *loop, uv_close_cb closed, void *data);

/* Puts another policy and statement in force from the next tick on. */
void governor_loop_configure(struct governor_loop *loop, const struct governor_policy *policy,
                             const struct energy_stated *stated);

/* Begins to tick when there is work, and ends it. Once a tick of the loop, before anything is planned. */
void governor_loop_run(struct governor_loop *loop);

/* Takes note that sotto-sense has reported something. @early: a tick before its time is worth it. */
void governor_loop_on_sample(struct governor_loop *loop, bool early);

/* Takes note that a slice of @step has ended: it held its processor for @held_us, and waited @waited_us for others to
 * leave it. @done: the step has ended with it, and its jobs are still in it. */
void governor_loop_slice_ended(struct governor_loop *loop, const struct dispatch_step *step, uint64_t held_us,
                               uint64_t waited_us, bool done);

/* Returns the time that slices have held @processor, ever, with those that run at @now_us. */
uint64_t governor_loop_held_us(const struct governor_loop *loop, enum processor processor, uint64_t now_us);

/* Takes a compositor's hint. @compositor is the connection's, and stays where it is until governor_loop_hint_ends(). */
void governor_loop_hint(struct governor_loop *loop, struct compositor *compositor, const Sotto__V1__GraphicsHint *hint);

/* Forgets the hints of @compositor as its connection ends; also if it never gave one. */
void governor_loop_hint_ends(struct governor_loop *loop, struct compositor *compositor);

/* Nothing is begun any more; what runs stands still at the end of its part. */
void governor_loop_sleep(struct governor_loop *loop);

/* The machine is awake: work goes on when it has been read again, or after two seconds. */
void governor_loop_wake(struct governor_loop *loop);

#endif
