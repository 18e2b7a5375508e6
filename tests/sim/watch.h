/*
 * Watch: looks on, and counts what breaks an invariant
 *
 * It sees both sides: the plant as it is (real temperature, frames with and without us, who has the device)
 * and what sotto decided (limits, steps, answers). It changes nothing. watch.c follows the device,
 * watch_heat.c the temperature, watch_serve.c the requests.
 */
#ifndef SOTTO_SIM_WATCH_H
#define SOTTO_SIM_WATCH_H

#include "desk.h"

#define WATCH_LIMITS   64u
#define WATCH_ACCOUNTS 32u
#define WATCH_MODES    20u /* changes in ten seconds at most: one each half second */
#define WATCH_SECONDS  11u /* a window of ten, and its beginning */

struct watch_limits {
    uint64_t at_ns;
    struct governor_limits limits;
};

/* Misses are counted between two moments. */
struct watch_window {
    enum invariant judges; /* FRAMES, STEP or HINT; INVARIANT_COUNT: nobody */
    uint64_t to_ns;        /* STEP and HINT */
    uint64_t n_allowed;
    uint64_t n_ours; /* at its beginning */
    uint64_t n_theirs;
    uint64_t from_ns;
};

#define WATCH_SETTLED 512u /* seconds of which the temperature is kept: more than any family has */

#define WATCH_WARMING 10u /* seconds */

/* Duty while others warm the chip, second by second. */
struct watch_curve {
    double sum;                  /* of the present second's ticks */
    double before;               /* mean of the last one */
    double alone[WATCH_WARMING]; /* degrees of the chip without us at the ends of the last ones: a ring */
    uint64_t n;                  /* whole seconds */
};

/* Tokens that one account was served, at each of the last seconds. */
struct watch_account {
    uint32_t uid; /* 0: free */
    uint32_t weight;
    uint32_t eq;
    uint32_t n_longest; /* tokens of its longest request */
    uint64_t n_served;
    uint64_t n_step;      /* of it, in the step that was done at @step_ns, */
    uint64_t n_step_most; /* and in the largest of all */
    uint64_t step_ns;
    uint64_t past[WATCH_SECONDS];
};

#define WATCH_LEADS 8u

/* How far one account was ahead of another, by weight. */
struct watch_lead {
    double least;
    double most;
    bool has_begun;
};

struct drawing;

struct watch {
    struct agenda *agenda;
    const struct scenario *scenario;
    struct desk *desk;
    struct gpu *gpu;
    struct gpu *alone;
    struct warmth *warmth;
    struct sensors *sensors;
    struct drawing *drawing; /* or NULL */
    FILE *trace;             /* or NULL */
    struct tallies tallies;

    struct watch_limits limits[WATCH_LIMITS]; /* a ring */
    uint64_t n_limits;
    uint64_t modes_ns[WATCH_MODES]; /* when the mode last changed: a ring */
    uint64_t n_modes;
    uint64_t run_from_ns; /* of our last time on the place */
    uint64_t run_to_ns;
    struct watch_window window;
    int64_t need; /* of frames now, in permille of their period */

    bool was_cool;
    bool was_over;    /* the last reading was above the target */
    int64_t other_mw; /* of others, and the clock, when last looked at */
    int64_t clock;
    double settled_mc[WATCH_SETTLED]; /* means of each second since settle_ms */
    uint32_t n_settled;
    double second_mc; /* sum of the present second */
    double below_mc;  /* sum, below what could be used */
    uint64_t n_mc;
    uint64_t n_heat_ticks;
    struct watch_curve curve;

    struct watch_account accounts[WATCH_ACCOUNTS];
    struct watch_lead leads[WATCH_LEADS][WATCH_LEADS];
    uint64_t second;              /* the next that is to be taken */
    double starved_s[DESK_LANES]; /* background could run, and did not */
    double busy_ns;               /* of our work, at the beginning of the present second */
    bool second_is_ours;          /* there was work and no bound all along */
    uint64_t n_steps[DESK_LANES];
    uint64_t n_since_change[DESK_LANES]; /* steps since the clock or the memory changed */
    int64_t pace[DESK_LANES];            /* clock and traffic, as one number */
    uint64_t n_realtime;                 /* requests under way */
    uint64_t realtime_mixed_ns;          /* when last more than one of them was */
    uint64_t troubled_until_ns;          /* engines are down: promises of time are off */
    uint64_t disturbed_ns;               /* when last something came or went */
};

void watch_init(struct watch *watch, struct agenda *agenda, const struct scenario *scenario);

/* ---- the device (watch.c) */
void watch_on_run(struct watch *watch, struct engine *engine, uint64_t from_ns, uint64_t to_ns, double part_ns);
void watch_on_limits(struct watch *watch, const struct governor_limits *limits);
void watch_frames(struct watch *watch); /* every 20 ms */
void watch_end(struct watch *watch);    /* when everything should be over */

/* The limits that held at @at_ns, or the oldest that is known. */
const struct governor_limits *watch_limits_at(const struct watch *watch, uint64_t at_ns);

/* ---- the temperature (watch_heat.c) */
void watch_heat(struct watch *watch); /* every 20 ms, after the readings */
void watch_heat_end(struct watch *watch);

/* ---- the requests (watch_serve.c) */
void watch_on_asked(struct watch *watch, const struct request *request);
void watch_on_back(struct watch *watch, const struct desk_ask *ask, bool is_full);
void watch_on_refused(struct watch *watch, const struct request *request, uint64_t retry_us);
void watch_on_served(struct watch *watch, const struct request *request, uint32_t n);
void watch_on_token(struct watch *watch, const struct request *request);
void watch_on_end(struct watch *watch, const struct request *request, enum desk_end how);
void watch_on_step(struct watch *watch, const struct engine *engine, const struct plan *plan, uint64_t took_us);
void watch_on_settled(struct watch *watch, const struct desk *desk);
void watch_on_nonsense(struct watch *watch);
void watch_serve(struct watch *watch); /* every 20 ms */

/* A line of the trace, behind the time. */
void watch_say(const struct watch *watch, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Seconds of the run, for the tallies. */
double watch_now_s(const struct watch *watch);

#endif
