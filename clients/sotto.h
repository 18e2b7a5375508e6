/*
 * libsotto: streams from the language model of this computer
 *
 * A struct sotto is a connection to sottod. The library numbers each request that is sent over it (its "stream"); many
 * may be open at once. A request is answered by events, exactly one of which is the last. There are two ways to get
 * them, and both may be used on one connection:
 *
 * - Pull: send without a callback, then sotto_next() waits for the events of that request.
 * - Push: send with a callback, and put the connection into your event loop: wait until sotto_fd() is ready for
 *   sotto_events(), then call sotto_dispatch(), which never blocks and calls the callbacks.
 *
 * sotto_ask() does all of it for one answer:
 *
 *     struct sotto_generate *request = sotto_generate_create();
 *     struct sotto_answer *answer = NULL;
 *     struct sotto *sotto = NULL;
 *     struct sotto_error error;
 *
 *     sotto_generate_set_text(request, "Once upon a time", 16);
 *     if (sotto_open(&sotto, NULL, "my-app/1.0", &error) || sotto_ask(sotto, request, &answer, &error)) {
 *         fprintf(stderr, "%s\n", error.message);
 *     } else {
 *         fwrite(answer->text, 1, answer->n_text, stdout);
 *     }
 *     sotto_answer_destroy(answer);
 *     sotto_close(sotto);
 *     sotto_generate_destroy(request);
 *
 * Failure: a function that can fail returns an enum sotto_code (SOTTO_OK is 0) and fills the caller's struct
 * sotto_error, unless that is NULL, with a sentence that may be shown to people.
 * Memory: what an event points to is valid until the callback returns or, with sotto_next(), until the next call on the
 * same connection; it may not be written to. What is given to the library is copied. Objects (sotto, sotto_generate,
 * sotto_answer) are freed by the function that their comment names.
 * Text: bytes with a length, since it may hold a zero byte. It is whole UTF-8 characters in both directions; the
 * library puts a zero byte behind text that it hands out. Names are strings of [A-Za-z0-9._:/-].
 * Threads: a connection and everything of it may be used by one thread at a time; connections are independent of each
 * other. The library starts no thread, has no global state, installs no signal handler and never raises SIGPIPE.
 * Growing: structs that only the library makes may grow at their end, and enums may get more values, without a new
 * number in the library's name. So do not allocate such structs, and ignore kinds that you do not know.
 * fork(): only one of the two processes may go on using a connection.
 */
#ifndef SOTTO_H
#define SOTTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. It rises when something is added. */
#define SOTTO_API 1

#if defined(__GNUC__)
#define SOTTO_EXPORT __attribute__((visibility("default")))
#else
#define SOTTO_EXPORT
#endif

/* Returns the version of the running library: "0.1.0". */
SOTTO_EXPORT const char *sotto_version(void);

/* ------------------------------------------------------------------------------------------------- failure */

/* The numbers and meanings are those of gRPC. */
enum sotto_code {
    SOTTO_OK = 0,
    SOTTO_CANCELLED = 1,
    SOTTO_UNKNOWN = 2,
    SOTTO_INVALID_ARGUMENT = 3,
    SOTTO_DEADLINE_EXCEEDED = 4,
    SOTTO_NOT_FOUND = 5,
    SOTTO_ALREADY_EXISTS = 6,
    SOTTO_PERMISSION_DENIED = 7,
    SOTTO_RESOURCE_EXHAUSTED = 8,
    SOTTO_FAILED_PRECONDITION = 9,
    SOTTO_ABORTED = 10,
    SOTTO_OUT_OF_RANGE = 11,
    SOTTO_UNIMPLEMENTED = 12,
    SOTTO_INTERNAL = 13,
    SOTTO_UNAVAILABLE = 14,
    SOTTO_DATA_LOSS = 15,
    SOTTO_UNAUTHENTICATED = 16,
};

/* Allocated by the caller: its size is part of this interface and does not change. */
struct sotto_error {
    enum sotto_code code;
    uint32_t retry_after_ms; /* 0: trying again will not help, or it is not known when */
    char field[64];          /* the field at fault, "generate.sampling.top_p", or empty */
    char message[512];       /* a sentence: what happened, where, what to do */
};

/* Returns "INVALID_ARGUMENT" and the like; "?" for a number that is no code. */
SOTTO_EXPORT const char *sotto_code_name(enum sotto_code code);

/* ------------------------------------------------------------------------------------------------- connection */

