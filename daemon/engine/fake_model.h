/*
 * Fake: a model without weights, for tests of everything above a model
 *
 * It takes daemon/model's place when sotto-fake-engine is linked, so that the engine around it (socket, orders,
 * suspension) is the real one. It counts pages and rows as a model does. A token is a hash of all tokens before it and,
 * above temperature 0, of the seed: the same request has the same answer, whatever runs beside it. Everything else is
 * scripted (script.h).
 */
#ifndef SOTTO_ENGINE_FAKE_MODEL_H
#define SOTTO_ENGINE_FAKE_MODEL_H

#include "base/list.h"
#include "engine/script.h"
#include "model/step.h"

#define FAKE_PAGE_TOK 16

/* KV bytes of a token: as few as those of a small model, so that pools in tests take some kilobytes. */
#define FAKE_TOKEN_BYTES 256

/* Longest name of a sharing domain; a sequence with a longer one shares with none. */
#define FAKE_SALT_BYTES 128u

struct fake_seq {
    uint32_t id;      /* 0: the slot is empty */
    uint32_t *tokens; /* owned; room for all reserved tokens */
    uint32_t n_prompt;
    uint32_t n_slid;
    uint32_t n_known;
    uint32_t n_done;
    uint32_t n_pages;
    bool is_stopped;
    bool is_in_step;
    bool is_closed;  /* it is to be closed when the step ends */
    uint32_t n_trim; /* tokens to trim to when the step ends; 0: none */
    uint64_t seed;   /* 0: greedy */
    size_t n_salt;
    uint8_t salt[FAKE_SALT_BYTES];
    uint32_t *never; /* owned */
    size_t n_never;
    uint32_t n_top;
    uint32_t *top_ids; /* owned, n_top */
    float *top_logprobs;
    const struct script_rule *list; /* its first tokens, or NULL */
};

struct fake_step {
    uint64_t id;
    struct step_entry *entries; /* owned, [n_rows], as is */
    struct step_result *results;
    uint32_t n_entries; /* 0: the step is not begun */
    bool has_run;
    uint32_t at;         /* index of the entry under the cursor */
    bool is_entered;     /* its rules have acted */
    uint32_t slow_ms;    /* left of its slowness */
    uint32_t wait_ms;    /* it will wait for the processor */
    bool numeric;        /* its script lets sampling fail */
    uint64_t device_us;  /* of this step so far, without waiting */
    uint64_t longest_us; /* longest of its parts */
    uint32_t n_allocs;   /* allocations that its script reports */
};

struct model {
    struct script script;
    struct model_facts facts;
    struct model_figures figures;
    uint32_t n_pages_allowed;
    struct fake_seq *seqs; /* owned, [n_seqs] */
    uint32_t n_seqs;
    uint32_t n_rows;
    struct list pins; /* fake_pin::link */
    struct fake_step steps[STEP_MAX];
    uint64_t waited_us; /* in the present run of a step, or the last one */
};

/* Returns the sequence @id, or NULL. 0 finds an empty slot. */
struct fake_seq *fake_find(struct model *model, uint32_t id);

/* Gives the pages back and empties the slot. */
void fake_end_seq(struct model *model, struct fake_seq *seq);

/* Does what had to wait for the end of the sequence's step. */
void fake_leave_step(struct model *model, struct fake_seq *seq);

/* Returns the pages that may be reserved now. */
uint32_t fake_n_free(const struct model *model);

/* Returns the number of tokens that @request has in common with what is pinned for it. */
uint32_t fake_find_pinned(const struct model *model, const struct seq_request *request);
void fake_drop_pins(struct model *model);

/* Acts on a rule that needs nothing but the process. 0, or a fault that ends the engine. */
int fake_act(const struct script *script, const struct script_rule *rule);

void fake_nap_ms(uint32_t ms);

#endif
