/*
 * Turn: who has the chip now
 *
 * One step runs at a time, over all engines. The turn knows the steps that are under way, decides what to
 * tell an engine next, and is told what came of it. It gives one order at a time; whoever drives it (the
 * pacer, the simulator) passes that on and asks again until there is none.
 *
 * - Alone on the place (duty 1000, no slice): a step runs through, and the lane's next step is sent before it
 * has ended, to wait behind it. A waiting step is withdrawn when something better turns up: a higher class,
 * another lane's turn, bounds, or when nobody in it needs it any more. - Bounded: a step runs for a slice,
 * and stands still. After a slice of t the place is left alone for t (1000 / duty - 1), whichever lane had
 * it. Nothing waits behind a step. - A higher class turns up: the waiting step is withdrawn, the running one
 * suspended unless it is about to end, and goes on when the higher class has nothing to run. On the same lane
 * only realtime does that, only to one step, since an engine holds two begun steps, and only until its first
 * token is there: what follows joins the steps of all, or a long answer would keep the rest of its lane
 * standing. Who is kept out by the steps of its own lane lends them its class. - A step that starves (others
 * had DISPATCH_STARVE_SLICES slices since it stands still) gets one slice between theirs, so that it ends. So
 * does a new step of a class that has aged. These gifts are not suspended for a higher class. - The class
 * gate and GOVERNOR_PAUSED suspend what runs within one part of its step, and let it stand still. Who has no
 * reason any more (all its requests have ended) may pass the gate: it costs one part and frees pages. - A
 * suspect's step shares its lane with no other begun or waiting step.
 *
 * The two places rest apart: a slice on one is paid to the other by the duty that both have in common (heat),
 * not by what bounds one alone (graphics).
 *
 * Pure: time is an argument. The same object code runs in sottod and under the simulator's virtual clock.
 */
#ifndef SOTTO_SCHED_DISPATCH_H
#define SOTTO_SCHED_DISPATCH_H

#include "sched/plan.h"

/* Steps under way at once, with those that stand still: two of each class, and the one that waits. */
#define DISPATCH_STEPS 8u

/* How long an arrival of a higher class waits for a running step to end by itself, at most. Below, a
 * suspension costs as much as it gains: a part must end all the same. With a shorter slice, that. */
#define DISPATCH_PATIENCE_US 5000u

/* A step that stands still for higher classes gets a slice for every so many of theirs. */
#define DISPATCH_STARVE_SLICES 3u

/* The same while a realtime request waits for its first token: that is promised within one slice and its
 * own work. */
#define DISPATCH_STARVE_FIRST 100u

enum dispatch_state {
    DISPATCH_FREE,        /* no step */
    DISPATCH_WAITING,     /* sent, behind the one that runs */
    DISPATCH_WITHDRAWING, /* asked back: has not begun, as far as is known */
    DISPATCH_RUNNING,
    DISPATCH_SUSPENDING, /* runs on until its part ends */
    DISPATCH_SUSPENDED,  /* begun; stands still */
    DISPATCH_ENDED,      /* ended: its slot is free from the next dispatch_next() on */
    DISPATCH_STATE_COUNT,
};

/* A sequence that was given back, and is kept by its engine until the steps that it stands in have ended. */
struct dispatch_leaver {
    uint64_t number; /* the same in each of them */
    uint32_t n_pages;
};

struct dispatch_step {
    enum dispatch_state state;
    struct engine_queue *eq;
    uint64_t id; /* rises; never used again */
    struct plan plan;
    enum priority priority; /* the highest in it that is still asked for, without ageing */
    uint32_t slice_us;      /* it was last told; 0: no bound */
    uint64_t sent_us;       /* of the Step */
    uint64_t from_us;       /* runs, or stands, since then */
    uint64_t awaited_us;    /* since when a higher class waits for its end; 0: none does */
    uint64_t held_us;       /* of its place, in the slices that are over */
    uint64_t stood_at_us;   /* dispatch::held_us when it stood still: what others had since tells when it starves */
    uint32_t n_leaving;     /* sequences given back while they stand in it: the engine keeps them until it ends */
    struct dispatch_leaver leaving[PLAN_ENTRIES]; /* those */
    bool is_boost;                                /* runs although a higher class waits: for one slice */
};

/* Time that a place is left alone: from @from_us on, so much as duty makes of what held it. */
struct dispatch_rest {
    uint64_t own_us;   /* held by a step of this place */
    uint64_t other_us; /* by one of the other place */
    uint64_t from_us;
};

/* How much of the time in which steps were told to run they had their place: less than all where they wait
 * for frames, or for words on their way. Sums that forget. */
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
    uint64_t last_leaving; /* number of the last sequence that was given back while it stood in steps */
    uint64_t held_us;      /* by all slices that are over */

    /* Since the beginning; who wants a rate takes differences. */
    uint64_t processor_held_us[PROCESSOR_COUNT];
    uint64_t ended_estimated_us; /* of steps that have ended, */
    uint64_t ended_held_us;      /* and what they held */
    uint64_t n_suspends;         /* for a higher class, gates and bounds: not the ends of slices */
    uint64_t n_withdraws;
    uint64_t n_pipelined;
};

