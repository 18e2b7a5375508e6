/*
 * Hub state: what the files of this room share
 *
 * The hub owns, from the outside in: models (rows of the configuration), their instances (one opened file with its
 * engine and vocabulary), streams, and the work of the pool. Everything is driven from three places: calls of
 * connections, answers of engines, and jobs of the pool that come back. Each changes state and pokes; once a loop
 * turn the hub then attends to streams that asked for it and lets the dispatcher send what can be sent. So no callback is
 * ever made from inside a call, and a turn plans once for all that happened in it.
 */
#ifndef SOTTO_HUB_HUB_STATE_H
#define SOTTO_HUB_HUB_STATE_H

#include "base/list.h"
#include "base/map.h"
#include "dispatch/governor_loop.h"
#include "hub/hub.h"
#include "loop/alarm.h"
#include "loop/text_pool.h"
#include "sched/dispatch.h"
#include "sched/retry.h"

/* Totals since start, for Status. */
enum hub_count {
    HUB_STREAMS,
    HUB_STREAMS_DONE,
    HUB_STREAMS_CANCELLED,
    HUB_STREAMS_FAILED,
    HUB_REFUSED,
    HUB_PROMPT_TOK,
    HUB_CACHED_TOK,
    HUB_PREFIX_HITS,
    HUB_PINNED_TOK,
    HUB_PIN_HITS,
    HUB_GENERATED_TOK,
    HUB_STEPS,
    HUB_REBUILDS,
    HUB_PREEMPTIONS,
    HUB_SUSPENDS,
    HUB_WITHDRAWS,
    HUB_LATE,
    HUB_SLIDES,
    HUB_ENGINE_STARTS,
    HUB_ENGINE_CRASHES,
    HUB_TOKENISED,
    HUB_EMBEDDED,
    HUB_MODE_CHANGES,
    HUB_THROTTLED,
    HUB_TICKS,
    HUB_HINTS,
    HUB_SLEEPS,
    HUB_SESSIONS,
    HUB_SESSION_TURNS,
    HUB_SESSION_KEPT_TOK,
    HUB_SESSIONS_GIVEN_UP,
    HUB_COUNT_COUNT,
};

struct instance;

struct dispatcher {
    struct dispatch dispatch;
    struct alarm alarm; /* a place has rested, a budget has room again, a deadline passes */
};

struct hub {
    uv_loop_t *loop;
    events_fn on_event;
    void *owner;

    char *engine_path; /* owned strings */
    char *cpu_mask;
    bool guard_allocations;
    uint32_t pause_ms[3];
    uint32_t load_stall_ms;
    uint32_t step_floor_ms;

    struct list models;   /* model::link, in the configuration's order */
    struct list streams;  /* stream::link */
    struct list soon;     /* stream::soon: to be attended to in the next turn */
    struct list due;      /* ticket::link: to be answered in the next turn */
    struct list asking;   /* ticket::link: Status that waits for figures */
    struct list sessions; /* session::link */
    uint64_t n_sessions;  /* ever made: the last one's id */
    struct map keys;      /* uid and key of a live stream to the stream */
    struct queue queue;
    struct retry_list retry_list;
    struct planner planner;
    struct governor governor;
    struct governor_loop governor_loop;
    struct dispatcher dispatcher;
    struct text_pool pool;
    struct machine_watch *watch;
    uint64_t n_made; /* streams, for their numbers in lines and events */
    uint64_t counts[HUB_COUNT_COUNT];

    uv_idle_t turn;
    uv_timer_t figures; /* engines that do not answer a Query in time */
    uv_timer_t grace;   /* of hub_stop() */
    bool is_started;    /* turn runs: something was poked */
    bool is_stopping;
    bool has_grace;  /* stopping, and streams may still end by themselves */
    bool is_closing; /* handles are being closed */
    uint32_t n_handles;
    void (*stopped)(void *owner);
    void *stopped_owner;
};

/* Something changed: attend and plan in the next turn. */
void hub_poke(struct hub *hub);

/* An event for those who watch; pairs end with NULL. @uid: whose stream it is, or UINT32_MAX. */
void hub_event(struct hub *hub, uint32_t uid, const char *topic, const char *name, ...);

/* One of the hub's handles, or what counts as one, is closed. */
void hub_handle_closed(struct hub *hub);

/* True once nothing is left that could call back: the handles may be closed. */
void hub_try_close(struct hub *hub);

/* ---- tickets: pending questions */

enum ticket_kind {
    TICKET_TOKENIZE,
    TICKET_DETOKENIZE,
    TICKET_LOAD,
    TICKET_UNLOAD,
    TICKET_STATUS,
    TICKET_SESSION,
};

struct ticket {
    struct list link; /* hub::due, hub::asking, model::waiters, or none while a job runs */
    enum ticket_kind kind;
    struct hub *hub;
    struct grant grant;
    struct text_job *job;
    struct model *model;
    union {
        ticket_tokenized_fn tokenized;
        ticket_detokenized_fn detokenized;
        ticket_loaded_fn loaded;
        ticket_unloaded_fn unloaded;
        ticket_status_fn status;
        ticket_closed_fn closed;
    } done;
    ticket_progress_fn progress;
    void *owner;
    uint32_t n_tok;       /* Session: that it held */
    bool pieces;          /* Tokenize.pieces */
    bool special;         /* of the question */
    bool is_called;       /* its callback is being made: it is freed behind that, whoever forgets it */
    bool counted;         /* Status: its round of Query is under way */
    Sotto__V1__Code code; /* the answer, when it is an error */
    char sentence[DIAG_BYTES];
};

struct model;

/* @model: the one that it is about, or NULL. 0 or -ENOMEM. */
int ticket_create(struct ticket **ret_ticket, struct hub *hub, enum ticket_kind kind, const struct grant *grant,
                  struct model *model, void *owner);

/* Answered from the next turn on, with an error unless @code is 0. */
void ticket_answer(struct ticket *ticket, Sotto__V1__Code code, const char *sentence);

/* Makes the callback and frees the ticket. */
void ticket_call(struct ticket *ticket);

/* ticket.c: a question about words whose model is ready now. */
void ticket_model_ready(struct ticket *ticket);

#endif
