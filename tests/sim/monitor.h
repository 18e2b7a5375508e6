/*
 * Monitor: observes a run, and counts what breaks an invariant
 *
 * It sees both sides: the plant as it is (real temperature, frames with and without us, the holder of the GPU) and what
 * sotto decided (limits, steps, answers). It changes nothing. monitor.c follows the device, monitor_heat.c the
 * temperature, monitor_serve.c the requests, monitor_told.c refusals.
 */
#ifndef SOTTO_SIM_MONITOR_H
#define SOTTO_SIM_MONITOR_H

#include "server.h"

#define MONITOR_LIMITS   64u
#define MONITOR_ACCOUNTS 32u
#define MONITOR_MODES    20u /* most changes in ten seconds: one each half second */
#define MONITOR_SECONDS  11u /* a window of ten, and its beginning */

struct monitor_limits {
    uint64_t at_ns;
    struct governor_limits limits;
};

/* Frames missed between two moments. */
struct monitor_window {
    enum invariant judges; /* FRAMES, UNTOLD, STEP or HINT; INVARIANT_COUNT: none */
    uint64_t to_ns;        /* for STEP and HINT */
    uint64_t n_allowed;
    uint64_t n_frames; /* at its beginning */
    uint64_t n_ours;
    uint64_t n_theirs;
    uint64_t from_ns;
};

#define MONITOR_SETTLED 512u /* seconds of temperature that are kept: more than any family has */

/* Since when a reading is at a passive trip, realtime is in progress below it, and the chip is cool; 0: it is not. */
struct monitor_trip {
    uint64_t tripped_ns;
    uint64_t voice_ns;
    uint64_t cool_ns;
};

#define MONITOR_WARMING 10u /* seconds */

/* Duty second by second, while others warm the chip. */
struct monitor_curve {
    double sum;                    /* over the ticks of this second */
    double before;                 /* mean of the second before */
    double alone[MONITOR_WARMING]; /* ring: chip without us at the end of each second, in degrees */
    uint64_t n;                    /* whole seconds */
};

/* Tokens that one account was served, at each of the last seconds. */
struct monitor_account {
    uint32_t uid; /* 0: unused */
    uint32_t weight;
    uint32_t engine;
    uint32_t n_longest; /* tokens of its longest request */
    double spent;       /* of its budget a minute, in tokens, at @spent_ns */
    uint64_t spent_ns;
    uint64_t n_served;
    uint64_t n_step;      /* of them, in the step that ended at @step_ns, */
    uint64_t n_step_most; /* and in the largest of all */
    uint64_t step_ns;
    uint64_t past[MONITOR_SECONDS];
};

#define MONITOR_LEADS 8u

/* How far one account was ahead of another, by weight. */
struct monitor_lead {
    double least;
    double most;
    bool has_begun;
};

/* A refusal for want of room, until as many requests of its user have ended as were live then. */
struct monitor_full {
    uint64_t at_ns;
    uint32_t uid;
    enum priority priority;
    uint64_t retry_us; /* as told */
    uint32_t n_left;   /* ends to come; 0: none is watched */
    bool is_late;      /* refused for its deadline: it may be in time again before all of them have ended */
};

#define MONITOR_DEADLINES 256u

/* A deadline that was promised or refused, until it has passed. Shares are of the chip at its full clock. */
struct monitor_deadline {
    uint64_t at_ns;
    uint64_t by_ns; /* 0: unused */
    double need;    /* share that plain earliest-deadline-first needs for it, beside what was promised before */
    double had;     /* share that the limits left then */
    double offered_ns;
    bool is_refused;
};

/* Time given and used while there is work. */
struct monitor_use {
    double drawn;       /* by frames, in permille of the time */
    uint64_t n_missed;  /* frames, as last seen */
    uint64_t steady_ns; /* nothing has changed that the duty follows slowly, from then on */
    bool is_ready;      /* a job could run all the time since this second began */
    bool is_sliced;     /* since the sums began there was a bound */
    double duty_sum;    /* of this second */
    uint64_t n_ticks;
    double given_ns; /* by the duty and the frames */
    double held_ns;
};

struct chart;

struct monitor {
    struct timeline *timeline;
    const struct scenario *scenario;
    struct server *server;
    struct gpu *gpu;
    struct gpu *alone;
    struct thermal *thermal;
    struct sensors *sensors;
    struct chart *chart; /* or NULL */
    FILE *trace;         /* or NULL */
    struct tallies tallies;

    struct monitor_limits limits[MONITOR_LIMITS]; /* a ring */
    uint64_t n_limits;
    uint64_t modes_ns[MONITOR_MODES]; /* ring: when the mode last changed */
    uint64_t n_modes;
    uint64_t run_from_ns; /* our last time on the processor */
    uint64_t run_to_ns;
    struct monitor_window window;
    int64_t need; /* of frames now, in permille of their period */

    bool was_cool;
    int64_t other_mw; /* power of others, and the clock, when last looked at */
    int64_t clock;
    int32_t highest_mc;  /* reading lately */
    uint64_t asked_ns;   /* when a zone was last asked whether it works */
    uint64_t changed_ns; /* when one of them last rose, and the highest reading until then */
    int32_t changed_mc;
    double settled_mc[MONITOR_SETTLED]; /* means of each second since settle_ms */
    uint32_t n_settled;
    double second_mc; /* sum of this second */
    double below_mc;  /* sum, below what could be used */
    uint64_t n_mc;
    uint64_t n_heat_ticks;
    bool had_realtime;
    struct monitor_trip trip;
    struct monitor_curve curve;
    double warm_mc; /* sum below what could be used, in these ticks with work */
    uint32_t n_warm;

