/*
 * Arch: a family of models as data and one recorded program
 *
 * A family is one file (arch_llama.c) with one row in arch.c: tables of the tensors in its files (where each goes and
 * how large it must be), what its paper fixes without a key, and a function that records the family's program, which
 * should read like that paper. What families share is here, in params.c (reading keys), rope_tables.c (rotary
 * frequencies), bind.c (finding tensors) and builder.c (recording).
 */
#ifndef SOTTO_MODEL_ARCH_H
#define SOTTO_MODEL_ARCH_H

#include "exec/exec.h"
#include "gguf/gguf.h"
#include "model/pooling.h"
#include "model/step.h"

#define ARCH_LAYERS_MAX 1024

/* Methods of stretching rotary frequencies to contexts longer than the trained one. */
enum arch_scaling {
    ARCH_SCALING_NONE,
    ARCH_SCALING_LINEAR,   /* positions are divided */
    ARCH_SCALING_YARN,     /* slow frequencies are divided, fast ones stay, the others are interpolated */
    ARCH_SCALING_LONGROPE, /* each frequency has its own divisor in the file */
    ARCH_SCALING_COUNT,
};

struct arch_rope {
    float base;
    float base_local; /* in layers with a window */
    enum arch_scaling scaling;
    float factor;        /* linear, yarn: at least 1 */
    float magnitude;     /* of sine and cosine, besides yarn's own; 1: none */
    uint32_t n_original; /* context before stretching (yarn, longrope); 0: the key is absent */
    float yarn_mix;      /* weight of the fast frequencies; 1: as published */
    float yarn_fast;     /* rotations within n_original at and above which a frequency stays */
    float yarn_slow;     /* rotations below which it is divided */
};

/* The gated delta net of recurrent layers: value heads, in groups that share a key head. */
struct arch_net {
    uint32_t n_taps;    /* of the convolution before it */
    uint32_t n_keys;    /* heads */
    uint32_t n_values;  /* heads, a multiple of n_keys; value head h goes with key head h mod n_keys */
    uint32_t key_dim;   /* of a head */
    uint32_t value_dim; /* of a head */
    uint32_t n_inner;   /* n_values * value_dim */
};

/* Hyperparameters, checked against their ranges and each other. */
struct arch_params {
    uint32_t n_layers;
    uint32_t n_embd;
    uint32_t n_ff;
    uint32_t n_heads;
    uint32_t n_kv_heads; /* divides n_heads */
    uint32_t head_dim;   /* even */
    uint32_t n_rot;      /* even, at most head_dim */
    uint32_t n_trained;  /* context */
    uint32_t n_tokens;   /* entries of the vocabulary: ids below may be used and sampled */
    float eps;
    float attn_scale; /* of scores */
    float attn_cap;   /* soft limit of scores; 0: none */
    float logit_cap;  /* soft limit of logits; 0: none */
    uint32_t window;  /* positions that a row of a local layer sees, its own included; 0: no layer is local */
    uint64_t local[ARCH_LAYERS_MAX / 64]; /* a bit a layer: arch_is_local() */
    enum pooling_kind pooling;            /* POOLING_NONE: not made for embedding */
    struct arch_rope rope;
    uint64_t recurs[ARCH_LAYERS_MAX / 64]; /* a bit a layer: arch_recurs() */
    uint32_t n_recurrent;                  /* layers */
    uint32_t n_ahead;                      /* multi-token-prediction layers behind the last; ignored, not in n_layers */
    struct arch_net net;
};

/* Returns true if @layer sees only the window. */
bool arch_is_local(const struct arch_params *params, uint32_t layer);

/* Returns true if @layer is recurrent: it has a state in place of keys and values. */
bool arch_recurs(const struct arch_params *params, uint32_t layer);

/* Returns the index of @layer among its kind: recurrent layers, or those with keys and values. */
uint32_t arch_place(const struct arch_params *params, uint32_t layer);

/* Returns the columns that the convolution of a recurrent layer goes over: queries, keys and values. */
uint32_t arch_n_channels(const struct arch_net *net);

struct arch_layer {
    struct exec_mem *attn_norm;
    struct exec_mem *q, *k, *v, *o;
    struct exec_mem *q_bias, *k_bias, *v_bias, *o_bias; /* or NULL */
    struct exec_mem *q_norm, *k_norm;                   /* of each head, or NULL */
    struct exec_mem *attn_post_norm;                    /* of what attention adds, or NULL */
    struct exec_mem *ffn_norm;
    struct exec_mem *gate, *up, *down;
    struct exec_mem *ffn_post_norm; /* of what the feed-forward adds, or NULL */
    /* recurrent layers: */
    struct exec_mem *mix, *taps; /* queries, keys and values in one matrix */
    struct exec_mem *inner_gate, *inner_norm;
    struct exec_mem *alpha, *beta; /* inputs of a head's decay and learning rate */
    struct exec_mem *rate, *dt_bias;
};

struct arch_weights {
    struct exec_mem *embd;
    struct exec_mem *output_norm;
    struct exec_mem *output;   /* the embedding where the file has none of its own */
    struct arch_layer *layers; /* [n_layers], owned */
    const float *rope_factors; /* [n_rot / 2] in the file, or NULL */
    const float *rope_long;    /* [n_rot / 2], for contexts beyond rope.n_original; or NULL */
    const float *rope_short;   /* [n_rot / 2], for contexts within it; or NULL */
};

