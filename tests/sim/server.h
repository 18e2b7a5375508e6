/*
 * Desk: plays sottod
 *
 * What stream/ does around the scheduler, without words, sockets and processes: requests are admitted,
 * queued, seated, planned into steps, their rows and tokens counted, and ended once; engines that are lost
 * are started anew; the governor is asked every 50 ms while there is work. It drives the daemon's own queue,
 * planner, turn, cost model, admission and governor, and has no rule of its own.
 */
#ifndef SOTTO_SIM_SERVER_H
#define SOTTO_SIM_SERVER_H

#include "mutant.h"
#include "plant/engine.h"
#include "plant/sensors.h"
#include "sched/admit.h"
#include "sched/dispatch.h"
#include "sched/retry.h"

#define SERVER_ENGINES 2u

/* The most that one uid may have under way, and waiting of it: as the daemon's defaults. */
#define SERVER_STREAMS 16u
#define SERVER_WAITING 16u

struct request {
    struct list link; /* server::requests; a request that is over stays while steps name it */
    struct job job;
    uint32_t sequence;    /* 0: none */
    uint32_t weight;      /* that policy gives its account */
    uint32_t n_most;      /* longest answer, as asked for */
    uint32_t n_answer;    /* tokens after which it ends by itself */
    uint32_t n_cached;    /* of its prompt, by its session */
    uint32_t n_tok;       /* sampled */
    uint32_t n_ends;      /* 1 at last */
    uint64_t first_by_us; /* deadlines, as asked for: the queue may not know of them (a mutant's) */
    uint64_t finish_by_us;
    uint64_t asked_ns;
    uint64_t first_ns; /* of the first token; 0: none yet */
    double owed_us;    /* its own work until the first token, on the chip as it was when it was asked */
    bool opens_alone;  /* nobody has any of its engine's pages */
    bool is_over;
    bool is_promised; /* its deadline was admitted */
    bool closes_late; /* a mutant's */
    void *client;
};

enum server_end {
    SERVER_DONE,
    SERVER_CANCELLED,
    SERVER_EXPIRED, /* its deadline passed */
    SERVER_NEVER,   /* the engine has not the pages for it */
};

enum server_outcome {
    SERVER_OK,
    SERVER_REFUSED, /* *ret_retry_us says for how long; 0: for ever */
    SERVER_FULL,    /* the same, for want of a place */
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
    uint64_t key;    /* the same when it comes again */
    bool is_back;    /* it was told to come now, for want of a place */
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
    struct retry_list retry_list;
    struct planner planner;
    struct dispatch dispatch;
    struct governor governor;
    struct engine_queue eqs[SERVER_ENGINES];
    uint32_t n_opening[SERVER_ENGINES];
    struct list requests;
    uint32_t n_live;
    uint32_t n_over; /* in the list, but ended */
    uint32_t last_sequence;
    bool is_closed; /* nobody may ask any more */

    struct timeline_event run;
    struct timeline_event wake;
    struct timeline_event tick;
    struct timeline_event restart[SERVER_ENGINES];
    uint64_t held_us[PROCESSOR_COUNT]; /* since the last tick */
    double took_us;                    /* of steps since the last tick */
    double estimated_us;
    uint64_t ticked_ns;
    uint64_t worked_ns; /* when there was work last */
    uint64_t settled_us;
    struct governor_input hint; /* only its .hint */
    bool has_hint;

    /* Told of each token and each end, once. */
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

/* Asks for an answer. DESK_OK: *ret_request lives until its end was told. */
int server_submit(struct server *server, const struct request_spec *ask, struct request **ret_request,
                  uint64_t *ret_retry_us);

void server_cancel(struct server *server, struct request *request);

/* The reader took what there is and grants @n_tok more. */
void server_grant(struct server *server, struct request *request, uint32_t n_tok);

/* Readings have come: they are acted upon at once, not up to a period later. The owner is the desk. */
void server_on_sample(void *owner);

/* A compositor's word: frames of @frame_us, drawing hard until @busy_until_ns, @n_missed since the last. */
void server_hint(struct server *server, uint64_t busy_until_ns, uint32_t n_missed);

/* The engine of @engine is gone; a new one comes @after_ns later. */
void server_on_lost(struct server *server, uint32_t engine, uint64_t after_ns);

/* The engine's answers; see engine.h. */
void server_on_answer(void *server, struct engine *engine, const struct engine_message *answer);

/* The limits that our work is under now. */
const struct governor_limits *server_limits(const struct server *server);

enum processor server_processor(const struct server *server);

#endif