    struct monitor_account accounts[MONITOR_ACCOUNTS];
    struct monitor_lead leads[MONITOR_LEADS][MONITOR_LEADS];
    uint64_t second;                  /* the next one to be taken */
    double starved_s[SERVER_ENGINES]; /* background could run, but did not */
    double busy_ns;                   /* of our work, at the beginning of this second */
    uint64_t n_steps[SERVER_ENGINES];
    uint64_t n_since_change[SERVER_ENGINES]; /* steps since the clock or the memory changed */
    int64_t pace[SERVER_ENGINES];            /* clock and traffic as one number */
    struct monitor_full full;
    struct monitor_deadline deadlines[MONITOR_DEADLINES];
    double offered_ns; /* by the limits, since the start */
    struct monitor_use use;
    uint64_t n_answers; /* in progress at the ends of steps */
    uint64_t n_left_out;
    uint64_t n_realtime;        /* in progress */
    uint64_t realtime_mixed_ns; /* when there was last more than one */
    uint64_t troubled_until_ns; /* engines are down: time is not promised */
    uint64_t disturbed_ns;      /* when something last came or went */
};

void monitor_init(struct monitor *monitor, struct timeline *timeline, const struct scenario *scenario);

/* ---- the device (monitor.c) */
void monitor_on_run(struct monitor *monitor, struct engine *engine, uint64_t from_ns, uint64_t to_ns, double part_ns);
void monitor_on_limits(struct monitor *monitor, const struct governor_limits *limits);
void monitor_frames(struct monitor *monitor); /* every 20 ms */
void monitor_end(struct monitor *monitor);    /* when everything should be over */

/* Returns the limits that held at @at_ns, or the oldest known. */
const struct governor_limits *monitor_limits_at(const struct monitor *monitor, uint64_t at_ns);

/* ---- the temperature (monitor_heat.c) */
void monitor_heat(struct monitor *monitor); /* every 20 ms, after the readings */
void monitor_heat_end(struct monitor *monitor);

/* ---- trip points (monitor_trip.c) */
void monitor_trip(struct monitor *monitor); /* every 20 ms, after the readings */

/* ---- the requests (monitor_serve.c) */
void monitor_on_asked(struct monitor *monitor, const struct request *request);
void monitor_on_served(struct monitor *monitor, struct request *request, uint32_t n);
void monitor_on_token(struct monitor *monitor, struct request *request);
void monitor_on_end(struct monitor *monitor, const struct request *request, enum server_end how);
void monitor_on_step(struct monitor *monitor, const struct engine *engine, const struct plan *plan, uint64_t took_us);
void monitor_on_settled(struct monitor *monitor, const struct server *server);
void monitor_on_nonsense(struct monitor *monitor);
void monitor_serve(struct monitor *monitor); /* every 20 ms */

/* Returns the share of the chip at its full clock that was ours at @at_ns by the limits in force: the duty's part of
 * what frames left, since slices and pauses between them count while no frame is drawn. */
double monitor_offered(const struct monitor *monitor, uint64_t at_ns);

/* Returns what is known of the account of @request, or NULL if there are too many. */
struct monitor_account *monitor_account_of(struct monitor *monitor, const struct request *request);

/* ---- refusals, and the times told with them, in microseconds (monitor_told.c) */
void monitor_on_full(struct monitor *monitor, const struct job *job, uint64_t retry_us);
void monitor_on_refused(struct monitor *monitor, const struct request *request, uint64_t retry_us);

/* Compares a time told with the time that it took, once enough requests of its user have ended. */
void monitor_judge_told(struct monitor *monitor, const struct request *request, enum server_end how);

/* ---- what promises cost (monitor_oracle.c) */
void monitor_on_deadline(struct monitor *monitor, const struct request *request, bool is_refused);
void monitor_use(struct monitor *monitor, bool is_ready); /* every 20 ms: could a job run? */
void monitor_use_second(struct monitor *monitor, double held_ns);
void monitor_count_answers(struct monitor *monitor, const struct plan *plan, uint64_t took_us);
void monitor_oracle_end(struct monitor *monitor);
void monitor_judge_gap(struct monitor *monitor, struct request *request);
void monitor_spend(struct monitor *monitor, struct monitor_account *account, const struct request *request, uint32_t n);
void monitor_judge_estimate(struct monitor *monitor, const struct request *request);

/* ---- each request by itself (monitor_stream.c) */
void monitor_streams(struct monitor *monitor); /* every 20 ms */
void monitor_stream_on_served(struct request *request);
void monitor_stream_on_verdict(struct monitor *monitor, const struct request *request, bool is_promised);

/* True if @job is let run by its client, its engine, and its account's budget. */
bool monitor_is_ready(const struct monitor *monitor, const struct job *job);

/* True if an engine is down or stalls. */
bool monitor_is_troubled(const struct monitor *monitor);

/* Writes a line of the trace, after the time. */
void monitor_log(const struct monitor *monitor, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns the seconds of the run. */
double monitor_now_s(const struct monitor *monitor);

#endif
