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
 * had TURN_STARVE_SLICES slices since it stands still) gets one slice between theirs, so that it ends. So
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
#ifndef SOTTO_SCHED_TURN_H
#define SOTTO_SCHED_TURN_H

#include "sched/plan.h"

/* Steps under way at once, with those that stand still: two of each class, and the one that waits. */
#define TURN_STEPS 8u

/* How long an arrival of a higher class waits for a running step to end by itself, at most. Below, a
 * suspension costs as much as it gains: a part must end all the same. With a shorter slice, that. */
#define TURN_PATIENCE_US 5000u

/* A step that stands still for higher classes gets a slice for every so many of theirs. */
#define TURN_STARVE_SLICES 3u

/* The same while a realtime request waits for its first token: that is promised within one slice and its
 * own work. */
#define TURN_STARVE_FIRST 100u

enum turn_state {
    TURN_FREE,        /* no step */
    TURN_WAITING,     /* sent, behind the one that runs */
    TURN_WITHDRAWING, /* asked back: has not begun, as far as is known */
    TURN_RUNNING,
    TURN_SUSPENDING, /* runs on until its part ends */
    TURN_STANDING,   /* begun; stands still */
    TURN_OVER,       /* ended: its slot is free from the next turn_next() on */
    TURN_STATE_COUNT,
};

/* A sequence that was given back, and is kept by its engine until the steps that it stands in have ended. */
struct turn_leaver {
    uint64_t number; /* the same in each of them */
    uint32_t n_pages;
};

struct turn_step {
    enum turn_state state;
    struct lane *lane;
    uint64_t id; /* rises; never used again */
    struct plan plan;
    enum sched_class class; /* the highest in it that is still asked for, without ageing */
    uint32_t slice_us;      /* it was last told; 0: no bound */
    uint64_t sent_us;       /* of the Step */
    uint64_t from_us;       /* runs, or stands, since then */
    uint64_t awaited_us;    /* since when a higher class waits for its end; 0: none does */
    uint64_t held_us;       /* of its place, in the slices that are over */
    uint64_t stood_at_us;   /* turn::held_us when it stood still: what others had since tells when it starves */
    uint32_t n_leaving;     /* sequences given back while they stand in it: the engine keeps them until it ends */
    struct turn_leaver leaving[PLAN_ENTRIES]; /* those */
    bool is_gift;                             /* runs although a higher class waits: for one slice */
};

/* Time that a place is left alone: from @from_us on, so much as duty makes of what held it. */
struct turn_rest {
    uint64_t own_us;   /* held by a step of this place */
    uint64_t other_us; /* by one of the other place */
    uint64_t from_us;
};

/* How much of the time in which steps were told to run they had their place: less than all where they wait
 * for frames, or for words on their way. Sums that forget. */
struct turn_pace {
    double held_us;
    double ran_us;
};

struct turn {
    struct turn_step steps[TURN_STEPS];
    struct turn_rest rests[GOVERNOR_PLACE_COUNT];
    struct turn_pace paces[GOVERNOR_PLACE_COUNT];
    struct governor_limits limits[GOVERNOR_PLACE_COUNT]; /* of the last turn_next() */
    uint64_t last_id;
    uint64_t last_leaving; /* number of the last sequence that was given back while it stood in steps */
    uint64_t held_us;      /* by all slices that are over */

    /* Since the beginning; who wants a rate takes differences. */
    uint64_t place_held_us[GOVERNOR_PLACE_COUNT];
    uint64_t ended_foretold_us; /* of steps that have ended, */
    uint64_t ended_held_us;     /* and what they held */
    uint64_t n_suspends;        /* for a higher class, gates and bounds: not the ends of slices */
    uint64_t n_withdraws;
    uint64_t n_pipelined;
};

struct turn_input {
    uint64_t now_us;  /* monotonic */
    uint64_t boot_us; /* boot clock: budgets and deadlines */
    struct governor_limits limits[GOVERNOR_PLACE_COUNT];
    bool is_asleep; /* the system is about to sleep: nothing is begun, what runs stands still */
};

enum turn_what {
    TURN_NONE,     /* nothing to tell anybody until something happens, or until wake_us or wake_boot_us */
    TURN_STEP,     /* a new step: it runs at once, or waits behind the one that runs (state) */
    TURN_CONTINUE, /* goes on */
    TURN_SUSPEND,
    TURN_WITHDRAW,
};

