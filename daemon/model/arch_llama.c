/*
 * Family llama: Llama 2 and 3, TinyLlama, SmolLM2, Mistral, and their like
 *
 * A decoder of equal layers on a residual stream x. With norm(x) = x / sqrt(mean(x^2) + eps) * w:
 *
 *     q, k, v = Wq norm(x), Wk norm(x), Wv norm(x)          heads of q share those of k and v in groups
 *     x = x + Wo attention(rope(q), rope(k), v)
 *     x = x + Wdown (silu(Wgate norm(x)) * Wup norm(x))
 *     logits = Wout norm(x)                                  Wout is the embedding where the file has no other
 *
 * GGUF stores Wq and Wk of this family with rows permuted so that the pairs of the rotation are neighbours. Llama 3
 * divides the frequencies by factors of its own (rope_freqs.weight).
 * Sources: Touvron et al. 2023 (arXiv 2307.09288), Su et al. 2021 (2104.09864), Zhang and Sennrich 2019 (1910.07467),
 * Shazeer 2020 (2002.05202), Ainslie et al. 2023 (2305.13245).
 */
#include "base/clean.h"
#include "model/arch.h"
#include <math.h>

#define IN_MODEL(field) offsetof(struct arch_weights, field)
#define IN_LAYER(field) offsetof(struct arch_layer, field)

static const struct arch_tensor tensors[] = {
    { "token_embd.weight", ARCH_DIM_EMBD, ARCH_DIM_TOKENS, 0, IN_MODEL(embd) },
    { "output_norm.weight", ARCH_DIM_EMBD, ARCH_DIM_ONE, ARCH_FLOATS, IN_MODEL(output_norm) },
    { "output.weight", ARCH_DIM_EMBD, ARCH_DIM_TOKENS, ARCH_OPTIONAL, IN_MODEL(output) },
    { "rope_freqs.weight", ARCH_DIM_HALF_ROT, ARCH_DIM_ONE, ARCH_OPTIONAL | ARCH_FLOATS | ARCH_RAW,
      IN_MODEL(rope_factors) },
    { "attn_norm.weight", ARCH_DIM_EMBD, ARCH_DIM_ONE, ARCH_LAYER | ARCH_FLOATS, IN_LAYER(attn_norm) },
    { "attn_q.weight", ARCH_DIM_EMBD, ARCH_DIM_Q, ARCH_LAYER, IN_LAYER(q) },
    { "attn_k.weight", ARCH_DIM_EMBD, ARCH_DIM_KV, ARCH_LAYER, IN_LAYER(k) },
    { "attn_v.weight", ARCH_DIM_EMBD, ARCH_DIM_KV, ARCH_LAYER, IN_LAYER(v) },
    { "attn_output.weight", ARCH_DIM_Q, ARCH_DIM_EMBD, ARCH_LAYER, IN_LAYER(o) },
    { "attn_q.bias", ARCH_DIM_Q, ARCH_DIM_ONE, ARCH_LAYER | ARCH_OPTIONAL | ARCH_FLOATS, IN_LAYER(q_bias) },
    { "attn_k.bias", ARCH_DIM_KV, ARCH_DIM_ONE, ARCH_LAYER | ARCH_OPTIONAL | ARCH_FLOATS, IN_LAYER(k_bias) },
    { "attn_v.bias", ARCH_DIM_KV, ARCH_DIM_ONE, ARCH_LAYER | ARCH_OPTIONAL | ARCH_FLOATS, IN_LAYER(v_bias) },
    { "attn_output.bias", ARCH_DIM_EMBD, ARCH_DIM_ONE, ARCH_LAYER | ARCH_OPTIONAL | ARCH_FLOATS,
      IN_LAYER(o_bias) },
    { "ffn_norm.weight", ARCH_DIM_EMBD, ARCH_DIM_ONE, ARCH_LAYER | ARCH_FLOATS, IN_LAYER(ffn_norm) },
    { "ffn_gate.weight", ARCH_DIM_EMBD, ARCH_DIM_FF, ARCH_LAYER, IN_LAYER(gate) },
    { "ffn_up.weight", ARCH_DIM_EMBD, ARCH_DIM_FF, ARCH_LAYER, IN_LAYER(up) },
    { "ffn_down.weight", ARCH_DIM_FF, ARCH_DIM_EMBD, ARCH_LAYER, IN_LAYER(down) },
};

