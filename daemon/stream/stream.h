/*
 * Stream: one Generate or Embed, from its words to its last message
 *
 * Text to tokens in the pool, a place in the queue, a sequence in an engine, tokens to text through the stage, credit
 * and parking, and exactly one end. All that is needed to go on after an engine is lost stands in the journal, and a
 * first start is a rebuild of an empty one. Calls of the connection change state only; what they cause is called back
 * from a later turn.
 *
 * The loop's thread.
 */
#ifndef SOTTO_STREAM_STREAM_H
#define SOTTO_STREAM_STREAM_H

#include "hub/hub_state.h"
#include "registry/blame.h"
#include "registry/instance.h"
#include "stream/histogram.h"
#include "stream/journal.h"
#include "text/output_filter.h"

/* stream::n_keep before the context is known; more than any. */
#define STREAM_KEEP_UNSAID UINT32_MAX

enum stream_state {
    STREAM_TOKENIZING, /* its model loads, or its text is with the pool */
    STREAM_WAITING,    /* for its model, its turn, or a rebuild; holds no sequence */
    STREAM_RUNNING,    /* has a sequence that the planner may put into steps */
    STREAM_PARKED,     /* no credit, or its reader stalls; keeps its sequence while nobody else wants the room */
    STREAM_ENDING,     /* its last message is due; what is in flight for it is dropped */
    STREAM_ENDED,      /* its last message is out */
    STREAM_STATE_COUNT,
};

/* Log-probabilities of a token whose text is still held back. */
struct stream_logprob {
    float logprob;
    uint32_t n_top;
    uint32_t *top_ids; /* owned, with the floats behind them */
    float *top_logprobs;
};

/* How it ends. */
struct stream_end {
    Sotto__V1__Code code; /* CODE_OK: Done with @reason */
    Sotto__V1__FinishReason reason;
    int stop; /* index into the stops, with FINISH_STOP */
    char sentence[DIAG_BYTES];
    char field[64];
    uint32_t retry_ms; /* of an error: try again then; 0: no use, or nobody knows */
};

struct session;
struct pin;

struct stream {
    struct list link;          /* hub::streams */
    struct list instance_link; /* instance::streams */
    struct list soon;          /* hub::soon */
    struct job job;
    struct hub *hub;
    struct instance *instance; /* holds a reference */
    const struct stream_sink *sink;
    void *owner;
    bool is_forgotten; /* nothing is called back any more */
    enum stream_state state;
    uint64_t number;
    struct grant grant;
    uint64_t n_held; /* bytes charged to the account, but for journal and words */

    /* Of a session's turn. */
    struct session *session; /* NULL: none, or it has ended */
    bool opens;              /* samples nothing visible: it ends when the session's beginning is computed */
    bool extends;            /* was lent the session's sequence, and is not seated yet */

    struct pin *pin;     /* that it computes, or NULL */
    uint32_t looks_like; /* number of a pin that its tokens begin as; 0: none */

    bool opens_alone; /* when its sequence was asked for the engine had no other */

    /* What was asked. */
    Sotto__Engine__Sampler sampler; /* arrays owned */
    uint32_t max_tok;
    uint32_t first_by_ms; /* deadlines from its arrival; 0: none */
    uint32_t finish_by_ms;
    bool ignores_end;
    bool embeds;             /* samples nothing: it ends with the pooled hidden state of the prompt, */
    bool is_raw;             /* as it is, and not of length 1 */
    bool slides;             /* when the context is full; else the answer ends */
    uint32_t n_keep;         /* tokens at the beginning that never slide away */
    struct stop_text *stops; /* owned, with their bytes behind them */
    size_t n_stops;
    char key[72]; /* uid and key, as in hub::keys; n_key 0: none */
    size_t n_key;
    struct text_job *text_job; /* until its callback; NULL: tokens were given */
    struct ids prompt;         /* owned, until the journal has them */

    /* The answer. */
    struct journal journal; /* fd -1 until the words are there */
    struct output_filter *filter;
    struct stream_logprob *logprobs; /* owned; of tokens not yet shown, oldest first */
    size_t n_logprobs;
    size_t cap_logprobs;
    uint32_t n_context; /* in force, prompt and answer */
    uint32_t n_answer;  /* tokens sampled, whether shown or not */
    float *hidden;      /* owned; what it embeds to, once that is there */
    size_t n_hidden;
    uint32_t sequence; /* 0: none */
    bool has_credit;
    uint32_t credit; /* tokens left */
    bool is_stalled; /* its connection asks to wait */
    struct blame_mark mark;