struct turn_order {
    enum turn_what what;
    struct turn_step *step; /* that it is about; NULL with TURN_NONE. Plan and slice are in it */
    uint64_t wake_us;       /* TURN_NONE: ask again then; monotonic. 0: no need */
    uint64_t wake_boot_us;  /* the same in the boot clock: a budget has room again. 0: no need */
};

void turn_init(struct turn *turn);

/*
 * What to tell an engine now. Counts the order as carried out: the jobs of a new step have their n_sent,
 * n_due and n_steps raised, and the step's state is what it will be when the order is obeyed. To be asked
 * whenever something has changed, and after each order, until TURN_NONE. While a job of a lane is being
 * opened (JOB_OPENING) that lane begins nothing, and if it has the turn none does: the answer takes
 * microseconds, and who has just come is in the step at once.
 */
void turn_next(struct turn *turn, struct queue *queue, struct planner *planner, const struct turn_input *in,
               struct turn_order *ret_order);

/*
 * @limits of both places as they work out: with the duty that is left of them when steps wait for frames. For
 * admission and plans, which foretell times on the wall; the bounds themselves stay what the governor says.
 */
void turn_real_limits(const struct turn *turn, const struct governor_limits *limits,
                      struct governor_limits *ret_limits);

/* The step @id of @lane that is under way, or NULL. */
struct turn_step *turn_find(struct turn *turn, const struct lane *lane, uint64_t id);

/*
 * The step has ended: @held_us of the place since it was last told to run. Its jobs have n_sent, n_due and
 * n_steps lowered; what was computed and sampled is the caller's to count. NULL: no such step runs, the
 * engine talks nonsense. The step that comes back (TURN_OVER) stays readable until the next turn_next(): its
 * entries name the jobs (NULL: forgotten meanwhile) in the order of the answer's.
 */
struct turn_step *turn_on_done(struct turn *turn, const struct lane *lane, uint64_t id, uint64_t held_us,
                               uint64_t now_us);

/* It stands still: its slice was used up, or it was told to. False: no such step runs. */
bool turn_on_suspended(struct turn *turn, const struct lane *lane, uint64_t id, uint64_t held_us, uint64_t now_us);

/*
 * The answer to TURN_WITHDRAW, or an engine that could not begin a step. @done: it has not begun and never
 * will; its jobs are as if it had not been sent. Else it had begun (or ended: its answer crossed the order).
 * False: nonsense.
 */
bool turn_on_withdrawn(struct turn *turn, const struct lane *lane, uint64_t id, bool done, uint64_t now_us);

/* The engine of @lane is gone with all its steps. Whom to blame is read from steps[] before that. What ran
 * has held its place until now, or for its slice. */
void turn_on_lost(struct turn *turn, const struct lane *lane, uint64_t now_us);

/*
 * The job to be put aside, or NULL; to be asked again until then. It stands in a step behind the gate: beside another
 * begun step of its lane, since an engine holds two of those, and a realtime request waits there for its first token;
 * or with the earlier turn of a session whose next turn the gate lets through (job::behind). Once nobody of it is left
 * that step ends within a part.
 */
struct job *turn_find_victim(const struct turn *turn, struct queue *queue, const struct turn_input *in);

/* Takes @job out of all steps, whatever they will say of it: its entries have no job (NULL) from now on.
 * Before job_forget() or queue_put_aside(); not needed for one that has ended and stays until its n_steps
 * is 0. */
void turn_forget(struct turn *turn, const struct job *job);

/* The sequence of @job is given back: tells the steps that it stands in. Their engine keeps it until they end
 * (lane::n_leaving and n_pages_leaving). */
void turn_leave(struct turn *turn, const struct job *job);

/* True if a step of @lane is under way, in any state; if one of a suspect is. */
bool turn_is_busy(const struct turn *turn, const struct lane *lane);
bool turn_is_alone(const struct turn *turn, const struct lane *lane);

/* What @lane's engine is awaited for, in ns of foretold time: what runs and what waits behind it. Below 0:
 * nothing, its steps stand still. */
double turn_awaited_ns(const struct turn *turn, const struct lane *lane);

bool turn_may_move(enum turn_state from, enum turn_state to);

#endif
