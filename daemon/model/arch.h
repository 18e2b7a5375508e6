/*
 * Arch: a family of models as data and one recorded program
 *
 * A family is one file (arch_llama.c) with one row in arch.c: a table of the tensors that its files hold, where each
 * goes and how large it must be, and a function that records the family's program, which should read like its paper.
 * What is common to families (reading keys, binding, recording helpers) lies here and in params.c and bind.c.
 */
#ifndef SOTTO_MODEL_ARCH_H
#define SOTTO_MODEL_ARCH_H

#include "exec/exec.h"
#include "gguf/gguf.h"
#include "model/step.h"

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
    float rope_base;
    float rope_scale; /* of positions; 1: none */
};

struct arch_layer {
    struct exec_mem *attn_norm;
    struct exec_mem *q, *k, *v, *o;
    struct exec_mem *q_bias, *k_bias, *v_bias, *o_bias; /* or NULL */
    struct exec_mem *ffn_norm;
    struct exec_mem *gate, *up, *down;
};

struct arch_weights {
    struct exec_mem *embd;
    struct exec_mem *output_norm;
    struct exec_mem *output;   /* the embedding where the file has none of its own */
    struct arch_layer *layers; /* [n_layers], owned */
    const float *rope_factors; /* [n_rot / 2] in the file, or NULL */
};

/* A size that a tensor must have. */
enum arch_dim {
    ARCH_DIM_ONE,
    ARCH_DIM_EMBD,
    ARCH_DIM_FF,
    ARCH_DIM_Q,  /* n_heads * head_dim */
    ARCH_DIM_KV, /* n_kv_heads * head_dim */
    ARCH_DIM_HALF_ROT,
    ARCH_DIM_TOKENS, /* at least so many: files pad */
};

enum arch_tensor_flag {
    ARCH_LAYER = 1, /* named "blk.N.NAME", goes into an arch_layer */
    ARCH_OPTIONAL = 2,
    ARCH_FLOATS = 4, /* must be F32: norms, biases, factors */
    ARCH_RAW = 8,    /* stays a pointer to floats in the file */
};

struct arch_tensor {
    const char *name;
    enum arch_dim n_cols;
    enum arch_dim n_rows;
    unsigned flags;
    size_t place; /* offset of the pointer in arch_layer or arch_weights */
};

/* What a family's program is recorded from. */
struct arch_source {
    const struct arch_params *params;
    const struct arch_weights *weights;
    const struct exec_mem *rope;
    struct exec_mem *kv;
};

struct arch {
    const char *name; /* general.architecture, and what its keys begin with */
    const struct arch_tensor *tensors;
    size_t n_tensors;

    /* Records the program; gives the slot of logits (wanted rows, n_tokens wide). */
    uint32_t (*record)(const struct arch_source *source, struct exec_program *program);
};

extern const struct arch arch_llama;

/* MODEL_REFUSED naming the families that there are. */
int arch_find(const struct gguf *gguf, const struct arch **ret_arch, struct diag *diag);

/* params.c: MODEL_REFUSED naming every key that is missing, or the first that is out of its range. */
int arch_read_params(const struct arch *arch, const struct gguf *gguf, struct arch_params *ret_params,
                     struct diag *diag);

/*
 * bind.c: imports every tensor of the family's table from the file mapped at @file. MODEL_REFUSED naming every tensor
 * that is missing, or the first whose shape or type does not fit. The tensors are looked at, their data is not read.
 */
int arch_bind(const struct arch *arch, const struct arch_params *params, const struct gguf *gguf,
              const uint8_t *file, struct exec *exec, struct arch_weights *ret_weights, struct diag *diag);

/* ---- recording: an op a line, the phase and layer as set last ---- */

struct pen {
    struct exec_program *program;
    enum step_phase phase;
    uint32_t layer;
    const struct arch_source *source;
};

void pen_embed(struct pen *pen, uint32_t out, const struct exec_mem *table);
void pen_norm(struct pen *pen, uint32_t out, uint32_t in, const struct exec_mem *weight);
void pen_matmul(struct pen *pen, uint32_t out, uint32_t in, const struct exec_mem *weight,
                const struct exec_mem *bias);
void pen_rope(struct pen *pen, uint32_t x, uint32_t n_heads, enum exec_pairs pairs);
void pen_store(struct pen *pen, uint32_t k, uint32_t v);
void pen_attend(struct pen *pen, uint32_t out, uint32_t q, float scale);
void pen_glu(struct pen *pen, uint32_t out, uint32_t gate, uint32_t up);
void pen_add(struct pen *pen, uint32_t out, uint32_t a, uint32_t b);
void pen_gather(struct pen *pen, uint32_t out, uint32_t in);

#endif
