/*
 * Fake: a model without weights, for tests of all that stands above one
 *
 * It stands in daemon/model's place when sotto-fake-engine is linked, so that the engine around it (socket, orders,
 * suspension) is the real one. Pages and rows are counted as a model counts them. A token is a hash of all tokens
 * before it and, above temperature 0, of the seed: the same request has the same answer whatever runs beside it.
 * What else happens is played from a script (script.h).
 */
#ifndef SOTTO_ENGINE_FAKE_MODEL_H
#define SOTTO_ENGINE_FAKE_MODEL_H

#include "base/list.h"
#include "engine/script.h"
#include "model/step.h"

#define FAKE_PAGE_TOK 16

/* Bytes of a token's row, for the budget: as few as a small model has, so that pools in tests are some kilobytes. */
#define FAKE_TOKEN_BYTES 256

/* Of a sharing domain's name; what is longer shares with nobody. */
#define FAKE_SALT_BYTES 128u

struct fake_seq {
    uint32_t id;      /* 0: the place is empty */
    uint32_t *tokens; /* owned; room for all that was promised */
    uint32_t n_prompt;
    uint32_t n_slid;
    uint32_t n_known;
    uint32_t n_done;
    uint32_t n_pages;
    bool is_stopped;
    bool is_in_step;
    bool is_closed;  /* when the step ends */
    uint32_t n_trim; /* likewise; 0: no */
    uint64_t seed;   /* 0 when greedy */
    size_t n_salt;
    uint8_t salt[FAKE_SALT_BYTES];
    uint32_t *never; /* owned */
    size_t n_never;
    uint32_t n_top;
    uint32_t *top_ids; /* owned, n_top */
    float *top_logprobs;
    const struct script_rule *list; /* tokens to say first, or NULL */
};

struct fake_step {
    uint64_t id;
    struct step_entry *entries; /* owned, n_rows places */
    struct step_result *results;
    uint32_t n_entries; /* 0: it is not begun */
    bool has_run;
    uint32_t at;         /* the entry that the cursor stands at */
    bool is_entered;     /* its rules have acted */
    uint32_t slow_ms;    /* that it still takes */
    bool numeric;        /* it samples nothing */
    uint64_t run_us;     /* of this step, so far */
    uint64_t longest_us; /* of its parts */
    uint32_t n_allocs;   /* that its script had it make */
};

struct model {
    struct script script;
    struct model_facts facts;
    struct model_figures figures;
    uint32_t n_pages_allowed;
    struct fake_seq *seqs; /* owned, n_seqs places */
    uint32_t n_seqs;
    uint32_t n_rows;
    struct list pins; /* fake_pin::link */
    struct fake_step steps[STEP_MAX];
};

/* The sequence, or NULL; 0: an empty place. */
struct fake_seq *fake_find(struct model *model, uint32_t id);

/* Gives the pages back and empties the place. */
void fake_end_seq(struct model *model, struct fake_seq *seq);

/* The step that it stood in is over: what had to wait happens now. */
void fake_leave_step(struct model *model, struct fake_seq *seq);

/* Pages that may be promised now. */
uint32_t fake_n_free(const struct model *model);

/* Tokens that @request has in common with what is pinned for it. */
uint32_t fake_find_pinned(const struct model *model, const struct seq_request *request);
void fake_drop_pins(struct model *model);

/* Does what the rule says, where that needs no more than the process. 0, or a fault that ends the engine. */
int fake_act(const struct script *script, const struct script_rule *rule);

void fake_nap_ms(uint32_t ms);

#endif