#undef IN_MODEL
#undef IN_LAYER

/* Rows of activations, [rows][...]. The width of each is in slots_of(). */
struct slots {
    uint32_t x;      /* residual stream */
    uint32_t normed; /* what a block reads */
    uint32_t q, k, v;
    uint32_t heads; /* what attention gives */
    uint32_t gate, up;
    uint32_t back; /* what a block adds to x */
    uint32_t last; /* x of the wanted rows */
    uint32_t logits;
};

static struct slots slots_of(const struct arch_params *params, struct exec_program *program)
{
    uint32_t n_q = params->n_heads * params->head_dim;
    uint32_t n_kv = params->n_kv_heads * params->head_dim;

    return (struct slots){
        .x = exec_slot(program, "x", params->n_embd, EXEC_ROWS_ALL),
        .normed = exec_slot(program, "normed", params->n_embd, EXEC_ROWS_ALL),
        .q = exec_slot(program, "q", n_q, EXEC_ROWS_ALL),
        .k = exec_slot(program, "k", n_kv, EXEC_ROWS_ALL),
        .v = exec_slot(program, "v", n_kv, EXEC_ROWS_ALL),
        .heads = exec_slot(program, "heads", n_q, EXEC_ROWS_ALL),
        .gate = exec_slot(program, "gate", params->n_ff, EXEC_ROWS_ALL),
        .up = exec_slot(program, "up", params->n_ff, EXEC_ROWS_ALL),
        .back = exec_slot(program, "back", params->n_embd, EXEC_ROWS_ALL),
        .last = exec_slot(program, "last", params->n_embd, EXEC_ROWS_WANTED),
        .logits = exec_slot(program, "logits", params->n_tokens, EXEC_ROWS_WANTED),
    };
}

static void record_attention(struct pen *pen, const struct slots *at, const struct arch_layer *layer)
{
    const struct arch_params *params = pen->source->params;

    pen->phase = STEP_QKV;
    pen_norm(pen, at->normed, at->x, layer->attn_norm);
    pen_matmul(pen, at->q, at->normed, layer->q, layer->q_bias);
    pen_matmul(pen, at->k, at->normed, layer->k, layer->k_bias);
    pen_matmul(pen, at->v, at->normed, layer->v, layer->v_bias);
    pen_rope(pen, at->q, params->n_heads, EXEC_PAIRS_ADJACENT);
    pen_rope(pen, at->k, params->n_kv_heads, EXEC_PAIRS_ADJACENT);

    pen->phase = STEP_ATTEND;
    pen_store(pen, at->k, at->v);
    pen_attend(pen, at->heads, at->q, 1.0f / sqrtf((float)params->head_dim));

    pen->phase = STEP_OUTPUT;
    pen_matmul(pen, at->back, at->heads, layer->o, layer->o_bias);
    pen_add(pen, at->x, at->x, at->back);
}

static void record_feed_forward(struct pen *pen, const struct slots *at, const struct arch_layer *layer)
{
    pen->phase = STEP_FFN;
    pen_norm(pen, at->normed, at->x, layer->ffn_norm);
    pen_matmul(pen, at->gate, at->normed, layer->gate, NULL);
    pen_matmul(pen, at->up, at->normed, layer->up, NULL);
    pen_glu(pen, at->gate, at->gate, at->up);
    pen_matmul(pen, at->back, at->gate, layer->down, NULL);
    pen_add(pen, at->x, at->x, at->back);
}

static uint32_t record(const struct arch_source *source, struct exec_program *program)
{
    const struct arch_weights *weights = source->weights;
    struct slots at = slots_of(source->params, program);
    struct pen pen = { .program = program, .phase = STEP_EMBED, .source = source };

    pen_embed(&pen, at.x, weights->embd);
    for (pen.layer = 0; pen.layer < source->params->n_layers; pen.layer++) {
        record_attention(&pen, &at, &weights->layers[pen.layer]);
        record_feed_forward(&pen, &at, &weights->layers[pen.layer]);
    }
    pen.phase = STEP_HEAD;
    pen_gather(&pen, at.last, at.x);
    pen_norm(&pen, at.last, at.last, weights->output_norm);
    pen_matmul(&pen, at.logits, at.last, weights->output, NULL);
    return at.logits;
}

const struct arch arch_llama = {
    .name = "llama", .tensors = tensors, .n_tensors = COUNTOF(tensors), .record = record
};