struct dispatch_input {
    uint64_t now_us;  /* monotonic */
    uint64_t boot_us; /* boot clock: budgets and deadlines */
    struct governor_limits limits[PROCESSOR_COUNT];
    bool is_asleep; /* the system is about to sleep: nothing is begun, what runs stands still */
};

enum dispatch_what {
    DISPATCH_NONE,     /* nothing to tell anybody until something happens, or until wake_us or wake_boot_us */
    DISPATCH_STEP,     /* a new step: it runs at once, or waits behind the one that runs (state) */
    DISPATCH_CONTINUE, /* goes on */
    DISPATCH_SUSPEND,
    DISPATCH_WITHDRAW,
};

struct dispatch_order {
    enum dispatch_what what;
    struct dispatch_step *step; /* that it is about; NULL with DISPATCH_NONE. Plan and slice are in it */
    uint64_t wake_us;           /* DISPATCH_NONE: ask again then; monotonic. 0: no need */
    uint64_t wake_boot_us;      /* the same in the boot clock: a budget has room again. 0: no need */
};

void dispatch_init(struct dispatch *dispatch);

/*
 * What to tell an engine now. Counts the order as carried out: the jobs of a new step have their n_sent,
 * n_due and n_steps raised, and the step's state is what it will be when the order is obeyed. To be asked
 * whenever something has changed, and after each order, until DISPATCH_NONE. While a job of a lane is being
 * opened (JOB_OPENING) that lane begins nothing, and if it has the turn none does: the answer takes
 * microseconds, and who has just come is in the step at once.
 */
void dispatch_next(struct dispatch *dispatch, struct queue *queue, struct planner *planner,
                   const struct dispatch_input *in, struct dispatch_order *ret_order);

/*
 * @limits of both places as they work out: with the duty that is left of them when steps wait for frames. For
 * admission and plans, which foretell times on the wall; the bounds themselves stay what the governor says.
 */
void dispatch_real_limits(const struct dispatch *dispatch, const struct governor_limits *limits,
                          struct governor_limits *ret_limits);

/* The step @id of @eq that is under way, or NULL. */
struct dispatch_step *dispatch_find(struct dispatch *dispatch, const struct engine_queue *eq, uint64_t id);

/*
 * The step has ended: @held_us of the place since it was last told to run. Its jobs have n_sent, n_due and
 * n_steps lowered; what was computed and sampled is the caller's to count. NULL: no such step runs, the
 * engine talks nonsense. The step that comes back (DISPATCH_ENDED) stays readable until the next dispatch_next(): its
 * entries name the jobs (NULL: forgotten meanwhile) in the order of the answer's.
 */
struct dispatch_step *dispatch_on_done(struct dispatch *dispatch, const struct engine_queue *eq, uint64_t id,
                                       uint64_t held_us, uint64_t now_us);

/* It stands still: its slice was used up, or it was told to. False: no such step runs. */
bool dispatch_on_suspended(struct dispatch *dispatch, const struct engine_queue *eq, uint64_t id, uint64_t held_us,
                           uint64_t now_us);

/*
 * The answer to DISPATCH_WITHDRAW, or an engine that could not begin a step. @done: it has not begun and never
 * will; its jobs are as if it had not been sent. Else it had begun (or ended: its answer crossed the order).
 * False: nonsense.
 */
bool dispatch_on_withdrawn(struct dispatch *dispatch, const struct engine_queue *eq, uint64_t id, bool done,
                           uint64_t now_us);

/* The engine of @eq is gone with all its steps. Whom to blame is read from steps[] before that. What ran
 * has held its place until now, or for its slice. */
void dispatch_on_lost(struct dispatch *dispatch, const struct engine_queue *eq, uint64_t now_us);

/*
 * The job to be put aside, or NULL; to be asked again until then. It stands in a step behind the gate: beside another
 * begun step of its lane, since an engine holds two of those, and a realtime request waits there for its first token;
 * or with the earlier turn of a session whose next turn the gate lets through (job::behind). Once nobody of it is left
 * that step ends within a part.
 */
struct job *dispatch_find_victim(const struct dispatch *dispatch, struct queue *queue, const struct dispatch_input *in);

/* Takes @job out of all steps, whatever they will say of it: its entries have no job (NULL) from now on.
 * Before job_forget() or queue_preempt(); not needed for one that has ended and stays until its n_steps
 * is 0. */
void dispatch_forget(struct dispatch *dispatch, const struct job *job);

/* The sequence of @job is given back: tells the steps that it stands in. Their engine keeps it until they end
 * (engine_queue::n_leaving and n_pages_leaving). */
void dispatch_leave(struct dispatch *dispatch, const struct job *job);

/* True if a step of @eq is under way, in any state; if one of a suspect is. */
bool dispatch_is_busy(const struct dispatch *dispatch, const struct engine_queue *eq);
bool dispatch_is_alone(const struct dispatch *dispatch, const struct engine_queue *eq);

/* What @eq's engine is awaited for, in ns of foretold time: what runs and what waits behind it. Below 0:
 * nothing, its steps stand still. */
double dispatch_awaited_ns(const struct dispatch *dispatch, const struct engine_queue *eq);

bool dispatch_may_move(enum dispatch_state from, enum dispatch_state to);

#endif
