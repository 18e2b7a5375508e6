/*
 * Hub: all that connections see of models, streams and sessions
 *
 * The hub owns models with their engines and vocabularies, streams, sessions, the scheduler and the accounts.
 * Connections ask, and are called back: by a table (struct stream_sink) for requests, by a single callback for
 * questions. Everything here runs on the loop's thread. Callbacks are never made from inside the call that a connection
 * is making: a call that refuses at once returns an outcome and a diag and makes no callback.
 *
 * Memory is charged to the peer's account. Text handed to callbacks lives for that call only.
 */
#ifndef SOTTO_HUB_HUB_H
#define SOTTO_HUB_HUB_H

#include "base/arena.h"
#include "base/diag.h"
#include "govern/energy.h"
#include "loop/events.h"
#include "machine/machine_watch.h"
#include "registry/settings.h"
#include "stream/client.h"
#include "stream/grant.h"
#include <sotto/v1/sotto.pb-c.h>
#include <uv.h>

struct hub_config {
    const struct model_settings *models; /* copied */
    size_t n_models;
    const char *engine_path; /* of sotto-engine */
    const char *cpu_mask;
    bool guard_allocations;   /* tests: engines abort on an allocation inside a step */
    uint32_t pause_ms[3];     /* between restarts of a crashing engine; 0: 100, 1000, 10000 */
    uint32_t load_stall_ms;   /* a load without progress is given up; 0: 30000 */
    uint32_t step_floor_ms;   /* shortest watchdog of a step; 0: 2000 */
    uint32_t n_pool_threads;  /* of libuv's pool; 0: 4, as libuv */
    const char *state_folder; /* where the chip's gains are kept between runs; NULL: nowhere. Copied */
    struct machine_config machine;
    struct governor_policy governor;
    struct energy_stated energy;
};

struct compositor;
struct hub;
struct ticket; /* a pending question: registry/ticket.h */

int hub_create(struct hub **ret_hub, uv_loop_t *loop, const struct hub_config *config, events_fn on_event, void *owner);

/* Starts sotto-sense, and the models that are to load at start. */
void hub_start(struct hub *hub);

/* Takes no new requests any more. Streams get @grace_ms or end UNAVAILABLE "shutting down"; engines are told to quit,
 * then killed. @done (of the first call) is called once, from the loop, when all processes are gone and every handle of
 * the hub is closed, at most 5 s after the grace. A second call makes the grace 0. */
void hub_stop(struct hub *hub, uint32_t grace_ms, void (*done)(void *owner), void *owner);

/* Frees the hub after hub_stop() has called back (also from that callback). NULL is allowed. */
void hub_destroy(struct hub *hub);

/* Returns true while no engine is overdue: the service manager's watchdog may be fed. */
bool hub_is_well(const struct hub *hub);

/* Swaps the set of models (reload): new ones become known (and load, if they say so), changed ones apply to the next
 * load, missing ones are unloaded after their last stream. @needs is called with each path of a setting that waits
 * for a reload of its model. All or nothing: a fault leaves the old set. */
int hub_configure(struct hub *hub, const struct hub_config *config, void (*needs)(void *owner, const char *path),
                  void *owner);

/* ---- the machine */

/* Takes a compositor's hint; the caller has asked policy. @compositor is the connection's, and stays where it is until
 * hub_hint_ends(). */
void hub_hint(struct hub *hub, struct compositor *compositor, const Sotto__V1__GraphicsHint *hint);

/* Forgets the hints of @compositor as its connection ends; also if it never gave one. */
void hub_hint_ends(struct hub *hub, struct compositor *compositor);

/* The machine is about to sleep: nothing is begun any more, what runs stands still at the end of its part. */
void hub_sleep(struct hub *hub);

/* The machine is awake: what was read of it is old; work goes on when it has been read again, or after two seconds. */
void hub_wake(struct hub *hub);

/* Returns whether nothing runs: all steps have ended, or stand still. */
bool hub_is_still(const struct hub *hub);

/* ---- requests
 *
 * Each has passed check_client_frame(); it is copied. 0: *ret_stream lives until its last message has been called back.
 * Above 0: a Sotto__V1__Code, with the sentence in @diag (and *ret_retry_ms, 0: trying again will not help); no stream
 * was made, nothing is called back. Below 0: a fault. */

/* Asks for an answer. */
int hub_generate(struct hub *hub, const Sotto__V1__Generate *generate, const struct grant *grant,
                 const struct stream_sink *sink, void *owner, struct stream **ret_stream, uint32_t *ret_retry_ms,
                 struct diag *diag);

