/*
 * Inside: struct model, sequences and the step as this room's own files see them
 */
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
    uint32_t n_slid;       /* known + slid - prompt: the answer's index of the next token */
    uint32_t n_done;       /* rows computed; below n_known between steps, since its last row gives the next token */
    struct kv_pages pages; /* the store that grows with the sequence */
    uint32_t state;        /* the one that does not: of model::states, or STATE_NONE */
    struct chain_domain *domain;             /* whom it shares pages with, one reference; NULL: nobody */
    struct chain_domain *pins[SEQ_PINS_MAX]; /* where it finds what is pinned, one reference each */
    uint32_t n_pins;
    uint32_t n_published; /* its first pages that are in the chain */
    uint32_t n_found;     /* of them, those that were there when it opened */
    uint32_t n_pinned;    /* rows that it found in domains of pins when it was opened or extended */
    struct sample_params params;
    uint32_t *top_ids;   /* [n_top], owned, as is */
    float *top_logprobs; /* [n_top] */
    seq_watch_fn watch;  /* or NULL */
    void *watcher;
    uint32_t watch_from;
    struct pooling *pooling; /* owned; NULL: it is sampled */
    bool is_stopped;
    bool is_in_step; /* that is begun: pages and tokens must stay until it ends */
    bool is_closed;  /* close when the step ends, */
    bool keeps;      /* and so */
    uint32_t n_trim; /* trim to so many when the step ends; UINT32_MAX: no */
};

/* Rows of one entry of the step. */
struct step_share {
    struct seq *seq; /* NULL: unknown */
    uint32_t first;  /* row */
    uint32_t n_rows;
    uint32_t wanted;                 /* place among the wanted rows; or STEP_NOT_WANTED: none of its rows is sampled */
    uint32_t watched;                /* place among the wanted rows of the first one that is watched */
    uint32_t n_watched;              /* rows, its last ones */
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
    struct model_program programs[MODEL_BUCKETS]; /* ascending; over activations of this step's own */
    uint32_t n_programs;
    struct step_share *shares; /* [n_sequences], owned, as is */
    struct step_result *results;
    uint32_t n_entries;
    uint32_t *tokens; /* [n_rows], owned, as are the next */
    uint32_t *positions;
    const uint32_t **pages;
    uint32_t *states; /* STATE_NONE where the family has none */
    uint32_t *wanted; /* [n_sequences] */
    uint32_t n_rows;
    uint32_t n_wanted;
    struct model_program *program; /* of the bucket; NULL: no row is left to compute */
    uint32_t n_parts;              /* of the next submission; adapts to their speed */

    /* Cursor behind the program: */
    uint32_t n_made;                 /* entries whose results are made; */
    enum result_stage stage;         /* where the next one stands, */
    uint32_t n_pooled;               /* rows of it that were looked at for pooling, */
    float *logits;                   /* [n_tokens], owned: its logits, */
    struct sample_scratch *sampling; /* owned: and its draw, */
    struct sample_result drawn;      /* which ends here */

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
    struct list closed;   /* sequences whose results may still be looked at */
    struct list pins;     /* pin::link */
    struct step steps[STEP_MAX];
    uint32_t bound_us;       /* of the next part; 0: as long as is good */
    struct step_pace pace;   /* of the last submission */
    uint32_t sampling_speed; /* what sampling looks at in a microsecond; above 0 */
    struct model_facts facts;
    struct model_figures figures;
};

/* seq.c */
struct seq *seq_find(const struct model *model, uint32_t id); /* or NULL */
void seq_leave_step(struct model *model, struct seq *seq);    /* what had to wait for the step's end happens now */

/* Rows from @n_done on are to be computed again. A state can't go back: where the family has one, from the first
 * on. */
void seq_go_back(struct model *model, struct seq *seq, uint32_t n_done);
void seq_free_closed(struct model *model); /* frees the closed ones */
void seq_close_all(struct model *model);

/* pin.c */
void pin_drop_all(struct model *model);

/* step.c */
int step_create(struct model *model, struct step *step); /* 0 or -ENOMEM */
void step_finish(struct step *step);

/* result.c: the next piece of what the rows of entry step->n_made come to; *ret_made once that is whole. @computed:
 * the program ran to its end. 0 or a fault. */
int result_go(struct model *model, struct step *step, bool computed, bool *ret_made);

#endif
