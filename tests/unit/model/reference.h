/*
 * Paper: a tiny random model of any family, as a file and as its paper's formulas
 *
 * reference_make() writes the file that sotto opens; reference_logits() computes what it stands for in float64, from the same
 * numbers and from nothing else: whole sequences, no pages, no kernels, one loop a formula, written from the published
 * definitions (the papers that the heads of arch_*.c name, and the models' reference implementation for what papers
 * leave open: a window counts the row's own position; the mixed zone of YaRN lies between whole pairs).
 */
#ifndef SOTTO_MODEL_REFERENCE_H
#define SOTTO_MODEL_REFERENCE_H

#include "fixture.h"

#define REFERENCE_EMBD     32
#define REFERENCE_FF       48
#define REFERENCE_HEADS    4
#define REFERENCE_KV_HEADS 2
#define REFERENCE_HEAD     16 /* twice a head's share of the stream */
#define REFERENCE_TOKENS   MODEL_FIXTURE_VOCAB
#define REFERENCE_CONTEXT  128
#define REFERENCE_TENSORS  700

/* What differs between families, in their papers' terms. Zero where a family has nothing of it. */
struct reference {
    const char *name; /* for messages */
    const char *family;
    uint32_t n_layers;
    uint32_t n_rot;          /* of a head; 0: all */
    bool turns_neighbours;   /* pairs (0, 1), (2, 3), ...; else (0, n / 2), ... */
    uint32_t unturned_every; /* layers */
    bool has_biases;         /* of q, k, v */
    bool norms_heads;        /* of q and k */
    bool norms_back;         /* what a block adds */
    bool is_fused;           /* q, k, v in one tensor, gate and up in another */
    bool is_gemma;           /* GELU, and an embedding scaled by the root of its width */
    uint32_t window;         /* 0: none */
    uint32_t global_every;   /* layers without the window; 0: none */
    uint32_t pattern_key;    /* the file says so: 1 as a number, 2 as an array, 3 as one too long */
    float attn_cap, logit_cap;
    float attn_scale; /* 0: 1 / sqrt(head) */
    float base;       /* 0: 10000, and no key */
    float base_local; /* 0: as base */
    bool has_local_key;
    const char *scaling; /* "linear", "yarn"; or NULL */
    float factor;
    uint32_t n_original;
    bool has_factors;       /* rope_freqs.weight */
    bool has_lists;         /* rope_factors_long.weight and _short.weight */
    const char *omits[4];   /* tensors that the file lacks; only for refusals */
    float magnitude;        /* 0: 1, and no key */
    uint32_t attends_every; /* layers, the others are gated delta nets; 0: all attend */
    bool lists_layers;      /* the file says layer by layer which recur */
    uint32_t n_ahead;       /* layers behind the last that guess ahead, of which the file has nothing */
    uint32_t pooling;       /* 0: none */
    uint32_t n_values;      /* heads of values; 0: as many as the sizes in reference_parts.h say */
};

struct reference_tensor {
    char name[64];
    uint32_t n_cols;
    uint32_t n_rows; /* 0: one dimension */
    float *data;     /* owned */
};

struct reference_model {
    const struct reference *reference;
    struct reference_tensor tensors[REFERENCE_TENSORS];
    uint32_t n_tensors;
    char path[64]; /* opens the file, as long as the process lives */
};

void reference_make(struct reference_model *model, const struct reference *reference);
void reference_free(struct reference_model *model);

/* Logits after each of the @n tokens, [n][REFERENCE_TOKENS], for a context of @n_context in force. */
void reference_logits(const struct reference_model *model, const uint32_t *tokens, uint32_t n, uint32_t n_context,
                      double *logits);

/* The states behind the last norm, [n][REFERENCE_EMBD]. */
void reference_hidden(const struct reference_model *model, const uint32_t *tokens, uint32_t n, uint32_t n_context,
                      double *hidden);

/* One of each family, and of each way to stretch positions. */
extern const struct reference references[];
extern const int n_references;

#endif
