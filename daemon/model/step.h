/*
 * Step: a cursor through one pass of the model over many rows
 *
 * A step takes rows of many sequences (prefill pieces and decodes), reads each weight once for all of them, and
 * samples where a sequence's rows reach the end of what is known. It is made of parts (an operator, or a range of
 * its rows, at most 20 ms on the CPU); after each part the caller is asked whether to go on. A suspended step keeps
 * its activations and goes on later with the same bits. Two steps may be begun, each with activations and results of
 * its own; either goes on whenever its caller likes. A sequence stands in one begun step at most: what is asked of it
 * meanwhile (trim, close) happens when that step ends.
 *
 * The bits of a row depend on the row alone: never on what else is in the step, on how a prompt was cut, on the
 * number of threads, or on suspension.
 *
 * After warm-up nothing here allocates.
 */
#ifndef SOTTO_MODEL_STEP_H
#define SOTTO_MODEL_STEP_H

#include "model/seq.h"

#define STEP_MAX 2 /* begun at a time */

struct step_entry {
    uint32_t seq;
    uint32_t n_prefill; /* rows of what is known and not computed; 0: decode */
    uint32_t n_decode;  /* tokens at most (1 today); 0: prefill */
};

enum step_entry_outcome {
    STEP_ENTRY_DONE,
    STEP_ENTRY_UNFINISHED,
    STEP_ENTRY_NO_ROOM,
    STEP_ENTRY_NUMERIC,
    STEP_ENTRY_STOPPED,
    STEP_ENTRY_UNKNOWN,
};

struct step_result { /* of one entry */
    uint32_t seq;
    uint32_t n_rows;   /* computed */
    uint32_t n_tokens; /* sampled now: 0 or 1 today */
    uint32_t tokens[1];
    float logprob;
    uint32_t n_top;
    const uint32_t *top_ids; /* live until the next step begins, or its sequence is extended */
    const float *top_logprobs;
    uint32_t n_hidden;   /* of a hidden sequence all of whose rows are computed; else 0 */
    const float *hidden; /* likewise live */
    enum step_entry_outcome outcome;
};

enum step_phase { STEP_EMBED, STEP_QKV, STEP_ATTEND, STEP_OUTPUT, STEP_FFN, STEP_HEAD, STEP_SAMPLE, STEP_PHASE_COUNT };

struct step_report {
    const struct step_result *results; /* one for each entry, same order; live until the next step begins */
    uint32_t n_results;
    uint64_t host_us;
    uint64_t device_us;
    uint32_t phase_us[STEP_PHASE_COUNT];
    uint64_t longest_us; /* the longest time between two questions whether to go on */
    uint32_t n_weight_passes;
    uint32_t n_allocs;
};

/* Asked between parts. True: go on. False: suspend here. It may call seq_stop(), model_limit_kv(), step_bound(), and
 * step_withdraw() of the other step. */
typedef bool (*step_poll_fn)(void *owner);

enum step_outcome {
    STEP_DONE,
    STEP_SUSPENDED,
    STEP_REFUSED, /* begin: a sequence stands twice, more rows than the setup allows, or @id is begun already */
    STEP_BUSY,    /* begin: two are begun, or a sequence stands in one that is. Later it may be begun as it is. */
};

/* Copies @entries. Runs nothing yet. @id is the caller's name for the step. */
int step_begin(struct model *model, uint64_t id, const struct step_entry *entries, uint32_t n_entries,
               struct diag *diag);

/* Runs begun step @id from where its cursor stands. STEP_DONE: *ret_report is valid until the next step_begin().
 * STEP_SUSPENDED. A fault ends the engine. */
int step_run(struct model *model, uint64_t id, step_poll_fn poll, void *owner, struct step_report *ret_report);

/* From the next part on parts are cut so that one is foretold to take at most so long; 0: as long as is good. How
 * they are cut changes no bit. A part that took longer is cut finer the next time. */
void step_bound(struct model *model, uint32_t bound_us);

/* The submission that the present question comes after: what it took, and what was foretold (0: nobody knew). */
struct step_pace {
    uint64_t took_us;
    uint64_t estimated_us;
};

void step_pace(const struct model *model, struct step_pace *ret_pace);

/* Drops begun step @id if it has run no part. False: it has, or there is none. */
bool step_withdraw(struct model *model, uint64_t id);

#endif