    /* What the client was told. */
    bool is_accepted;
    bool is_waiting_load;         /* was told of loading, and is owed that it runs */
    bool is_throttled;            /* of its tokens a minute */
    enum governor_mode told_mode; /* of the machine: GOVERNOR_FULL, nothing holds it back */
    uint64_t told_us;
    bool is_preempted;
    bool is_rebuilding;
    char numerics[64]; /* in force for what comes next */

    /* Usage; monotonic clock. */
    uint64_t opened_us;
    uint64_t assigned_us;
    uint64_t first_us;
    uint64_t last_us;
    struct histogram histogram;
    uint32_t n_cached;
    uint32_t n_rebuilds;
    uint64_t energy_uj;
    enum energy_source energy_source;

    struct stream_end end;
};

/* The next turn attends to it. */
void stream_soon(struct stream *stream);
void stream_attend(struct stream *stream);

/* Ends it; the last message comes in the next turn. A second end changes nothing. */
void stream_finish(struct stream *stream, Sotto__V1__FinishReason reason);
void stream_fail(struct stream *stream, Sotto__V1__Code code, const char *sentence);
void stream_fail_diag(struct stream *stream, Sotto__V1__Code code, const struct diag *diag);

/* All of an instance, or of the hub. */
void stream_end_all(struct instance *instance, Sotto__V1__Code code, const char *sentence);

/* The instance's engine takes orders (again): its streams go on. */
void stream_on_ready(struct instance *instance);

/* ---- from the dispatcher */

/* It has a sequence now, with so many rows found, of which so many of pins. */
void stream_seated(struct stream *stream, uint32_t n_cached, uint32_t n_pinned);

/* Its engine is gone, and with it what was computed. */
void stream_unseated(struct stream *stream);

/* It needs more pages than there are. */
void stream_never_fits(struct stream *stream, uint32_t n_pages);

/* Its deadline has passed unmet. */
void stream_too_late(struct stream *stream);

/* Somebody else needs its sequence. */
void stream_preempt(struct stream *stream);

/* A token was sampled for it. @logprobs may be NULL. */
void stream_token(struct stream *stream, uint32_t id, const Sotto__Engine__Logprobs *logprobs);

/* Its context is full: forgets a part of what is known and asks for a sequence with the rest. */
void stream_slide(struct stream *stream);

/* Its account has spent its minute. */
void stream_throttled(struct stream *stream);

/* Its priority class in the protocol's words. */
Sotto__V1__PriorityClass stream_class(const struct stream *stream);

/* Tells those who watch: number, model, how it stands, tokens. */
void stream_event(const struct stream *stream, const char *name, const char *how);

bool stream_is_over(const struct stream *stream);

/* What the engine is told to sample with; arrays of the stream and its instance. */
void stream_sampler(const struct stream *stream, Sotto__Engine__Sampler *ret_sampler);

void stream_move(struct stream *stream, enum stream_state to);

/* Tells that it was accepted, once. */
void stream_accept(struct stream *stream);

/* What it may still sample has changed: tells its job. */
void stream_count_left(struct stream *stream);

/* Credit or its reader's state has changed: parks it, or lets it run. */
void stream_repark(struct stream *stream);
void stream_notice(struct stream *stream, Sotto__V1__NoticeKind kind, const char *detail);

/* ask.c: hub_generate(); and with @embed hub_embed(), @ask saying the same in a Generate's terms. */
int stream_make(struct hub *hub, const Sotto__V1__Generate *ask, const Sotto__V1__Embed *embed,
                const struct grant *grant, const struct stream_sink *sink, void *owner, struct stream **ret_stream,
                uint32_t *ret_retry_ms, struct diag *diag);

/* embed.c, of streams that embed: what is refused of a Generate's field is refused of an Embed's. */
void embed_name_field(char *field);

/* Whether its model is made for it: 0, or a Code with a sentence. Of any stream. */
int embed_check(const struct stream *stream, struct diag *diag);

/* False: the hidden states of an answer contradict what was asked. Of any stream. */
bool embed_is_plausible(const struct stream *stream, const Sotto__Engine__EntryDone *done);

/* Its prompt's pooled hidden state is there: it ends. */
void embed_take(struct stream *stream, const float *hidden, size_t n);

/* Tells the end. */
void embed_tell(struct stream *stream);

/* ask_known.c: the words are there as stream->prompt: checks them against model and grant. Ends the stream if they
 * won't do. */
void stream_begin(struct stream *stream);

/* ask.c: frees what ask.c made. */
void stream_free_ask(struct stream *stream);

#endif
