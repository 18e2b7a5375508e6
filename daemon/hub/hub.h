/*
 * Hub: the door of the stream room, all that connections see of it
 *
 * The hub owns models (with their engines and vocabularies), streams, the scheduler and the accounts. Connections
 * ask, and are called back through a table (struct stream_sink) whose owner they are. Everything here runs on the
 * loop's thread; callbacks are never made from inside the call that a connection is making, with one exception:
 * those that refuse at once return an outcome and a diag and make no callback.
 *
 * Memory is charged to the peer's account. Text handed to callbacks lives for that call only.
 */
#ifndef SOTTO_HUB_HUB_H
#define SOTTO_HUB_HUB_H

#include "base/arena.h"
#include "base/diag.h"
#include "govern/energy.h"
#include "machine/machine_watch.h"
#include "text/chat.h"
#include "token/token.h"
#include <sotto/v1/sotto.pb-c.h>
#include <sys/types.h>
#include <uv.h>

/* What policy gives a peer; copied into each stream, so that a stream keeps the limits it began with. */
struct grant {
    uint32_t uid;        /* the account */
    uint64_t connection; /* that asks; 0: none that will be told to leave (hub_connection_left()) */
    Sotto__V1__PriorityClass class_ceiling;
    Sotto__V1__PriorityClass class_default;
    uint32_t weight;          /* share within a class; 1000 is usual */
    uint32_t n_streams;       /* live ones of this uid, all connections */
    uint32_t n_context;       /* tokens of prompt and answer; 0: the model's */
    uint32_t n_answer;        /* hard cap on max_tokens, and the value when none is given */
    uint32_t tokens_a_minute; /* 0: no bound */
    uint32_t energy_a_minute; /* joules; 0: no bound */
    uint32_t n_sessions;      /* of this uid at once */
    uint32_t session_idle_ms; /* they end after so long without a request */
    bool admin;
    bool observe;       /* sees names of others in Status and Watch */
    bool graphics_hint; /* may say what the screen needs (GraphicsHint) */
    bool special;       /* may have control tokens recognised (Tokenize.special) */
};

/* As many as the engine looks through for one request. */
#define PINS_MAX      16u
#define PIN_USERS_MAX 64u

/* A beginning of prompts that is computed ahead and stays (pins.h). All of it is copied. */
struct pin_settings {
    const char *name;
    const char *text;    /* NULL: messages */
    const uint8_t *chat; /* a packed sotto.v1.Chat; or NULL */
    size_t n_chat;
    const uint32_t *uids; /* ascending: who may find it */
    size_t n_uids;        /* 0: everybody */
};

bool pin_settings_equal(const struct pin_settings *a, const struct pin_settings *b);

/* One configured model. Strings are copied. */
struct model_settings {
    const char *name;
    const char *file;    /* absolute */
    const char *backend; /* "cpu", "truth", "fake" */
    const char *kv_format;
    uint64_t kv_bytes;  /* 0: a default from memory and context */
    uint32_t n_context; /* 0: as trained, at most the default ceiling */
    uint32_t n_threads; /* 0: all that affinity and quota allow */
    uint32_t n_sequences;
    uint32_t n_step_rows;
    const char *fake_script;
    bool share_prefixes; /* a user's requests find what that user's earlier ones have computed */
    const struct pin_settings *pins;
    size_t n_pins;
    bool load_at_start;
    bool is_default;
};

struct hub_config {
    const struct model_settings *models;
    size_t n_models;
    const char *engine_path; /* of sotto-engine */
    const char *cpu_mask;
    bool guard_allocations;  /* tests: engines abort on an allocation inside a step */
    uint32_t pause_ms[3];    /* between restarts of a crashing engine; 0: 100, 1000, 10000 */
    uint32_t load_stall_ms;  /* a load without progress is lost; 0: 30000 */
    uint32_t step_floor_ms;  /* shortest watchdog of a step; 0: 2000 */
    uint32_t n_pool_threads; /* of libuv's pool; at most half of them work for one account; 0: 4, as libuv */
    struct machine_config machine;
    struct governor_policy governor;
    struct energy_stated energy;
};

struct compositor;
struct hub;
struct stream;

/* An event for Watch; @pairs alternate key and value, @n_pairs of them; uid whose stream it is, or UINT32_MAX. */
typedef void (*events_fn)(void *owner, const char *topic, const char *name, const char *const *pairs, size_t n_pairs,
                          uint32_t uid);