struct sotto; /* a connection */

/*
 * Connects to the daemon at @path. NULL: at SOTTO_SOCKET; if that is not set, at $XDG_RUNTIME_DIR/sotto.sock if a
 * daemon listens there, else at /run/sotto/sotto.sock. @client names the program in logs ("my-app/1.0"). Does not wait
 * for the daemon's greeting; requests may be sent at once and leave after it. UNAVAILABLE: no daemon listens there.
 * Close with sotto_close().
 */
SOTTO_EXPORT enum sotto_code sotto_open(struct sotto **ret_sotto, const char *path, const char *client,
                                        struct sotto_error *error);

/* Does the same over a connected stream socket. The library owns @fd if this succeeds. */
SOTTO_EXPORT enum sotto_code sotto_open_fd(struct sotto **ret_sotto, int fd, const char *client,
                                           struct sotto_error *error);

/* Closes the connection, which cancels open requests without events. NULL is allowed. In a callback it takes effect
 * when the callback returns, and no other one is called. */
SOTTO_EXPORT void sotto_close(struct sotto *sotto);

/* Returns the descriptor to wait for, the same for the connection's life, and the poll() events wanted now (POLLIN,
 * POLLOUT); ask for the events again after each call on the connection. */
SOTTO_EXPORT int sotto_fd(const struct sotto *sotto);
SOTTO_EXPORT short sotto_events(const struct sotto *sotto);

/*
 * Sends and reads as much as is possible without waiting, and calls callbacks. UNAVAILABLE, or the code of the daemon's
 * last error: the connection is lost, every open request has got its last event, and only sotto_close() is left to do.
 * CANCELLED: a callback has called sotto_close(), and the connection is gone.
 */
SOTTO_EXPORT enum sotto_code sotto_dispatch(struct sotto *sotto, struct sotto_error *error);

/* Waits at most @timeout_ms (below 0: without a limit) for something to do, then dispatches. DEADLINE_EXCEEDED: nothing
 * came. Returns OK when a signal interrupts, so that the caller can look at its flags. */
SOTTO_EXPORT enum sotto_code sotto_wait(struct sotto *sotto, int timeout_ms, struct sotto_error *error);

/* Priority class of a request. */
enum sotto_class {
    SOTTO_CLASS_DEFAULT = 0, /* the one that policy gives this user */
    SOTTO_CLASS_BACKGROUND = 1,
    SOTTO_CLASS_INTERACTIVE = 2,
    SOTTO_CLASS_REALTIME = 3,
};

/* The daemon's greeting. Limits are those of this user, after policy. */
struct sotto_welcome {
    const char *server;   /* "sottod/0.1.0" */
    const char *instance; /* new at each start of the daemon */
    uint32_t version;     /* of the protocol */
    uint32_t frame_bytes;
    uint32_t streams; /* open at once on one connection */
    uint32_t text_bytes;
    uint32_t context_tokens;
    uint32_t answer_tokens; /* the maximum, and what is used when none is given */
    uint32_t stops;
    uint32_t stop_bytes;
    uint32_t logprobs;
    enum sotto_class class_ceiling;
    bool admin; /* may load, unload, reload */
    size_t n_capabilities;
    const char *const *capabilities;
};

/* Returns the greeting, valid as long as the connection; NULL until it has come. */
SOTTO_EXPORT const struct sotto_welcome *sotto_welcome(const struct sotto *sotto);

/* Waits for the greeting, at most @timeout_ms (below 0: without a limit). */
SOTTO_EXPORT enum sotto_code sotto_greet(struct sotto *sotto, int timeout_ms, struct sotto_error *error);

/* ------------------------------------------------------------------------------------------------- events */

enum sotto_event_kind {
    SOTTO_EVENT_ACCEPTED = 1, /* of generate */
    SOTTO_EVENT_DELTA,
    SOTTO_EVENT_NOTICE,
    SOTTO_EVENT_DONE,        /* last; also of watch, after sotto_cancel() */
    SOTTO_EVENT_ERROR,       /* last */
    SOTTO_EVENT_TOKENIZED,   /* last */
    SOTTO_EVENT_DETOKENIZED, /* last */
    SOTTO_EVENT_MODELS,      /* last */
    SOTTO_EVENT_PROGRESS,    /* of load */
    SOTTO_EVENT_MODEL,       /* last; of load */
    SOTTO_EVENT_UNLOADED,    /* last; has no body */
    SOTTO_EVENT_STATUS,      /* last */
    SOTTO_EVENT_WATCHED,     /* of watch */
    SOTTO_EVENT_RELOADED,    /* last */
    SOTTO_EVENT_EMBEDDED,    /* last */
    SOTTO_EVENT_SESSION,     /* last; of opening and closing a session */
};

