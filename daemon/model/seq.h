/*
 * Seq: tokens and state of one sequence
 *
 * Opened with everything that is known (prompt, and after a crash what was generated before). Counters, no states:
 * n_known tokens are known, n_done rows are computed, n_done <= n_known. Pages for what may come are promised at
 * opening, so nothing fails in mid-stream.
 */
#ifndef SOTTO_MODEL_SEQ_H
#define SOTTO_MODEL_SEQ_H

#include "model/model.h"
#include "model/sample.h"

/* Takes the @n logits after the token at @position of a sequence, once that row is computed. They live until it
 * returns; it calls nothing of the model's. */
typedef void (*seq_watch_fn)(void *owner, uint32_t position, const float *logits, uint32_t n);

/* Domains of pins that one sequence may look into. */
#define SEQ_PINS_MAX 16u

struct seq_salt {
    const uint8_t *bytes;
    size_t n; /* above 0 */
};

struct seq_request {
    uint32_t id; /* sottod's, above 0, new */
    const uint32_t *tokens;
    uint32_t n_tokens;
    uint32_t n_prompt;                  /* of them, and of those that slid away */
    uint32_t n_slid;                    /* tokens that are gone from among them: the answer's index counts them */
    uint32_t n_reserve;                 /* tokens beyond those that must find room */
    const struct sample_params *params; /* copied, arrays too */
    const uint8_t *salt;                /* sharing domain; n_salt 0: never shared */
    size_t n_salt;

    /* Other domains in which it finds prefixes, the first one first; it never adds to those. At most SEQ_PINS_MAX. Not
     * of seq_extend(): a sequence goes on with those that it was opened with. */
    const struct seq_salt *pins;
    size_t n_pins;

    /* Nothing is sampled: the rows are pooled (gist.h), and the step with the last one gives what they come to. The
     * sequence is not shared (no salt, no pins), and tokens may fill the context. */
    bool hidden;

    /* For tools that look at every row. A step computes at most as many watched rows as the model has sequences. */
    seq_watch_fn watch; /* NULL: nobody looks */
    void *watcher;
    uint32_t watch_from; /* the first position that is watched */
};

enum seq_outcome {
    SEQ_OK,
    SEQ_NO_PAGES,
    SEQ_NEVER_FITS,
    SEQ_TOO_MANY,
    SEQ_BAD_TOKEN,
    SEQ_UNSUPPORTED, /* hidden: the model is not made for embedding, or it was to be shared or watched */
};

struct seq_room {
    uint32_t n_cached; /* prompt tokens found in the prefix cache */
    uint32_t n_pinned; /* of them, in domains of pins */
    uint32_t n_needed; /* pages */
    uint32_t n_free;
};

int seq_open(struct model *model, const struct seq_request *request, struct seq_room *ret_room);

/*
 * Sequence ask->id goes on with other tokens (of @request count tokens, n_prompt, n_reserve and params): what
 * both begin with stays computed, the rest is forgotten; it is sampled anew, and a Stop before is over. A
 * family that recurs keeps all that is computed, or nothing. Its bits are those of a new sequence. Where it
 * is refused it is as it was: as by seq_open(), and SEQ_UNSUPPORTED if some of its tokens slid away or
 * nothing of it is sampled. -ENOENT: there is none; -EBUSY: it stands in a begun step.
 */
int seq_extend(struct model *model, const struct seq_request *request, struct seq_room *ret_room);

/* The next three ignore an unknown @id: orders cross. */
void seq_stop(struct model *model, uint32_t id); /* no further work, also in the running step */
void seq_trim(struct model *model, uint32_t id, uint32_t n_tokens);
void seq_close(struct model *model, uint32_t id, bool keep);

#endif
