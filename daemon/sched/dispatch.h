/*
 * Dispatch: which step has the processor now
 *
 * One step runs at a time, over all engines. The dispatch knows the steps in progress, decides what to tell an engine
 * next, and is told the result. It gives one order at a time; the caller (the dispatcher, the simulator) passes it on
 * and asks again until there is none. The rules are:
 *
 * - Unbounded (duty 1000, no slice): a step runs through. The next step of its engine is sent before it has ended, and
 *   waits behind it. A waiting step is withdrawn when something better turns up: a higher class, the turn of another
 *   engine, a bound, or the end of all its requests.
 * - Bounded: a step runs for one slice, and is suspended. After a slice of t the processor rests for t (1000 / duty -
 *   1), whichever engine had it. No step waits behind another.
 * - Preemption: for a higher class the waiting step is withdrawn, and the running one suspended. It goes on when the
 *   higher class has nothing to run.
 * - Preemption at the same engine: only a realtime job does that, only to one step, since an engine holds two begun
 *   steps, and only until its first token. Afterwards it joins the steps of all others, or a long answer would suspend
 *   the rest of its engine.
 * - Inheritance: a job that waits only because its own engine's begun steps are in the way raises those steps to its
 *   class.
 * - Boosts: a starving step (others had DISPATCH_STARVE_SLICES slices since it was suspended) gets one slice between
 *   theirs, so that it ends. So does a new step of a class that has aged. A boosted step is not suspended for a higher
 *   class.
 * - The class gate and GOVERNOR_PAUSED suspend what runs within one part of its step. A step with requests that have
 *   all ended may pass the gate: it costs one part and frees pages.
 * - The step of a suspect shares its engine with no other begun or waiting step.
 *
 * The processors rest separately: for a slice on one, the other rests only by the duty that both have in common (heat),
 * not by a bound of the first alone (graphics).
 *
 * Pure: time is an argument. The same object code runs in sottod and under the simulator's virtual clock.
 */
#ifndef SOTTO_SCHED_DISPATCH_H
#define SOTTO_SCHED_DISPATCH_H

#include "sched/plan.h"

/* Steps in progress, including suspended ones: two begun ones of each of the three classes, one that waits at an
 * engine, and one that has just ended (DISPATCH_ENDED). */
#define DISPATCH_STEPS 8u

/* The length of a boost where no shorter slice is set. */
#define DISPATCH_BOOST_US 5000u

/* A step that is suspended for higher classes gets a slice for this many of theirs. */
#define DISPATCH_STARVE_SLICES 3u

/* DISPATCH_STARVE_SLICES while a realtime request waits for its first token, which is promised within a slice and its
 * own work. */
#define DISPATCH_STARVE_FIRST 100u

enum dispatch_state {
    DISPATCH_FREE,        /* no step */
    DISPATCH_WAITING,     /* sent, behind the one that runs */
    DISPATCH_WITHDRAWING, /* withdrawn: has not begun, as far as is known */
    DISPATCH_RUNNING,
    DISPATCH_SUSPENDING, /* runs on until its part ends */
    DISPATCH_SUSPENDED,  /* begun, but does not run */
    DISPATCH_ENDED,      /* free again from the next dispatch_next() on */
    DISPATCH_STATE_COUNT,
};

/* A sequence that was closed while it was in steps. Its engine holds it until they have ended. */
struct dispatch_leaver {
    uint64_t number; /* the same in each of its steps */
    uint32_t n_pages;
};

struct dispatch_step {
    enum dispatch_state state;
    struct engine_queue *eq;
    uint64_t id; /* rises, is never used again */
    struct plan plan;
    enum priority priority; /* the highest of its live requests, without ageing */
    uint32_t slice_us;      /* sent with the last order to run; 0: no bound */
    uint64_t sent_us;       /* when it was sent */
    uint64_t from_us;       /* when it began to run, or was suspended */
    uint64_t held_us;       /* processor time of its finished slices */
    /* The value of dispatch::held_us at its suspension. The time of others since then tells whether it starves. */
    uint64_t suspended_at_us;
    uint32_t n_leaving; /* sequences closed while in it, held until it ends */
    struct dispatch_leaver leaving[PLAN_ENTRIES];
    bool is_boost; /* runs for one slice although a higher class waits */
};

/* Rest that a processor owes, from @from_us on: the duty's share of what held it. */
struct dispatch_rest {
    uint64_t own_us;   /* held by a step of this processor */
    uint64_t other_us; /* held by one of the other */
    uint64_t from_us;
};

/* Part of the time in which steps were told to run that they really held the processor: less than all if they wait
 * for frames or messages. The sums decay. */
struct dispatch_pace {
    double held_us;
    double ran_us;
};

struct dispatch {
    struct dispatch_step steps[DISPATCH_STEPS];
    struct dispatch_rest rests[PROCESSOR_COUNT];
    struct dispatch_pace paces[PROCESSOR_COUNT];
    struct governor_limits limits[PROCESSOR_COUNT]; /* of the last dispatch_next() */
    uint64_t last_id;
    uint64_t last_leaving; /* number of the last closed sequence that was in steps */
    uint64_t held_us;      /* by all finished slices */

    /* Counters since the start; rates are differences of these. */
    uint64_t processor_held_us[PROCESSOR_COUNT];
    uint64_t ended_estimated_us; /* of ended steps: estimate */
    uint64_t ended_held_us;      /* of ended steps: time held */
    uint64_t n_suspends;         /* by higher classes, gates and bounds; ends of slices don't count */
    uint64_t n_withdraws;
    uint64_t n_pipelined;
};