struct sotto_accepted {
    uint32_t queue_position; /* requests before this one in its queue; 0: it is next */
    uint32_t prompt_tokens;  /* 0: not counted yet */
    uint32_t max_tokens;     /* in force, as are the following */
    uint64_t seed;
    const char *model;
    enum sotto_class priority;
    const char *numerics; /* the arithmetic that decides the bits; empty while the model loads */
};

struct sotto_logprobs {
    float logprob; /* natural logarithm of the token's own probability, before temperature and filters */
    size_t n_top;
    const uint32_t *top_ids; /* best first */
    const float *top_logprobs;
};

/* A run of whole tokens that spells whole characters. */
struct sotto_delta {
    uint32_t first; /* index of tokens[0] in the answer */
    size_t n_tokens;
    const uint32_t *tokens;
    size_t n_text;
    const char *text;
    const struct sotto_logprobs *logprobs; /* n_tokens of them, or NULL */
};

enum sotto_notice_kind {
    SOTTO_NOTICE_QUEUED = 1,
    SOTTO_NOTICE_RUNNING = 2,
    SOTTO_NOTICE_THROTTLED = 3,
    SOTTO_NOTICE_PREEMPTED = 4,
    SOTTO_NOTICE_RESUMED = 5,
    SOTTO_NOTICE_MOVED = 6,      /* goes on with other numerics; tokens already sent never change */
    SOTTO_NOTICE_LOADING = 7,    /* waits for its model */
    SOTTO_NOTICE_REBUILDING = 8, /* its engine was lost; it goes on when a new one has caught up */
    SOTTO_NOTICE_SLID = 9,       /* the context was full; the model has dropped a part of it and goes on */
};

struct sotto_notice {
    enum sotto_notice_kind kind;
    const char *detail;
    uint32_t queue_position; /* QUEUED: as in sotto_accepted */
    uint32_t first_token;    /* MOVED: the first one that has the numerics @to */
    const char *from;        /* MOVED */
    const char *to;          /* MOVED; RUNNING after loading: the numerics in force */
};

enum sotto_finish {
    SOTTO_FINISH_UNSPECIFIED = 0,
    SOTTO_FINISH_END = 1,     /* the model's end token, which is not among the tokens */
    SOTTO_FINISH_STOP = 2,    /* a stop string */
    SOTTO_FINISH_LENGTH = 3,  /* max_tokens */
    SOTTO_FINISH_CONTEXT = 4, /* the context is full */
    SOTTO_FINISH_CANCELLED = 5,
};

struct sotto_usage {
    uint32_t prompt_tokens;
    uint32_t cached_tokens;    /* of the prompt, found in the KV cache */
    uint32_t generated_tokens; /* computed for this answer, shown or not */
    uint64_t queue_us;
    uint64_t ttft_us; /* time to first token: from the request's arrival at the daemon until it was sampled */
    uint64_t total_us;
    uint32_t itl_p50_us; /* inter-token latency */
    uint32_t itl_p99_us;
    uint64_t energy_uj;
    uint32_t energy_source; /* 0 unknown, 1 estimated, 2 measured */
    uint32_t rebuilds;      /* times that the engine was lost during this answer */
};

struct sotto_done {
    enum sotto_finish reason;
    const char *reason_name; /* "end", "stop", "length", "context", "cancelled" */
    size_t n_stop;
    const char *stop; /* FINISH_STOP: the stop string */
    struct sotto_usage usage;
    double tokens_per_second; /* from the second token on; 0 with fewer than two */
};

struct sotto_tokenized {
    size_t n;
    const uint32_t *ids;
    size_t n_pieces; /* @n, or 0 when they were not asked for */
    const struct sotto_bytes *pieces;
};

struct sotto_bytes {
    size_t n;
    const char *bytes;
};

enum sotto_model_state {
    SOTTO_MODEL_KNOWN = 1, /* configured, not loaded */
    SOTTO_MODEL_LOADING = 2,
    SOTTO_MODEL_READY = 3,
    SOTTO_MODEL_RECOVERING = 4, /* its engine was lost; streams wait and go on */
    SOTTO_MODEL_UNLOADING = 5,
    SOTTO_MODEL_FAILED = 6, /* @reason says why */
};