/* Asks for an embedding: a stream that samples nothing and ends in on_embedding; in on_done only when it is cancelled.
 * A model that is not made for it: on_error, CODE_FAILED_PRECONDITION. */
int hub_embed(struct hub *hub, const Sotto__V1__Embed *embed, const struct grant *grant, const struct stream_sink *sink,
              void *owner, struct stream **ret_stream, uint32_t *ret_retry_ms, struct diag *diag);

/* Opens a session (session/session.h), and a stream that computes ahead what it begins with: that ends in on_opened; in
 * on_done only when it is cancelled, and then there is no session. */
int hub_open_session(struct hub *hub, const Sotto__V1__OpenSession *open, const struct grant *grant,
                     const struct stream_sink *sink, void *owner, struct stream **ret_stream, uint32_t *ret_retry_ms,
                     struct diag *diag);

/* Says that @connection is gone. Sessions in which it made the last request may now be replaced by new ones. */
void hub_connection_left(struct hub *hub, uint64_t connection);

/* ---- questions
 *
 * Each is answered by one callback from the loop, or refused at once with a Sotto__V1__Code above 0 and the sentence in
 * @diag; below 0: a fault. What a callback gets lives for the call. The ticket ends with its callback. */

/* Takes a question back: there is no callback any more. What it had caused (a load) goes on. Inside the callback
 * that is allowed and does nothing. */
void ticket_forget(struct ticket *ticket);

typedef void (*ticket_tokenized_fn)(void *owner, const Sotto__V1__Tokenized *answer, const Sotto__V1__Error *error);
typedef void (*ticket_detokenized_fn)(void *owner, const Sotto__V1__Detokenized *answer, const Sotto__V1__Error *error);
typedef void (*ticket_progress_fn)(void *owner, const Sotto__V1__LoadProgress *progress);
typedef void (*ticket_loaded_fn)(void *owner, const Sotto__V1__ModelInfo *info, const Sotto__V1__Error *error);
typedef void (*ticket_unloaded_fn)(void *owner, const Sotto__V1__Error *error);
typedef void (*ticket_closed_fn)(void *owner, const Sotto__V1__SessionClosed *closed);

/* @report lives for the call; the owner sets the fields that are its own (instance, config, connections, descriptors,
 * rss of sottod added to what stands there) and may add rows to the lists: @arena is the memory behind them. */
typedef void (*ticket_status_fn)(void *owner, Sotto__V1__StatusReport *report, struct arena *arena);

int hub_tokenize(struct hub *hub, const Sotto__V1__Tokenize *asked, const struct grant *grant, ticket_tokenized_fn done,
                 void *owner, struct ticket **ret_ticket, struct diag *diag);
int hub_detokenize(struct hub *hub, const Sotto__V1__Detokenize *asked, const struct grant *grant,
                   ticket_detokenized_fn done, void *owner, struct ticket **ret_ticket, struct diag *diag);

/* Ends a session of @grant's user. A request that runs in it is cancelled, and ends before @done is called. */
int hub_close_session(struct hub *hub, uint64_t id, const struct grant *grant, ticket_closed_fn done, void *owner,
                      struct ticket **ret_ticket, struct diag *diag);

/* Loads a model. The configured file of a name is for every user, unless an administrator unloaded it
 * (PERMISSION_DENIED) or it was refused and has not changed (FAILED_PRECONDITION). Another file, a new name, or another
 * try is for administrators. A model that serves a file which was replaced since takes the new one beside the old. Many
 * requests are one load, which goes on when they are forgotten. */
int hub_load(struct hub *hub, const Sotto__V1__LoadModel *asked, const struct grant *grant, ticket_progress_fn progress,
             ticket_loaded_fn done, void *owner, struct ticket **ret_ticket, struct diag *diag);

/* Unloads a model, for administrators. Answered when the process is gone and every byte is back with the system. */
int hub_unload(struct hub *hub, const Sotto__V1__UnloadModel *asked, const struct grant *grant, ticket_unloaded_fn done,
               void *owner, struct ticket **ret_ticket, struct diag *diag);

/* Fills @ret_models from @arena, where it lives; @grant decides what is shown. 0 or -ENOMEM (also: the arena's
 * ceiling). */
int hub_list_models(struct hub *hub, const struct grant *grant, struct arena *arena, Sotto__V1__Models *ret_models);

/* Reports classes, models, engines, memory of sottod and of the engines, and the counters. Engines are asked for their
 * figures first (100 ms at most), so the report is true now and not a second ago. */
int hub_status(struct hub *hub, const struct grant *grant, ticket_status_fn done, void *owner,
               struct ticket **ret_ticket, struct diag *diag);

#endif
