/*
 * Server: simulates sottod
 *
 * It does what the daemon does around the scheduler, without text, sockets and processes. Requests are admitted,
 * queued, given slots, planned into steps, their rows and tokens counted, and ended once; lost engines are restarted;
 * the governor is called every 50 ms while there is work. It drives the daemon's own queue, planner, dispatch, cost
 * model, admission and governor, and has no rule of its own.
 */
#ifndef SOTTO_SIM_SERVER_H
#define SOTTO_SIM_SERVER_H

#include "mutant.h"
#include "plant/engine.h"
#include "plant/sensors.h"
#include "sched/admit.h"
#include "sched/dispatch.h"

#define SERVER_ENGINES 2u

/* Most live and waiting requests of one uid, as the daemon's defaults. */
#define SERVER_STREAMS 16u
#define SERVER_WAITING 16u

struct request {
    struct list link; /* server::requests; an ended request stays while steps name it */
    struct job job;
    uint32_t sequence; /* 0: none */
    uint32_t weight;   /* of its account, by policy */
    uint32_t tokens_a_minute;
    uint32_t n_most;      /* longest answer, as requested */
    uint32_t n_answer;    /* tokens after which it ends by itself */
    uint32_t n_cached;    /* part of its prompt that its session has cached */
    uint32_t n_tok;       /* sampled tokens */
    uint32_t n_ends;      /* 1 in the end */
    uint64_t first_by_us; /* deadlines, as requested: a mutant may hide them from the queue */
    uint64_t finish_by_us;
    uint64_t asked_ns;
    uint64_t first_ns;      /* of the first token; 0: none yet */
    uint64_t token_ns;      /* of the last one */
    uint64_t told_first_us; /* estimate at its admission, from then on */
    double starved_s;       /* since it last advanced, while it could run; and the longest that it may by now */
    double may_starve_s;
    double owed_us;   /* its own work until the first token, on the chip as it was at its arrival */
    double later_s;   /* in which requests of a higher class were in progress that came after it */
    bool opens_alone; /* no other sequence has pages of its engine */
    bool is_over;
    bool is_promised; /* its deadline was admitted */
    bool closes_late; /* for a mutant */
    void *client;
};

enum server_end {
    SERVER_DONE,
    SERVER_CANCELLED,
    SERVER_EXPIRED, /* its deadline passed */
    SERVER_NEVER,   /* the engine has too few pages */
};

enum server_outcome {
    SERVER_OK,
    SERVER_REFUSED, /* *ret_retry_us says for how long; 0: for good */
    SERVER_FULL,    /* the same, for want of room */
};

struct request_spec {
    uint32_t uid;
    uint32_t weight;
    uint32_t tokens_a_minute;
    enum priority priority;
    uint32_t engine;
    uint32_t n_prompt;
    uint32_t n_cached;
    uint32_t n_answer;
    uint32_t n_most;
    uint64_t first_by_us; /* from now on; 0: none */
    uint64_t finish_by_us;
    uint32_t credit; /* tokens that may be sampled at first; 0: no bound */
    void *client;
};

struct monitor;

struct server {
    struct timeline *timeline;
    const struct scenario *scenario;
    struct engine *engines; /* of n_engines */
    struct sensors *sensors;
    struct monitor *monitor;
    enum mutant mutant;
    bool is_unscheduled; /* no governor, one class, one account: what the chip can give */

    struct queue queue;
    struct planner planner;
    struct dispatch dispatch;
    struct governor governor;
    struct engine_queue eqs[SERVER_ENGINES];
    uint32_t n_opening[SERVER_ENGINES];
    struct list requests;
    uint32_t n_live;
    uint32_t n_over; /* ended, but still in the list */
    uint32_t last_sequence;
    bool is_closed; /* no client may spec any more */

    struct timeline_event run;
    struct timeline_event wake;
    struct timeline_event tick;
    struct timeline_event restart[SERVER_ENGINES];
    uint64_t n_runs;                   /* orders to run: steps, and slices after the first */
    uint64_t held_us[PROCESSOR_COUNT]; /* since the last tick */
    uint64_t ticked_ns;
    uint64_t worked_ns; /* when there was last work */
    uint64_t settled_us;
    struct governor_input hint; /* only its .hint */
    bool has_hint;

    /* Called for each token and each end, once. */
    void (*on_token)(void *client, struct request *request);
    void (*on_end)(void *client, struct request *request, enum server_end how);

    uint64_t n_asked;
    uint64_t n_refused;
    uint64_t n_rows;
    uint64_t n_tok;
};

void server_init(struct server *server, struct timeline *timeline, const struct scenario *scenario,
                 struct engine *engines, struct sensors *sensors, struct monitor *monitor);
void server_finish(struct server *server);

/* Asks for an answer. With SERVER_OK *ret_request lives until its end was reported. */
int server_submit(struct server *server, const struct request_spec *spec, struct request **ret_request,
                  uint64_t *ret_retry_us);

void server_cancel(struct server *server, struct request *request);

/* The reader has read and grants @n_tok more. */
void server_grant(struct server *server, struct request *request, uint32_t n_tok);

/* New readings are acted on at once, not up to a period later. @owner is the server. */
void server_on_sample(void *owner);

/* A compositor's report: it draws hard until @busy_until_ns, and missed @n_missed frames since the last report. */
void server_hint(struct server *server, uint64_t busy_until_ns, uint32_t n_missed);

/* The engine @engine is lost; a new one comes @after_ns later. */
void server_on_lost(struct server *server, uint32_t engine, uint64_t after_ns);

/* Takes an answer of the engine; see engine.h. */
void server_on_answer(void *server, struct engine *engine, const struct engine_message *answer);

/* Returns the limits of our work now. */
const struct governor_limits *server_limits(const struct server *server);

enum processor server_processor(const struct server *server);

#endif