enum sotto_pin_state {
    SOTTO_PIN_WAITING = 1, /* for its model, for pins before it, or for memory (@reason) */
    SOTTO_PIN_COMPUTING = 2,
    SOTTO_PIN_HELD = 3,    /* prompts find it */
    SOTTO_PIN_REFUSED = 4, /* @reason says why */
};

/* A prompt prefix that policy has the daemon compute in advance and keep. */
struct sotto_pin {
    const char *name;
    enum sotto_pin_state state;
    const char *state_name; /* "held" */
    const char *reason;
    uint32_t tokens; /* 0: not known yet */
    uint32_t pages;
    uint64_t hits;       /* requests that found some of it */
    uint64_t hit_tokens; /* tokens that those requests did not have to compute */
    size_t n_users;      /* users that may find it, 0: all; only shown to users that may observe */
    const uint32_t *users;
};

struct sotto_model {
    const char *name;
    enum sotto_model_state state;
    const char *state_name; /* "ready" */
    const char *reason;
    bool is_default;
    const char *file; /* for administrators, else empty */
    uint64_t file_bytes;
    const char *architecture;
    const char *format; /* of most weights: "Q4_1" */
    uint64_t parameters;
    uint32_t vocabulary;
    uint32_t context_tokens; /* in force */
    uint32_t trained_context_tokens;
    uint32_t kv_bytes_per_token;
    uint32_t kv_pages;
    uint32_t kv_pages_used; /* 0 unless this user may observe */
    const char *backend;    /* "cpu/avx2" */
    bool chat;              /* its chat template is supported */
    const char *chat_reason;
    float load_fraction; /* LOADING */
    uint64_t load_us;
    uint32_t embedding_values; /* of an embedding; 0: it makes none, or is not loaded yet */
    size_t n_pins;             /* that this user's prompts may find; all pins for users that may observe */
    const struct sotto_pin *pins;
};

struct sotto_models {
    size_t n;
    const struct sotto_model *models;
};

struct sotto_progress {
    float fraction;    /* 0 to 1 */
    const char *phase; /* "mapping", "checking", "warming" */
};

struct sotto_memory_kind {
    const char *kind;   /* "weights", "kv", "wire", ... */
    const char *holder; /* "sottod", or the model's name */
    uint64_t bytes;
    uint64_t peak_bytes;
};

struct sotto_class_counts {
    enum sotto_class priority;
    uint32_t queued;
    uint32_t running;
    uint32_t parked; /* wait for their client */
};

struct sotto_engine {
    const char *model;
    uint32_t pid;
    uint32_t starts;
    const char *last_exit; /* "signal 9 (killed) after 12.3 s" */
    uint64_t steps;
    uint64_t tokens; /* sampled */
    uint64_t rows;   /* computed, of prompts and answers */
    uint64_t weight_passes;
    uint64_t step_allocations;
    uint32_t sequences;
    uint32_t pages_free;   /* of KV memory; free + cached + held = kv_pages of the model */
    uint32_t pages_cached; /* kept for prompts that begin the same */
    uint32_t pages_held;
    uint64_t pages_evicted;         /* from the cache, to make room */
    uint64_t draft_tokens;          /* guessed from the text before */
    uint64_t draft_tokens_accepted; /* of them, sampled: each saved a step */
};

struct sotto_counter {
    const char *name; /* as in OpenMetrics */
    uint64_t value;
};

/* A device that draws, or could compute. */
struct sotto_device {
    const char *node;   /* "/dev/dri/renderD128" */
    const char *driver; /* "powervr 1.0.0" */
    const char *chip;
    bool chosen;
    bool claimed; /* for this daemon */
    const char *why;
    const char *load_source; /* "fdinfo"; empty: its load is unknown */
};

enum sotto_sensor_state {
    SOTTO_SENSOR_UNSPECIFIED = 0,
    SOTTO_SENSOR_OK = 1,
    SOTTO_SENSOR_STALE = 2,
    SOTTO_SENSOR_ABSENT = 3,
    SOTTO_SENSOR_IMPLAUSIBLE = 4,
    SOTTO_SENSOR_FORBIDDEN = 5,
};