struct dispatch_input {
    uint64_t now_us;  /* monotonic */
    uint64_t boot_us; /* boot clock: budgets and deadlines */
    struct governor_limits limits[PROCESSOR_COUNT];
    bool is_asleep; /* the system is about to sleep: no step begins, running ones are suspended */
};

enum dispatch_what {
    DISPATCH_NONE,     /* no order until something happens, or until wake_us or wake_boot_us */
    DISPATCH_STEP,     /* a new step, which runs at once or waits behind the running one (see its state) */
    DISPATCH_CONTINUE, /* goes on */
    DISPATCH_SUSPEND,
    DISPATCH_WITHDRAW,
};

struct dispatch_order {
    enum dispatch_what what;
    struct dispatch_step *step; /* the step in question with its plan and slice; NULL: DISPATCH_NONE */
    uint64_t wake_us;           /* DISPATCH_NONE: call again then, monotonic; 0: no need */
    uint64_t wake_boot_us;      /* the same in the boot clock, for a budget; 0: no need */
};

void dispatch_init(struct dispatch *dispatch);

/*
 * Decides what to tell an engine now, and counts the order as obeyed: the jobs of a new step have their n_sent, n_due
 * and n_steps raised, and the step has its new state. It is called whenever something has changed, and after each
 * order, until DISPATCH_NONE. While an engine opens a sequence (JOB_OPENING) it begins no step, and if that engine
 * comes next no other one does: the answer takes microseconds, and the new job is then in the step at once.
 */
void dispatch_next(struct dispatch *dispatch, struct queue *queue, struct planner *planner,
                   const struct dispatch_input *in, struct dispatch_order *ret_order);

/*
 * Writes to @ret_limits the @limits of all processors with the duty that steps really achieve: less than allowed where
 * they wait for frames. Admission and plans use these, as they estimate time on the clock; the bounds themselves stay
 * as the governor sets them.
 */
void dispatch_effective_limits(const struct dispatch *dispatch, const struct governor_limits *limits,
                               struct governor_limits *ret_limits);

/* Returns the step @id of @eq that is in progress, or NULL. */
struct dispatch_step *dispatch_find(struct dispatch *dispatch, const struct engine_queue *eq, uint64_t id);

/*
 * Records that the step has ended: it held the processor for @held_us since it was last told to run. The counters
 * n_sent, n_due and n_steps of its jobs are lowered; the caller counts what was computed and sampled. Returns NULL if
 * no such step runs (an engine's error). The returned step (DISPATCH_ENDED) stays readable until the next
 * dispatch_next(). Its entries name the jobs in the order of the engine's result; NULL: forgotten meanwhile.
 */
struct dispatch_step *dispatch_on_done(struct dispatch *dispatch, const struct engine_queue *eq, uint64_t id,
                                       uint64_t held_us, uint64_t now_us);

/* Records that the step is suspended, because its slice was used up or by order. Returns false if no such step runs. */
bool dispatch_on_suspended(struct dispatch *dispatch, const struct engine_queue *eq, uint64_t id, uint64_t held_us,
                           uint64_t now_us);

/*
 * Records the answer to DISPATCH_WITHDRAW, or that an engine could not begin a step. With @done the step has not begun
 * and never will; its jobs are as if it had not been sent. Otherwise it had begun, or ended while the order was on its
 * way. Returns false if that can't be.
 */
bool dispatch_on_withdrawn(struct dispatch *dispatch, const struct engine_queue *eq, uint64_t id, bool done,
                           uint64_t now_us);

/* Records that the engine of @eq is lost with all its steps. The requests to blame are read from steps[] before. A
 * running step has held the processor until now, or for its slice. */
void dispatch_on_lost(struct dispatch *dispatch, const struct engine_queue *eq, uint64_t now_us);

/*
 * Returns the job to be preempted, or NULL; to be called again until then. Its step is suspended by the gate and is in
 * the way of others: a realtime request waits for its first token, but an engine holds only two begun steps; or an
 * earlier turn of a session is in it, and the next turn may pass the gate (job::behind). Without live requests such a
 * step ends within a part.
 */
struct job *dispatch_find_victim(const struct dispatch *dispatch, struct queue *queue, const struct dispatch_input *in);

/* Removes @job from all steps: its entries have no job (NULL) from now on, whatever the results say. To be called
 * before job_forget() or queue_preempt(); not needed for a job that has ended and stays until its n_steps is 0. */
void dispatch_forget(struct dispatch *dispatch, const struct job *job);

/* Records that the sequence of @job is closed while it is in steps. Its engine holds it until they end
 * (engine_queue::n_leaving and n_pages_leaving). */
void dispatch_leave(struct dispatch *dispatch, const struct job *job);

/* True if a step of @eq is in progress, in any state; dispatch_is_alone(): if a suspect's is. */
bool dispatch_is_busy(const struct dispatch *dispatch, const struct engine_queue *eq);
bool dispatch_is_alone(const struct dispatch *dispatch, const struct engine_queue *eq);

/* Returns the estimated time, in ns, of what @eq runs and what waits behind it; below 0: nothing runs. */
double dispatch_awaited_ns(const struct dispatch *dispatch, const struct engine_queue *eq);

bool dispatch_may_move(enum dispatch_state from, enum dispatch_state to);

#endif