int hub_create(struct hub **ret_hub, uv_loop_t *loop, const struct hub_config *config, events_fn on_event, void *owner);

/* Starts the models that are to load at start. */
void hub_start(struct hub *hub);

/* No new Generate; streams get @grace_ms or end UNAVAILABLE "shutting down"; engines are told to quit, then killed.
 * @done (of the first call) is called once, from the loop, when all processes are gone and every handle of the hub is
 * closed, at most 5 s after the grace. A second call makes the grace 0. */
void hub_stop(struct hub *hub, uint32_t grace_ms, void (*done)(void *owner), void *owner);

/* After hub_stop() has called back (also from that callback). NULL is allowed. */
void hub_destroy(struct hub *hub);

/* True if the loop turned and no engine is overdue: feed the service manager's watchdog. */
bool hub_is_well(const struct hub *hub);

/* ---- the machine */

/* @compositor says what it knows; the caller has asked policy. It is the connection's, and stays where it is until
 * hub_hint_ends(). */
void hub_hint(struct hub *hub, struct compositor *compositor, const Sotto__V1__GraphicsHint *hint);

/* Its connection is gone: what it said is void. Also for one that never spoke. */
void hub_hint_ends(struct hub *hub, struct compositor *compositor);

/* The machine is about to sleep: nothing is begun any more, what runs stands still at the end of its part. */
void hub_sleep(struct hub *hub);

/* It is awake: what was read of it is old; work goes on when it was read anew, or after two seconds. */
void hub_wake(struct hub *hub);

/* Nothing runs: all steps have ended, or stand still. */
bool hub_is_still(const struct hub *hub);

/* Swaps the set of models (reload): new ones become known (and load, if they say so), changed ones apply to the
 * next load, missing ones are unloaded after their last stream. Paths of settings that need a reload of their model
 * are told by @needs (may be called many times). All or nothing: a fault leaves the old set. */
int hub_configure(struct hub *hub, const struct hub_config *config, void (*needs)(void *owner, const char *path),
                  void *owner);

/* ---- generating */

/* Calls back the owner of a stream. Messages live for the call. After on_done, on_embedding, on_opened or on_error
 * the stream is gone. */
struct stream_sink {
    void (*on_accepted)(void *owner, const Sotto__V1__Accepted *accepted);
    void (*on_delta)(void *owner, const Sotto__V1__Delta *delta);
    void (*on_notice)(void *owner, const Sotto__V1__Notice *notice);
    void (*on_embedding)(void *owner, const Sotto__V1__Embedding *embedding); /* of hub_embed() alone */
    void (*on_opened)(void *owner, const Sotto__V1__SessionOpened *opened);   /* of hub_open_session() alone */
    void (*on_done)(void *owner, const Sotto__V1__Done *done);
    void (*on_error)(void *owner, const Sotto__V1__Error *error);
};

/*
 * Asks for an answer. @ask has passed check_client_frame(); it is copied. 0: *ret_stream lives until on_done or
 * on_error has returned. Above 0: a Sotto__V1__Code, with the sentence in @diag (and *ret_retry_ms, 0: trying again
 * will not help); no stream was made, nothing is called back. Below 0: a fault.
 *
 * Order of calls: on_accepted once (left out if the request turns out to be refusable: too long for the context, bad
 * text), then on_notice and on_delta as they come, then exactly one of on_done and on_error.
 * The sink may call any function of this header from a callback.
 */
int hub_generate(struct hub *hub, const Sotto__V1__Generate *ask, const struct grant *grant,
                 const struct stream_sink *sink, void *owner, struct stream **ret_stream, uint32_t *ret_retry_ms,
                 struct diag *diag);

/*
 * The same for an embedding: a stream that samples nothing. Instead of on_delta and on_done it ends in on_embedding;
 * in on_done only when it is cancelled. A model that is not made for it: on_error, CODE_FAILED_PRECONDITION.
 */
int hub_embed(struct hub *hub, const Sotto__V1__Embed *ask, const struct grant *grant, const struct stream_sink *sink,
              void *owner, struct stream **ret_stream, uint32_t *ret_retry_ms, struct diag *diag);

/*
 * Opens a session (session.h), and a stream that computes ahead what it begins with. That ends in on_opened; in on_done
 * only when it is cancelled, and then there is no session.
 */
int hub_open_session(struct hub *hub, const Sotto__V1__OpenSession *ask, const struct grant *grant,
                     const struct stream_sink *sink, void *owner, struct stream **ret_stream, uint32_t *ret_retry_ms,
                     struct diag *diag);