struct sotto_sensor {
    const char *quantity; /* "temperature" */
    const char *name;     /* "zone gpu-thermal" */
    const char *unit;     /* "m°C" */
    enum sotto_sensor_state state;
    const char *state_name; /* "ok" */
    int64_t value;          /* with OK, STALE and IMPLAUSIBLE */
    uint32_t age_ms;
    bool in_use; /* it decides for its quantity */
    const char *why;
    size_t n_history; /* one value a second, oldest first */
    const int64_t *history;
    uint32_t blind_permille; /* of a load: the share that could not be seen */
};

/* How much of a processor sotto may use now. */
struct sotto_governor {
    const char *processor; /* "device" (GPU), "cores" (CPU) */
    const char *mode;      /* "full", "shared", "thin", "cpu", "paused" */
    const char *cause;     /* "heat" */
    uint32_t slice_us;     /* of uninterrupted work at most; 0: no limit */
    uint32_t duty_permille;
    uint32_t rows;               /* of a step at most; 0: no limit but the engine's */
    enum sotto_class class_gate; /* lower classes wait */
    uint64_t since_ms;           /* in this mode */
    uint64_t changes;            /* of mode, since start */
    uint64_t held_us;            /* sum of the slices that are over, since start */
    uint64_t slices;             /* their number */
};

/* The account of what the daemon computes for itself (pins). */
#define SOTTO_UID_DAEMON UINT32_MAX

struct sotto_account {
    uint32_t uid;    /* or SOTTO_UID_DAEMON */
    uint64_t tokens; /* computed for it, of prompts and answers */
    uint64_t energy_uj;
    uint32_t energy_source; /* 0 unknown, 1 estimated, 2 measured */
    uint32_t requests;      /* open now */
    uint64_t refused;
};

struct sotto_status {
    const char *instance;
    const char *server;
    uint64_t uptime_ms;
    const char *config_file;
    uint64_t config_generation;
    size_t n_memory;
    const struct sotto_memory_kind *memory;
    uint64_t rss_bytes;
    uint32_t descriptors;
    uint32_t connections; /* of this user; all for users that may observe */
    size_t n_classes;
    const struct sotto_class_counts *classes; /* of this user's requests; of all for users that may observe */
    size_t n_models;
    const struct sotto_model *models;
    size_t n_engines;
    const struct sotto_engine *engines;
    size_t n_counters;
    const struct sotto_counter *counters;
    size_t n_devices;
    const struct sotto_device *devices;
    size_t n_sensors;
    const struct sotto_sensor *sensors;
    size_t n_governor;
    const struct sotto_governor *governor; /* one for each processor */
    size_t n_accounts;
    const struct sotto_account *accounts; /* this user's; all accounts for users that may observe */
    uint32_t sessions;
};

struct sotto_pair {
    const char *key;
    const char *value;
};

struct sotto_watched {
    uint64_t at_us; /* CLOCK_REALTIME */
    const char *topic;
    const char *name; /* "engine-lost" */
    size_t n_pairs;
    const struct sotto_pair *pairs;
    uint32_t dropped; /* events lost before this one, because the client read too slowly */
};

struct sotto_reloaded {
    uint64_t config_generation;
    size_t n_applied; /* paths of settings that changed */
    const char *const *applied;
    size_t n_needs_restart;
    const char *const *needs_restart;
};

struct sotto_embedding {
    size_t n_values;
    const float *values;
    uint32_t prompt_tokens;
    const char *model;    /* in force */
    const char *numerics; /* the arithmetic that decides the bits */
};

/* A conversation that the daemon keeps. */
struct sotto_session {
    uint64_t id;       /* for sotto_generate_set_session(); 0 when it was closed */
    uint32_t tokens;   /* that it holds, or held */
    const char *model; /* this and the rest only of one that was opened */
    uint32_t context_tokens;
    uint32_t idle_ms; /* it ends after this time without a request */
};

struct sotto_event {
    enum sotto_event_kind kind;
    uint32_t stream;
    bool last; /* nothing follows on this stream */
    union {    /* by @kind */
        const struct sotto_accepted *accepted;
        const struct sotto_delta *delta;
        const struct sotto_notice *notice;
        const struct sotto_done *done;
        const struct sotto_error *error;
        const struct sotto_tokenized *tokenized;
        const struct sotto_bytes *detokenized;
        const struct sotto_models *models;
        const struct sotto_progress *progress;
        const struct sotto_model *model;
        const struct sotto_status *status;
        const struct sotto_watched *watched;
        const struct sotto_reloaded *reloaded;
        const struct sotto_embedding *embedded;
        const struct sotto_session *session;
    };
};

