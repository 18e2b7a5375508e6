/*
 * Seq: tokens and state of one sequence
 *
 * A sequence is opened with everything that is known: the prompt and, after a crash, what was generated before. It has
 * counters instead of a state machine: n_known tokens are known, n_done rows are computed, n_done <= n_known. Pages for
 * all that may come are reserved at opening, so nothing fails in mid-stream.
 */
#ifndef SOTTO_MODEL_SEQ_H
#define SOTTO_MODEL_SEQ_H

#include "model/model.h"
#include "model/sample.h"

/* Receives the @n logits after the token at @position of a sequence, once that row is computed. They are valid during
 * the call, which may not call the model. */
typedef void (*seq_watch_fn)(void *owner, uint32_t position, const float *logits, uint32_t n);

/* Maximum domains of pins that one sequence may search. */
#define SEQ_PINS_MAX 16u

struct seq_salt {
    const uint8_t *bytes;
    size_t n; /* above 0 */
};

struct seq_request {
    uint32_t id; /* sottod's, above 0, new */
    const uint32_t *tokens;
    uint32_t n_tokens;
    uint32_t n_prompt;                  /* of the tokens, including those that slid away */
    uint32_t n_slid;                    /* prompt or answer tokens that slid away; the answer's index counts them */
    uint32_t n_reserve;                 /* tokens that must fit beside n_tokens */
    const struct sample_params *params; /* copied, including its arrays */
    const uint8_t *salt;                /* sharing domain; n_salt 0: the sequence shares with none */
    size_t n_salt;

    /* Other domains that it searches for prefixes, in this order; it never adds to those. At most SEQ_PINS_MAX. Ignored
     * by seq_extend(): the sequence keeps those that it was opened with. */
    const struct seq_salt *pins;
    size_t n_pins;

    /* Nothing is sampled: the rows are pooled (pooling.h), and the step with the last row returns the pooled state. The
     * sequence is not shared (no salt, no pins), and its tokens may fill the context. */
    bool hidden;

    /* For tools that look at every row. A step computes at most as many watched rows as the model has sequences. */
    seq_watch_fn watch; /* or NULL */
    void *watcher;
    uint32_t watch_from; /* first watched position */
};

enum seq_outcome {
    SEQ_OK,
    SEQ_NO_PAGES,
    SEQ_NEVER_FITS,
    SEQ_TOO_MANY,
    SEQ_BAD_TOKEN,
    SEQ_UNSUPPORTED, /* hidden: the model is not made for embedding, or sharing or watching was requested */
};

struct seq_room {
    uint32_t n_cached; /* prompt tokens found in the prefix cache */
    uint32_t n_pinned; /* of them, those in domains of pins */
    uint32_t n_needed; /* pages */
    uint32_t n_free;
};

int seq_open(struct model *model, const struct seq_request *request, struct seq_room *ret_room);

/*
 * Continues sequence request->id with other tokens; of @request only tokens, n_prompt, n_reserve and params count. The
 * common beginning stays computed, the rest is discarded; sampling starts over, and an earlier Stop is void. A
 * recurrent family keeps all computed rows or none. The bits are those of a new sequence. A refusal changes nothing: as
 * by seq_open(), and SEQ_UNSUPPORTED if some of its tokens slid away or it is not sampled. -ENOENT: there is no such
 * sequence; -EBUSY: it is in a begun step.
 */
int seq_extend(struct model *model, const struct seq_request *request, struct seq_room *ret_room);

/* The functions below ignore an unknown @id, since orders cross answers. */
void seq_stop(struct model *model, uint32_t id); /* no further work, also in the running step */
void seq_trim(struct model *model, uint32_t id, uint32_t n_tokens);
void seq_close(struct model *model, uint32_t id, bool keep);

#endif