void stream_credit(struct stream *stream, const Sotto__V1__Credit *credit);

/* Ends in on_done with FINISH_CANCELLED, after this call has returned. Twice is once. */
void stream_cancel(struct stream *stream);

/* The connection is gone: cancelled, and nothing is called back any more. */
void stream_forget(struct stream *stream);

/* The connection's unsent bytes are over (or again under) their bound. */
void stream_park(struct stream *stream, bool parked);

/* Ends in on_error with @code and @sentence (slow reader, connection closing). */
void stream_abort(struct stream *stream, Sotto__V1__Code code, const char *sentence);

/* ---- words, models, state: answered by one callback from the loop, or refused at once with a Sotto__V1__Code above 0
 * and the sentence in @diag; below 0: a fault. What a callback gets lives for the call. */

struct ticket; /* names a pending question, for ticket_forget() */

typedef void (*ticket_tokenized_fn)(void *owner, const Sotto__V1__Tokenized *answer, const Sotto__V1__Error *error);
typedef void (*ticket_detokenized_fn)(void *owner, const Sotto__V1__Detokenized *answer, const Sotto__V1__Error *error);
typedef void (*ticket_progress_fn)(void *owner, const Sotto__V1__LoadProgress *progress);
typedef void (*ticket_loaded_fn)(void *owner, const Sotto__V1__ModelInfo *info, const Sotto__V1__Error *error);
typedef void (*ticket_unloaded_fn)(void *owner, const Sotto__V1__Error *error);

int hub_tokenize(struct hub *hub, const Sotto__V1__Tokenize *ask, const struct grant *grant, ticket_tokenized_fn done,
                 void *owner, struct ticket **ret_ticket, struct diag *diag);
int hub_detokenize(struct hub *hub, const Sotto__V1__Detokenize *ask, const struct grant *grant,
                   ticket_detokenized_fn done, void *owner, struct ticket **ret_ticket, struct diag *diag);

typedef void (*ticket_closed_fn)(void *owner, const Sotto__V1__SessionClosed *closed);

/* The connection is gone: of sessions that nobody else asks in, the next one may take the place. */
void hub_connection_left(struct hub *hub, uint64_t connection);

/* Ends a session of @grant's user. A request that runs in it is cancelled, and told before @done is called. */
int hub_close_session(struct hub *hub, uint64_t id, const struct grant *grant, ticket_closed_fn done, void *owner,
                      struct ticket **ret_ticket, struct diag *diag);

/* The configured file of a name: anybody, unless an administrator unloaded it (PERMISSION_DENIED) or it was refused
 * and has not changed (FAILED_PRECONDITION). Another file or a new name, and another try: an administrator. A model
 * that serves a file which was replaced since takes the new one beside the old. Many asks are one load. */
int hub_load(struct hub *hub, const Sotto__V1__LoadModel *ask, const struct grant *grant, ticket_progress_fn progress,
             ticket_loaded_fn done, void *owner, struct ticket **ret_ticket, struct diag *diag);

/* For administrators. Answered when the process is gone and every byte is back with the system. */
int hub_unload(struct hub *hub, const Sotto__V1__UnloadModel *ask, const struct grant *grant, ticket_unloaded_fn done,
               void *owner, struct ticket **ret_ticket, struct diag *diag);

/* The asker is gone or has cancelled: no callback any more. The load itself goes on: it belongs to the daemon. A
 * ticket ends with its callback; forgetting it inside that is allowed and does nothing. */
void ticket_forget(struct ticket *ticket);

/* Fills @ret_models from @arena, where it lives. @grant decides what is told. 0 or -ENOMEM (also: the arena's
 * ceiling). */
int hub_list_models(struct hub *hub, const struct grant *grant, struct arena *arena, Sotto__V1__Models *ret_models);

/*
 * Classes, models, engines, memory of sottod and of the engines, and the hub's counters. Engines are asked for their
 * figures first (100 ms at most), so what is told is true now and not a second ago. @report lives for the call; the
 * owner sets the fields that are its own (instance, config, connections, descriptors, rss of sottod added to what
 * stands there) and may add rows to the lists: @arena is the memory behind them.
 */
typedef void (*ticket_status_fn)(void *owner, Sotto__V1__StatusReport *report, struct arena *arena);

int hub_status(struct hub *hub, const struct grant *grant, ticket_status_fn done, void *owner,
               struct ticket **ret_ticket, struct diag *diag);

#endif