/* Called by sotto_dispatch() and by the functions that wait. It may send, cancel, grant and close; it may not wait. */
typedef void (*sotto_event_fn)(void *owner, const struct sotto_event *event);

/*
 * Waits for the next event of @stream, a request that was sent without a callback; callbacks of other requests are
 * called meanwhile. An ERROR event comes as the returned code with *error filled, and so does the loss of the
 * connection. NOT_FOUND: the last event was already given. OK with *ret_event NULL: a signal interrupted; look at your
 * flags and call again.
 */
SOTTO_EXPORT enum sotto_code sotto_next(struct sotto *sotto, uint32_t stream, const struct sotto_event **ret_event,
                                        struct sotto_error *error);

/* ------------------------------------------------------------------------------------------------- generating */

/*
 * A request for an answer. It may be sent any number of times; what is not set has the model's or policy's default.
 * Setters copy. If memory is short they fail silently and the sending reports it. The prompt is the one of the last
 * call of set_text, set_tokens or add_message. Destroying it does not touch what was sent.
 */
struct sotto_generate;

SOTTO_EXPORT struct sotto_generate *sotto_generate_create(void); /* NULL: no memory */
SOTTO_EXPORT void sotto_generate_destroy(struct sotto_generate *request);

SOTTO_EXPORT void sotto_generate_set_model(struct sotto_generate *request, const char *name);

/* Sets the prompt as it is, without a template. */
SOTTO_EXPORT void sotto_generate_set_text(struct sotto_generate *request, const char *text, size_t n);

/* Sets the prompt as exactly these tokens. */
SOTTO_EXPORT void sotto_generate_set_tokens(struct sotto_generate *request, const uint32_t *ids, size_t n);

/* Adds a message to a conversation, which the model's chat template renders. @role: "system", "user", "assistant",
 * "tool". */
SOTTO_EXPORT void sotto_generate_add_message(struct sotto_generate *request, const char *role, const char *text,
                                             size_t n);

/* Sets what else the template may read of the last message added: a JSON object with "name", "tool_calls" and the like;
 * its "content" (null, or parts) replaces the text. Does nothing without a message. */
SOTTO_EXPORT void sotto_generate_set_message_fields(struct sotto_generate *request, const char *json, size_t n);

/* Add a tool that the template shows to the model, as JSON; set other variables of the template, as a JSON object
 * ({"enable_thinking": false}). Both have an effect with messages only. */
SOTTO_EXPORT void sotto_generate_add_tool(struct sotto_generate *request, const char *json, size_t n);
SOTTO_EXPORT void sotto_generate_set_variables(struct sotto_generate *request, const char *json, size_t n);

SOTTO_EXPORT void sotto_generate_set_temperature(struct sotto_generate *request, float temperature); /* 0: greedy */
SOTTO_EXPORT void sotto_generate_set_top_k(struct sotto_generate *request, uint32_t top_k);
SOTTO_EXPORT void sotto_generate_set_top_p(struct sotto_generate *request, float top_p);
SOTTO_EXPORT void sotto_generate_set_min_p(struct sotto_generate *request, float min_p);
SOTTO_EXPORT void sotto_generate_set_seed(struct sotto_generate *request, uint64_t seed);
SOTTO_EXPORT void sotto_generate_set_repetition_penalty(struct sotto_generate *request, float penalty);
SOTTO_EXPORT void sotto_generate_set_frequency_penalty(struct sotto_generate *request, float penalty);
SOTTO_EXPORT void sotto_generate_set_presence_penalty(struct sotto_generate *request, float penalty);
SOTTO_EXPORT void sotto_generate_set_penalty_window(struct sotto_generate *request, uint32_t tokens);
SOTTO_EXPORT void sotto_generate_add_bias(struct sotto_generate *request, uint32_t id, float bias);

/* Asks for the log-probability of each token and of the @n_top likeliest ones at its position. */
SOTTO_EXPORT void sotto_generate_set_logprobs(struct sotto_generate *request, uint32_t n_top);

SOTTO_EXPORT void sotto_generate_set_max_tokens(struct sotto_generate *request, uint32_t tokens);
SOTTO_EXPORT void sotto_generate_add_stop(struct sotto_generate *request, const char *text, size_t n);
SOTTO_EXPORT void sotto_generate_set_class(struct sotto_generate *request, enum sotto_class priority);

/* Sets flow control: the daemon computes @tokens, then parks the stream until sotto_grant() gives more. Not set: it
 * goes on as long as its events are read. */
