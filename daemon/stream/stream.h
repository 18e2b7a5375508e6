/*
 * Stream: one Generate or Embed, from its text to its last message
 *
 * Text to tokens in the text pool, a quota, a sequence in an engine, tokens to text through the output filter, credit
 * and parking, and exactly one end. All that is needed to go on after an engine is lost stands in the journal:
 * starting equals rebuilding from a journal that has no answer tokens yet. Calls of the connection change state only;
 * what they cause is called back from a later tick.
 *
 * The parts of a stream are each written by one file: request.c and prompt.c decide what is asked, sequence.c where it
 * is computed, answer.c what comes of it, credit.c what the client allows, report.c what the client knows.
 *
 * The loop's thread.
 */
#ifndef SOTTO_STREAM_STREAM_H
#define SOTTO_STREAM_STREAM_H

#include "govern/energy.h"
#include "registry/instance.h"
#include "stream/client.h"
#include "stream/grant.h"
#include "stream/histogram.h"
#include "stream/journal.h"
#include "stream/streams.h"
#include "text/output_filter.h"

/* stream_request::n_keep before the context is known; more than any. */
#define STREAM_KEEP_DEFAULT UINT32_MAX

enum stream_state {
    STREAM_TOKENIZING, /* its model loads, or its text is with the pool */
    STREAM_WAITING,    /* for its model, the dispatcher, or a rebuild; has no sequence */
    STREAM_RUNNING,    /* has a sequence that the planner may put into steps */
    STREAM_PARKED,     /* no credit, or its reader stalls; keeps its sequence while no other request needs the room */
    STREAM_ENDING,     /* its last message is due; what is in flight for it is dropped */
    STREAM_ENDED,      /* its last message is out */
    STREAM_STATE_COUNT,
};

/*
 * Holder: the part of the daemon that a stream works for beside its client (a session, an embedding, a pin). A plain
 * Generate has none. All calls are optional; @holder is stream_holder::self.
 */
struct stream_holder_ops {
    /* The tokens of its own text are known; others may be put before them (prompt_set()). Returns false if the
     * caller must stop, since the stream has ended or its text is being tokenised again. */
    bool (*on_prompt)(void *holder, struct stream *stream);
    /* The size of the prompt is known and checked; a sequence may be reserved for it. */
    void (*on_sized)(void *holder, struct stream *stream);
    /* Returns whether it may queue for a slot now. */
    bool (*may_queue)(const void *holder);
    /* Returns a sequence that it goes on with, or 0. */
    uint32_t (*lend)(void *holder, const struct stream *stream);
    /* The client is about to get @delta. 0 or -ENOMEM. */
    int (*on_delta)(void *holder, const Sotto__V1__Delta *delta);
    /* The pooled hidden state of its prompt is there. */
    void (*on_hidden)(void *holder, struct stream *stream, const float *hidden, size_t n);
    /* It ends: its sequence may be taken over (sequence_give()) before it is closed. */
    void (*on_ending)(void *holder, struct stream *stream);
    /* Reports the end in place of Done. Returns false if it leaves that to the stream. */
    bool (*report_end)(void *holder, struct stream *stream);
    /* It is about to be freed. */
    void (*on_freed)(void *holder, struct stream *stream);
};

extern const struct stream_holder_ops stream_no_holder;

struct stream_holder {
    const struct stream_holder_ops *ops;
    void *self;       /* NULL: it is gone, and the stream is not */
    struct list link; /* the holder's list of its streams, or none */
};

/* The request; constant once the stream waits for a slot. */
struct stream_request {
    Sotto__Engine__Sampler sampler; /* arrays owned */
    uint32_t max_tok;
    uint32_t first_by_ms; /* deadlines from its arrival; 0: none */
    uint32_t finish_by_ms;
    uint32_t n_context; /* in force, prompt and answer */
    uint32_t n_keep;    /* tokens at the beginning that never slide away */
    bool ignores_end;
    bool slides;             /* when the context is full; else the answer ends */
    bool pools;              /* samples nothing: it ends with the pooled hidden state of the prompt */
    bool prompt_only;        /* samples nothing visible: it ends when the prompt is computed */
    bool continues;          /* its text goes on from tokens before it: no token that begins a text */
    const char *message;     /* that it came in, for the names of fields: "generate" */
    struct stop_text *stops; /* owned, with their bytes behind them */
    size_t n_stops;
    char key[72]; /* uid and key, as in streams::keys; n_key 0: none */
    size_t n_key;
};

/* The sequence in an engine. */
struct stream_sequence {
    uint32_t number;     /* 0: none */
    bool is_lent;        /* goes on from its holder's, and has no answer yet */
    bool opened_alone;   /* when it was asked for the engine had no other */
    uint32_t pin_number; /* of a pin that its tokens begin as; 0: none */
};

