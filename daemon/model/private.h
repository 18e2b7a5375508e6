/* Inside: struct model, sequences and steps, private to the files of this module */
#ifndef SOTTO_MODEL_PRIVATE_H
#define SOTTO_MODEL_PRIVATE_H

#include "base/list.h"
#include "base/map.h"
#include "model/arch.h"
#include "model/kv_pool.h"
#include "model/seq.h"
#include "model/state.h"
#include "model/step.h"

struct seq {
    struct list link; /* model::closed, once closed */
    uint32_t id;
    uint32_t *tokens; /* [n_context], owned */
    uint32_t n_known;
    uint32_t n_prompt;
    uint32_t n_slid; /* tokens that slid away; n_known + n_slid - n_prompt is the answer's index of the next token */
    uint32_t n_done; /* rows computed; below n_known between steps, since the last row gives the next token */
    struct kv_pages pages;                   /* the store that grows with the sequence */
    uint32_t state;                          /* index in model::states, or STATE_NONE */
    struct chain_domain *domain;             /* the domain it shares pages with, one reference; NULL: none */
    struct chain_domain *pins[SEQ_PINS_MAX]; /* domains of pins that it searches, one reference each */
    uint32_t n_pins;
    uint32_t n_published; /* leading pages that are in the chain */
    uint32_t n_found;     /* of them, those found when it opened */
    uint32_t n_pinned;    /* rows found in domains of pins when it was opened or extended */
    struct sample_params params;
    uint32_t *top_ids;   /* [n_top], owned */
    float *top_logprobs; /* [n_top], owned */
    seq_watch_fn watch;  /* or NULL */
    void *watcher;
    uint32_t watch_from;
    struct pooling *pooling; /* owned; NULL: it is sampled */
    bool is_stopped;
    bool is_in_step; /* it is in a begun step: pages and tokens must stay until that ends */
    bool is_closed;  /* it is to be closed when the step ends, */
    bool keeps;      /* with this argument */
    uint32_t n_trim; /* tokens to trim to when the step ends; UINT32_MAX: none */
};

/* Rows of one entry of the step. */
struct step_share {
    struct seq *seq;                 /* NULL: unknown id */
    uint32_t first;                  /* first row */
    uint32_t n_rows;                 /* of known tokens */
    uint32_t n_drafts;               /* behind them, of drafted tokens; each is wanted */
    uint32_t wanted;                 /* index among the wanted rows; STEP_NOT_WANTED: none of its rows is sampled */
    uint32_t watched;                /* index of its first watched row among the wanted rows */
    uint32_t n_watched;              /* number of watched rows, its last ones */
    enum step_entry_outcome outcome; /* so far */
};

#define STEP_NOT_WANTED UINT32_MAX

enum result_stage { RESULT_NEW, RESULT_POOLS, RESULT_SAMPLES };

enum step_state { STEP_NONE, STEP_BEGUN, STEP_RUNNING, STEP_STATE_COUNT };

/* A program for steps of at most n_rows rows. */
struct model_program {
    struct exec_program *exec;
    uint32_t n_rows;
    uint32_t logits; /* slot */
    uint32_t hidden; /* slot, of all rows; only in a model that is made for embedding */
};

#define MODEL_BUCKETS 4

struct step {
    uint64_t id;
    enum step_state state;
    struct model_program programs[MODEL_BUCKETS]; /* ascending by n_rows; over the activations of this step alone */
    uint32_t n_programs;
    struct step_share *shares; /* [n_sequences], owned */
    struct step_result *results;
    uint32_t n_entries;
    uint32_t *tokens; /* [n_rows], owned, as are all arrays below */
    uint32_t *positions;
    const uint32_t **pages;
    uint32_t *states; /* STATE_NONE if the family has none */
    uint32_t *wanted; /* [n_sequences] */
    uint32_t n_rows;
    uint32_t n_wanted;
    struct model_program *program; /* of the bucket; NULL: there are no rows to compute */
    uint32_t n_parts;              /* of the next submission; adapts to the speed of parts */

    /* The cursor behind the program: */
    uint32_t n_made;                 /* entries with a result */
    enum result_stage stage;         /* of the next entry's result */
    uint32_t n_pooled;               /* rows of that entry that pooling has looked at */
    struct sample_scratch *sampling; /* owned: that entry's draw */
    struct sample_result drawn;      /* result of the draw */
    bool is_fetched;                 /* the two views are valid */
    struct exec_view logits;         /* [n_wanted][n_tokens] */
    struct exec_view hidden;         /* [n_rows][n_embd], if an entry is pooled */

    struct step_report report;
};

struct model {
    const uint8_t *file; /* mapped */
    uint64_t file_bytes;
    struct exec *exec;
    const struct arch *arch;
    struct arch_params params;
    struct arch_weights weights;
    struct exec_mem *kv_mem;
    struct kv kv;
    struct states states;
    uint64_t kv_ceiling; /* bytes */
    uint32_t n_context;
    uint32_t n_rows; /* of a step */
    uint32_t n_sequences;
    uint32_t n_parts_max; /* of a submission */
    struct map seqs;      /* id to struct seq */
    struct list closed;   /* closed sequences with results that may still be read */
    struct list pins;     /* pin::link */
    struct step steps[STEP_MAX];
    uint32_t bound_us;       /* of the next part; 0: none */
    struct step_pace pace;   /* of the last submission and run */
    uint32_t sampling_speed; /* logits that sampling looks at in a microsecond; above 0 */
    struct model_facts facts;
    struct model_figures figures;
};

/* ---- seq.c ---- */
struct seq *seq_find(const struct model *model, uint32_t id); /* or NULL */
void seq_leave_step(struct model *model, struct seq *seq);    /* does what had to wait for the step's end */

/* Discards the rows from @n_done on, which will be computed again; in a family with states all rows, since a state
 * cannot be rolled back. */
void seq_go_back(struct model *model, struct seq *seq, uint32_t n_done);
void seq_free_closed(struct model *model); /* frees the closed ones */
void seq_close_all(struct model *model);

/* ---- pin.c ---- */
void pin_drop_all(struct model *model);

/* ---- step.c ---- */
int step_create(struct model *model, struct step *step); /* 0 or -ENOMEM */
void step_finish(struct step *step);

/* result.c: does the next piece of work on the result of entry step->n_made; *ret_made: the result is complete.
 * @computed: the program ran to its end. 0 or a fault. */
int result_go(struct model *model, struct step *step, bool computed, bool *ret_made);

#endif