SOTTO_EXPORT void sotto_generate_set_credit(struct sotto_generate *request, uint32_t tokens);

/* Set deadlines for the first token and for the whole answer, 1 to 3600000 ms after the request's arrival. One that
 * can't be met beside what was promised to others is refused at once (RESOURCE_EXHAUSTED, with a time to try again);
 * one that passes ends the request with DEADLINE_EXCEEDED. */
SOTTO_EXPORT void sotto_generate_set_first_token_by(struct sotto_generate *request, uint32_t ms);
SOTTO_EXPORT void sotto_generate_set_finish_by(struct sotto_generate *request, uint32_t ms);

/* Names the answer. No other open request of this user may have the same name. */
SOTTO_EXPORT void sotto_generate_set_key(struct sotto_generate *request, const char *key);

/* Lets the answer go on past the model's end tokens. */
SOTTO_EXPORT void sotto_generate_set_ignore_end(struct sotto_generate *request, bool ignore);

/* Continues a session: the prompt follows what it holds, and the answer joins it. One request at a time. */
SOTTO_EXPORT void sotto_generate_set_session(struct sotto_generate *request, uint64_t session);

/* Lets the answer go on when the context is full: the first @keep tokens (at most half of the context) stay, and the
 * later half of the others. Not set: the answer ends. */
SOTTO_EXPORT void sotto_generate_set_slide(struct sotto_generate *request, uint32_t keep);

/* ------------------------------------------------------------------------------------------------- sending
 *
 * Each function sends a request and writes its number into *ret_stream (NULL: not wanted). @fn NULL: fetch the events
 * with sotto_next(). @model NULL: the default model. No function waits: what the socket does not take stays queued, and
 * sotto_events() asks for POLLOUT. No event comes before the call returns. Each comment names the events of success.
 */

/* ACCEPTED, DELTA and NOTICE, then DONE. */
SOTTO_EXPORT enum sotto_code sotto_send_generate(struct sotto *sotto, const struct sotto_generate *request,
                                                 sotto_event_fn fn, void *owner, uint32_t *ret_stream,
                                                 struct sotto_error *error);

#define SOTTO_TOKENIZE_SPECIAL 1u /* control tokens in the text count; BOS is added if the vocabulary asks for it */
#define SOTTO_TOKENIZE_PIECES  2u /* also the bytes of each token */

/* TOKENIZED. */
SOTTO_EXPORT enum sotto_code sotto_send_tokenize(struct sotto *sotto, const char *model, const char *text, size_t n,
                                                 uint32_t flags, sotto_event_fn fn, void *owner, uint32_t *ret_stream,
                                                 struct sotto_error *error);

/* DETOKENIZED. @special: print control tokens, too. */
SOTTO_EXPORT enum sotto_code sotto_send_detokenize(struct sotto *sotto, const char *model, const uint32_t *ids,
                                                   size_t n, bool special, sotto_event_fn fn, void *owner,
                                                   uint32_t *ret_stream, struct sotto_error *error);

#define SOTTO_EMBED_RAW 1u /* as the model pools it; without this flag divided by its length */

/* EMBEDDED, from a model that makes embeddings (sotto_model::embedding_values); others give FAILED_PRECONDITION. */
SOTTO_EXPORT enum sotto_code sotto_send_embed(struct sotto *sotto, const char *model, const char *text, size_t n,
                                              uint32_t flags, enum sotto_class priority, sotto_event_fn fn, void *owner,
                                              uint32_t *ret_stream, struct sotto_error *error);

/* EMBEDDED, from exactly these tokens: nothing is put around them. */
SOTTO_EXPORT enum sotto_code sotto_send_embed_tokens(struct sotto *sotto, const char *model, const uint32_t *ids,
                                                     size_t n, uint32_t flags, enum sotto_class priority,
                                                     sotto_event_fn fn, void *owner, uint32_t *ret_stream,
                                                     struct sotto_error *error);

/*
 * SESSION. Opens a conversation that belongs to the user, not to the connection. It ends with its model, with the
 * daemon, or after @idle_ms (0: as long as policy allows) without a request. @begin (NULL: nothing) gives the prompt
 * that it begins with, which is computed in advance, and model, class and slide; its other settings are ignored.
 */