/* Log-probabilities of a token with text that is still held back. */
struct stream_logprob {
    float logprob;
    uint32_t n_top;
    uint32_t *top_ids; /* owned, with the floats behind them */
    float *top_logprobs;
};

struct stream_answer {
    struct output_filter *filter;
    struct stream_logprob *logprobs; /* owned; of tokens not yet shown, oldest first */
    size_t n_logprobs;
    size_t cap_logprobs;
    uint32_t n_tok; /* sampled, whether shown or not */
};

struct stream_credit {
    bool is_rationed;
    uint32_t n_tok;  /* left */
    bool is_stalled; /* its connection asks to wait */
};

/* The state that the client knows. */
struct stream_reported {
    bool is_accepted;
    bool is_loading;         /* loading was reported; that it runs will be */
    bool is_throttled;       /* by its tokens a minute */
    enum governor_mode mode; /* of the machine: GOVERNOR_FULL, nothing holds it back */
    uint64_t mode_us;        /* when that was reported */
    bool is_preempted;
    bool is_rebuilding;
    char numerics[64]; /* in force for what comes next */
};

/* Monotonic clock; 0: not yet. */
struct stream_usage {
    uint64_t opened_us;
    uint64_t started_us; /* got its first slot */
    uint64_t first_us;
    uint64_t last_us;
    struct histogram gaps;
    uint32_t n_cached;
    uint32_t n_rebuilds;
    uint64_t energy_uj;
    enum energy_source energy_source;
};

/* The end, for the last message. */
struct stream_end {
    Sotto__V1__Code code; /* CODE_OK: Done with @reason */
    Sotto__V1__FinishReason reason;
    int stop; /* index into the stops, with FINISH_STOP */
    char sentence[DIAG_BYTES];
    char field[64];
    uint32_t retry_ms; /* of an error: try again then; 0: no use, or not known */
};

struct stream {
    struct list link;          /* streams::all */
    struct list instance_link; /* instance::streams */
    struct list soon;          /* streams::soon */
    struct job job;
    struct streams *streams;
    struct instance *instance; /* holds a reference */
    const struct stream_sink *sink;
    void *owner;
    bool is_forgotten; /* nothing is called back any more */
    struct stream_holder holder;
    enum stream_state state;
    uint64_t number;
    struct grant grant;
    uint64_t n_held; /* bytes charged to the account, beside journal and text */

    struct text_job *text_job; /* until its callback; NULL: tokens were given */
    struct ids prompt;         /* owned, until the journal has them */
    struct journal journal;    /* fd -1 until the prompt is known */

    struct stream_request request;
    struct stream_sequence sequence;
    struct stream_answer answer;
    struct stream_credit credit;
    struct stream_reported reported;
    struct stream_usage usage;
    struct stream_end end;
    struct blame_mark mark;
};

static inline struct stream *stream_of(struct job *job)
{
    return container_of(job, struct stream, job);
}

/* Takes the stream from its holder, which hears no more of it. */
static inline void stream_detach(struct stream *stream)
{
    stream->holder.ops = &stream_no_holder;
}

/* Returns whether its last message is due or out. */
bool stream_is_over(const struct stream *stream);

/* Changes the state; asserts that the move is legal. */
void stream_move(struct stream *stream, enum stream_state to);

/* Has the next tick attend to it. */
void stream_soon(struct stream *stream);

/* Tells watchers its number, its model, how it stands and its tokens. */
void stream_event(const struct stream *stream, const char *name, const char *how);

/* Returns @priority in the protocol's words. */
Sotto__V1__PriorityClass stream_class_of(enum priority priority);

/* End it; the last message comes in the next tick. A second end changes nothing. */
void stream_finish(struct stream *stream, Sotto__V1__FinishReason reason);
void stream_finish_stop(struct stream *stream, int stop); /* an index into the stops */
void stream_fail(struct stream *stream, Sotto__V1__Code code, const char *sentence);
void stream_fail_retry(struct stream *stream, Sotto__V1__Code code, const char *sentence, uint32_t retry_ms);
void stream_fail_diag(struct stream *stream, Sotto__V1__Code code, const struct diag *diag);

/* Renames @field, of @cap bytes, from a Generate's ("generate.…") to that of @message. */
void stream_name_field(char *field, size_t cap, const char *message);

/* Fails it: it needs more pages than there are. */
void stream_never_fits(struct stream *stream, uint32_t n_pages);

/* Fails it: its deadline has passed unmet. */
void stream_too_late(struct stream *stream);

/* Frees it; it is over and in no step. */
void stream_free(struct stream *stream);

/* Frees one that was never entered in streams::all. */
void stream_drop(struct stream *stream);

#endif
