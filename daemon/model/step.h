/*
 * Step: a cursor through one pass of the model over many rows
 *
 * A step takes rows of many sequences (prefill pieces and decodes), reads each weight once for all of them, and samples
 * where a sequence's rows reach the end of its known tokens. It consists of parts (an operator, or a range of its rows,
 * at most 20 ms on the CPU); after each part the caller is asked whether to go on. A suspended step keeps its
 * activations and continues later with the same bits. Two steps may be begun, each with its own activations and
 * results, and either may be continued at any time. A sequence is in one begun step at most: a trim or a close waits
 * until that step ends.
 *
 * The bits of a row depend on its tokens alone: never on what else is in the step, on how a prompt was cut, on the
 * number of threads, or on suspension.
 *
 * A decode that may sample more than one token drafts the others (ngram.h) where the text repeats itself. Their rows
 * are computed in the same step, and the drawn tokens are those that single draws would have given. It drafts nothing
 * for a sequence with a recurrent state, which could not be rolled back, or with log-probabilities.
 *
 * Nothing here allocates after warm-up.
 */
#ifndef SOTTO_MODEL_STEP_H
#define SOTTO_MODEL_STEP_H

#include "model/seq.h"

#define STEP_MAX        2 /* steps that may be begun at the same time */
#define STEP_TOKENS_MAX 8 /* tokens that one entry samples at most */

struct step_entry {
    uint32_t seq;
    uint32_t n_prefill; /* known rows to compute; 0: decode */
    uint32_t n_decode;  /* most tokens to sample, 1 to STEP_TOKENS_MAX; 0: prefill */
};

enum step_entry_outcome {
    STEP_ENTRY_DONE,
    STEP_ENTRY_UNFINISHED,
    STEP_ENTRY_NO_ROOM,
    STEP_ENTRY_NUMERIC,
    STEP_ENTRY_STOPPED,
    STEP_ENTRY_UNKNOWN,
};

struct step_result { /* The result of one entry. */
    uint32_t seq;
    uint32_t n_rows;   /* computed, and now part of the sequence */
    uint32_t n_drafts; /* computed beside them, for drafts that were not drawn */
    uint32_t n_tokens; /* sampled */
    uint32_t tokens[STEP_TOKENS_MAX];
    float logprob; /* with this or n_top wanted, no more than one token is sampled */
    uint32_t n_top;
    const uint32_t *top_ids; /* valid until the next step begins, or the sequence is extended */
    const float *top_logprobs;
    uint32_t n_hidden;   /* of a hidden sequence once all its rows are computed; else 0 */
    const float *hidden; /* valid as long as top_ids */
    enum step_entry_outcome outcome;
};

enum step_phase { STEP_EMBED, STEP_QKV, STEP_ATTEND, STEP_OUTPUT, STEP_FFN, STEP_HEAD, STEP_SAMPLE, STEP_PHASE_COUNT };

struct step_report {
    const struct step_result *results; /* one for each entry, in the same order; valid until the next step begins */
    uint32_t n_results;
    uint64_t device_us;                  /* in all runs, less what submissions waited for others */
    uint32_t phase_us[STEP_PHASE_COUNT]; /* of it */
    uint64_t longest_us;                 /* longest time between two polls */
    uint32_t n_weight_passes;
    uint32_t n_allocs;
};

/* Called between parts. Returns true to go on, false to suspend. It may call seq_stop(), model_limit_kv(),
 * step_bound(), and step_withdraw() of the other step. */
typedef bool (*step_poll_fn)(void *owner);

enum step_outcome {
    STEP_DONE,
    STEP_SUSPENDED,
    STEP_REFUSED, /* begin: a sequence is listed twice, the step has too many rows, or @id is begun already */
    STEP_BUSY,    /* begin: two steps are begun, or a sequence is in one of them; it may be begun later as it is */
};

/* Begins a step of @entries, which are copied, under the caller's name @id. Runs nothing yet. */
int step_begin(struct model *model, uint64_t id, const struct step_entry *entries, uint32_t n_entries,
               struct diag *diag);

/* Runs begun step @id from its cursor on. STEP_DONE: *ret_report is valid until the next step_begin(). STEP_SUSPENDED.
 * A fault ends the engine. */
int step_run(struct model *model, uint64_t id, step_poll_fn poll, void *owner, struct step_report *ret_report);

/* Bounds the estimated time of the following parts; 0: no bound. No bit depends on how parts are cut. Parts that took
 * longer than estimated are cut finer the next time. */
void step_bound(struct model *model, uint32_t bound_us);

/* Times of the submission before the current poll, and of the run of a step that is going on or was the last. */
struct step_pace {
    uint64_t device_us;    /* the device worked for the submission */
    uint64_t estimated_us; /* the same, as estimated; 0: unknown */
    uint64_t waited_us;    /* all submissions of the run waited for others to leave the device */
};

void step_pace(const struct model *model, struct step_pace *ret_pace);

/* Drops begun step @id if it has run no part. Returns false if it has, or if there is no such step. */
bool step_withdraw(struct model *model, uint64_t id);

#endif