SOTTO_EXPORT enum sotto_code sotto_send_session_open(struct sotto *sotto, const struct sotto_generate *begin,
                                                     uint32_t idle_ms, sotto_event_fn fn, void *owner,
                                                     uint32_t *ret_stream, struct sotto_error *error);

/* SESSION. A request that runs in the session is cancelled first. */
SOTTO_EXPORT enum sotto_code sotto_send_session_close(struct sotto *sotto, uint64_t session, sotto_event_fn fn,
                                                      void *owner, uint32_t *ret_stream, struct sotto_error *error);

/* MODELS. */
SOTTO_EXPORT enum sotto_code sotto_send_models(struct sotto *sotto, sotto_event_fn fn, void *owner,
                                               uint32_t *ret_stream, struct sotto_error *error);

/* PROGRESS, then MODEL. @file: a path that the daemon can open (administrators), or NULL: the configured one. */
SOTTO_EXPORT enum sotto_code sotto_send_load(struct sotto *sotto, const char *name, const char *file, sotto_event_fn fn,
                                             void *owner, uint32_t *ret_stream, struct sotto_error *error);

/* UNLOADED. @now: its streams end with UNAVAILABLE; else the daemon waits for them. */
SOTTO_EXPORT enum sotto_code sotto_send_unload(struct sotto *sotto, const char *name, bool now, sotto_event_fn fn,
                                               void *owner, uint32_t *ret_stream, struct sotto_error *error);

/* STATUS. */
SOTTO_EXPORT enum sotto_code sotto_send_status(struct sotto *sotto, sotto_event_fn fn, void *owner,
                                               uint32_t *ret_stream, struct sotto_error *error);

/* WATCHED until sotto_cancel(), then DONE. @topics: "model", "engine", "stream", "mode", "config", "sense", "session";
 * none stands for all. */
SOTTO_EXPORT enum sotto_code sotto_send_watch(struct sotto *sotto, const char *const *topics, size_t n_topics,
                                              sotto_event_fn fn, void *owner, uint32_t *ret_stream,
                                              struct sotto_error *error);

/* RELOADED. */
SOTTO_EXPORT enum sotto_code sotto_send_reload(struct sotto *sotto, sotto_event_fn fn, void *owner,
                                               uint32_t *ret_stream, struct sotto_error *error);

/* A compositor's knowledge of the screen, which is better than any sensor's. */
struct sotto_hint {
    uint32_t frame_budget_us; /* time from one frame to the next; 0: not known */
    uint32_t missed_frames;   /* since the last hint */
    uint32_t busy_for_us;     /* the screen will be drawn hard for this time */
};

/* Sends a hint, which has no answer. It holds until the next hint, for a second (busy_for_us for as long as it says),
 * or until the connection closes. Policy must allow it ("graphics-hint" is among the capabilities); if not, this is
 * PERMISSION_DENIED once the greeting has come. */
SOTTO_EXPORT enum sotto_code sotto_send_hint(struct sotto *sotto, const struct sotto_hint *hint,
                                             struct sotto_error *error);

/* Ends a generate or a watch early; its DONE (or an event that crossed this call) still comes. OK if @stream is not
 * open. */
SOTTO_EXPORT enum sotto_code sotto_cancel(struct sotto *sotto, uint32_t stream, struct sotto_error *error);

/* Cancels @stream and delivers no more of its events, for owners that go away first. */
SOTTO_EXPORT void sotto_drop(struct sotto *sotto, uint32_t stream);

/* Grants @tokens more to a generate with credit, and tells the daemon what the caller has received so far. */
SOTTO_EXPORT enum sotto_code sotto_grant(struct sotto *sotto, uint32_t stream, uint32_t tokens,
                                         struct sotto_error *error);

/* ------------------------------------------------------------------------------------------------- whole answers */

struct sotto_answer {
    size_t n_text;
    char *text; /* followed by a zero byte */
    size_t n_tokens;
    uint32_t *tokens;
    enum sotto_finish reason;
    const char *reason_name; /* "end", "stop", ... */
    uint64_t seed;           /* in force */
    struct sotto_usage usage;
    double tokens_per_second;
};

/* Sends @request, waits, and returns the whole answer; free it with sotto_answer_destroy(). */
SOTTO_EXPORT enum sotto_code sotto_ask(struct sotto *sotto, const struct sotto_generate *request,
                                       struct sotto_answer **ret_answer, struct sotto_error *error);
SOTTO_EXPORT void sotto_answer_destroy(struct sotto_answer *answer);

#ifdef __cplusplus
}
#endif

#endif
