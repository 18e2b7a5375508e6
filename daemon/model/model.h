/*
 * Model: a file's weights, bound to a family's program, on one backend
 *
 * The engine process has exactly one. It owns the mapping of the file, the backend, the pool of KV pages and the
 * sequences. The engine's control thread calls everything; kernels run on the backend's workers below.
 */
#ifndef SOTTO_MODEL_MODEL_H
#define SOTTO_MODEL_MODEL_H

#include "base/diag.h"
#include "base/mem.h"

struct exec_ops;
struct model;

struct model_setup {
    int fd;                                 /* the model file; the caller keeps it */
    const struct exec_ops *const *backends; /* as in struct exec_setup */
    const char *backend;                    /* name of one of them */
    const char *cpu_mask;                   /* best kernel set allowed (CPU_SETS); "": any */
    const char *kv_format;                  /* "f16", "f32", "q8", "q4" */
    const char *fake_script;                /* with "fake" */
    uint32_t n_threads;                     /* 0: from affinity and quota */
    uint32_t n_context;                     /* tokens of one sequence, at most as trained; 0: as trained, up to 8192 */
    uint32_t n_sequences;                   /* at most; 0: 32 */
    uint32_t n_rows;                        /* of a step, at most; 0: 512 */
    uint64_t kv_bytes;                      /* ceiling of the page pool; 0: one full context for each of 4 sequences */
    uint32_t n_parts;                       /* of one submission, at most; 0: as many as take about a millisecond */

    /* Tests: the hash that finds pages of equal prefixes (chain.h). NULL: the usual one. */
    uint64_t (*prefix_hash)(const void *bytes, size_t n, uint64_t salt);
};

typedef void (*model_progress_fn)(void *owner, float fraction, const char *phase);

enum model_outcome {
    MODEL_OK,
    MODEL_REFUSED, /* @diag says what is wrong with the file or the setup; a new try would end the same */
};

/* Maps and checks the file, binds it and warms up. MODEL_REFUSED, or a fault of the system: out of memory, a read
 * error. */
int model_open(struct model **ret_model, const struct model_setup *setup, model_progress_fn progress, void *owner,
               struct diag *diag);
void model_close(struct model *model);
void model_closep(struct model **model);

struct model_facts {
    const char *architecture; /* "llama" */
    const char *format;       /* of most weights */
    char backend[32];         /* "cpu/avx2" */
    char numerics[64];        /* "1/cpu/q8a/kv-f16" */
    uint64_t n_parameters;
    uint32_t n_vocab;   /* rows of the output */
    bool shares;        /* prefixes are shared; false: sequences have a state that no prefix restores */
    uint32_t n_hidden;  /* values of a pooled hidden state; 0: not made for embedding */
    uint32_t n_trained; /* context as trained */
    uint32_t n_context; /* in force */
    uint32_t n_page_tok;
    uint32_t kv_token_bytes;
    uint32_t n_pages;
    uint64_t weight_bytes; /* mapped and copied */
    uint32_t n_decode;     /* tokens that a decode samples at most; 1: it drafts nothing */
    char threads[256];     /* how many, on which cores, and why; "" where there are none */
};

void model_facts(const struct model *model, struct model_facts *ret_facts);

struct model_figures {
    uint32_t n_free; /* pages; free + cached + held = the pool */
    uint32_t n_cached;
    uint32_t n_held;
    uint32_t n_seqs;
    uint64_t n_steps;
    uint64_t n_rows;
    uint64_t n_tokens;
    uint64_t n_weight_passes; /* times that a step read all weights */
    uint64_t n_step_allocs;
    uint64_t n_drafts; /* tokens drafted */
    uint64_t n_drafts_accepted;
    uint64_t n_evicted; /* cached pages evicted */
};

void model_figures(const struct model *model, struct model_figures *ret_figures);

/* Returns true if free, cached and held pages add up to the pool and agree with what each page counts. */
bool model_check(const struct model *model);

/* Sets the bytes of pages that may be in use, at most the ceiling; 0: the ceiling. */
void model_limit_kv(struct model *model, uint64_t kv_bytes);

#endif