/* A size that a tensor must have, in terms of struct arch_params. */
enum arch_dim {
    ARCH_DIM_ZERO,
    ARCH_DIM_ONE,
    ARCH_DIM_EMBD,
    ARCH_DIM_FF,
    ARCH_DIM_TWO_FF,
    ARCH_DIM_Q,     /* n_heads * head_dim */
    ARCH_DIM_KV,    /* n_kv_heads * head_dim */
    ARCH_DIM_Q_KV,  /* queries and keys */
    ARCH_DIM_QKV,   /* queries, keys and values */
    ARCH_DIM_TWO_Q, /* queries, each head followed by its gate */
    ARCH_DIM_HEAD,
    ARCH_DIM_CHANNELS, /* of struct arch_net */
    ARCH_DIM_TAPS,
    ARCH_DIM_INNER,
    ARCH_DIM_VALUES,
    ARCH_DIM_VALUE,
    ARCH_DIM_HALF_ROT,
    ARCH_DIM_TOKENS, /* or more, since files pad */
};

enum arch_tensor_flag {
    ARCH_LAYER = 1, /* named "blk.N.NAME", goes into an arch_layer */
    ARCH_OPTIONAL = 2,
    ARCH_FLOATS = 4,   /* must be F32: norms, biases, factors */
    ARCH_RAW = 8,      /* a pointer to floats in the file is kept */
    ARCH_ATTENDS = 16, /* only in layers with keys and values */
    ARCH_RECURS = 32,  /* only in recurrent layers */
};

struct arch_tensor {
    const char *name;
    enum arch_dim n_cols;
    enum arch_dim n_rows;
    unsigned flags;
    size_t place; /* offset of the pointer in arch_layer or arch_weights */
    /* Where several weights are stacked in one tensor: this one's first row, and its number of rows. */
    enum arch_dim first;
    enum arch_dim n_part; /* ARCH_DIM_ZERO: the whole tensor */
};

struct arch_table {
    const struct arch_tensor *rows;
    size_t n;
};

/* Returns true if @row belongs to layers of the same kind as @layer. */
bool arch_row_is_of(const struct arch_tensor *row, const struct arch_params *params, uint32_t layer);

#define ARCH_IN_MODEL(field) offsetof(struct arch_weights, field)
#define ARCH_IN_LAYER(field) offsetof(struct arch_layer, field)

/* Tables that many families share (bind.c). */
extern const struct arch_table arch_stream;    /* embedding, last norm, output, rotary factors */
extern const struct arch_table arch_attention; /* norm, q, k, v, output, optional biases */
extern const struct arch_table arch_gated;     /* norm, gate, up, down */

#define ARCH_TABLES_MAX 4

/* Values that a family's paper fixes and its files have no key for. */
struct arch_habits {
    uint32_t window;       /* 0: none */
    uint32_t global_every; /* every n-th layer sees everything; 0: all layers use the window, if there is one */
    float attn_cap;
    float logit_cap;
    float base_local;       /* 0: the base of all layers */
    uint32_t attends_every; /* every n-th layer has keys and values, the others are recurrent; 0: all have */
};

/* The inputs of recording a program. */
struct arch_source {
    const struct arch_params *params;
    const struct arch_weights *weights;
    const struct exec_mem *rope;
    const struct exec_mem *rope_local; /* of local layers; may be the same table */
    struct exec_mem *kv;
    struct exec_mem *states; /* NULL: no layer recurs */
};

struct arch {
    const char *name; /* value of general.architecture, and prefix of the family's keys */
    const struct arch_table *tables[ARCH_TABLES_MAX];
    struct arch_habits habits;
    bool never_shares; /* its sequences have a state beside their pages, which a shared prefix cannot restore */

    /* Optional. Sets hyperparameters that the family's files leave out and that have no general default. */
    void (*settle)(struct arch_params *params);

    /* Records the program and returns the slot of logits (wanted rows, n_tokens wide). */
    uint32_t (*record)(const struct arch_source *source, struct exec_program *program);
};

extern const struct arch arch_gemma;
extern const struct arch arch_gemma2;
extern const struct arch arch_gemma3;
extern const struct arch arch_llama;
extern const struct arch arch_phi3;
extern const struct arch arch_qwen2;
extern const struct arch arch_qwen3;
extern const struct arch arch_qwen35;
extern const struct arch arch_smollm3;

/* Finds the family of a file. MODEL_REFUSED names the known families. */
int arch_find(const struct gguf *gguf, const struct arch **ret_arch, struct diag *diag);

/* Returns the row of the tables of @arch for the tensor @name, in one of the layers that @params counts, or NULL if the
 * family does not read it. */
const struct arch_tensor *arch_find_row(const struct arch *arch, const struct arch_params *params,
                                        struct gguf_text name);

/* params.c: reads the hyperparameters. MODEL_REFUSED names every key that is missing, or the first one out of range. */
int arch_read_params(const struct arch *arch, const struct gguf *gguf, struct arch_params *ret_params,
                     struct diag *diag);

/*
 * bind.c: imports every tensor of the family's tables from the file mapped at @file. MODEL_REFUSED names every tensor
 * that is missing, the first one of a wrong shape or type, or the first one in a layer that the family does not
 * know. The tensors' data is not read.
 */
int arch_bind(const struct arch *arch, const struct arch_params *params, const struct gguf *gguf, const uint8_t *file,
              struct exec *exec, struct arch_weights *ret_weights, struct diag *diag);

/* rope_tables.c: returns true if a context of @n_context goes beyond the one that the model was first trained for. Of
 * two lists of factors the long one then applies, so it belongs to the numerics. */
bool arch_is_stretched(const struct arch_params *params, uint32_t n_context);

/* rope_tables.c: makes the tables of a context of @n_context positions; one for all layers if they do not differ. */
int arch_make_ropes(const struct arch_params *params, const struct arch_weights *weights, uint32_t n_context,
                    struct exec *exec, struct exec_mem **ret_rope, struct exec_mem **ret_local);

#endif
