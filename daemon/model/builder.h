/*
 * Builder: records a family's program, a block a line
 *
 * The families share one skeleton: a residual stream x that blocks read (normed) and add to (back). A builder knows the
 * program, the slots of that skeleton and the layer; blocks set the phases themselves.
 */
#ifndef SOTTO_MODEL_BUILDER_H
#define SOTTO_MODEL_BUILDER_H

#include "model/arch.h"

/* Rows of activations, [rows][...]. */
struct builder_slots {
    uint32_t x;        /* [n_embd] residual stream */
    uint32_t normed;   /* [n_embd] what a block reads; named BUILDER_HIDDEN */
    uint32_t q;        /* [n_heads * head_dim] */
    uint32_t k, v;     /* [n_kv_heads * head_dim] */
    uint32_t heads;    /* [n_heads * head_dim] the output of attention */
    uint32_t gate, up; /* [n_ff] */
    uint32_t back;     /* [n_embd] what a block adds to x */
    uint32_t last;     /* [n_embd] x of the wanted rows */
    uint32_t logits;   /* [n_tokens] of the wanted rows */
};

#define BUILDER_HIDDEN "normed"

struct builder {
    struct exec_program *program;
    const struct arch_source *source;
    struct builder_slots at;
    enum step_phase phase;
    uint32_t layer;
};

/* ---- blocks ---- */

/* Makes the slots, and sets x to the tokens' rows of the embedding. */
struct builder builder_begin(const struct arch_source *source, struct exec_program *program);

/* Begins phase @phase: normed = norm(x). */
void builder_read(struct builder *builder, enum step_phase phase, const struct exec_mem *norm);

/* q, k, v = Wq normed, Wk normed, Wv normed, plus the biases of the file. */
void builder_qkv(struct builder *builder, const struct arch_layer *layer);

/* Norms each head of q and k separately. */
void builder_norm_heads(struct builder *builder, const struct arch_layer *layer);

/* Rotates q and k by their position. */
void builder_rotate(struct builder *builder, enum exec_pairs pairs);

/* Stores keys and values; heads = attention(q), through the layer's window if it has one. */
void builder_attention(struct builder *builder);

/* x = x + W in (+ bias); with @post_norm the sum is normed before it is added. */
void builder_add_back(struct builder *builder, enum step_phase phase, uint32_t in, const struct exec_mem *weight,
                      const struct exec_mem *bias, const struct exec_mem *post_norm);

/* x = x + Wdown (act(Wgate normed) * Wup normed). */
void builder_feed_forward(struct builder *builder, const struct arch_layer *layer, enum exec_gate gate);

/* Returns the slot of logits = Wout norm(x) of the wanted rows, softly capped if the family does so. In a model that is
 * made for embedding, BUILDER_HIDDEN then holds norm(x) of all rows. */
uint32_t builder_logits(struct builder *builder);

/* ---- single ops ---- */

void builder_norm(struct builder *builder, uint32_t out, uint32_t in, const struct exec_mem *weight);
void builder_matmul(struct builder *builder, uint32_t out, uint32_t in, const struct exec_mem *weight,
                    const struct exec_mem *bias);
void builder_glu(struct builder *builder, uint32_t out, uint32_t gate, uint32_t up, enum exec_gate act);
void builder_scale(struct builder *builder, uint32_t x, float scale);

/* Records @op with the builder's phase and the layer's index among its kind. */
void builder_put(struct builder *builder, struct exec_op op);

#endif
