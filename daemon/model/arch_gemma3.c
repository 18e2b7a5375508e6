/*
 * Family gemma3: the text models of Gemma 3 (270M to 27B)
 *
 * As gemma2, but heads of queries and keys are normed in place of the soft caps, and five layers of six look through a
 * window and rotate by a base of their own, so that only the sixth has to be stretched to long contexts:
 *
 *     x = sqrt(n_embd) * embedding
 *     x = x + post(Wo attention(rope(norm(Wq norm(x))), rope(norm(Wk norm(x))), Wv norm(x)))
 *     x = x + post(Wdown (gelu(Wgate norm(x)) * Wup norm(x)))
 *     logits = embedding norm(x)
 *
 * The 27B model scales scores as that of gemma2 does. Source: Gemma Team 2025 (arXiv 2503.19786).
 */
#include "base/clean.h"
#include "model/builder.h"
#include <math.h>

#define LAYERS_27B 62

static const struct arch_tensor rows[] = {
    { "attn_q_norm.weight", ARCH_DIM_HEAD, ARCH_DIM_ONE, ARCH_LAYER | ARCH_FLOATS, ARCH_IN_LAYER(q_norm) },
    { "attn_k_norm.weight", ARCH_DIM_HEAD, ARCH_DIM_ONE, ARCH_LAYER | ARCH_FLOATS, ARCH_IN_LAYER(k_norm) },
    { "post_attention_norm.weight", ARCH_DIM_EMBD, ARCH_DIM_ONE, ARCH_LAYER | ARCH_FLOATS,
      ARCH_IN_LAYER(attn_post_norm) },
    { "post_ffw_norm.weight", ARCH_DIM_EMBD, ARCH_DIM_ONE, ARCH_LAYER | ARCH_FLOATS, ARCH_IN_LAYER(ffn_post_norm) },
};

static const struct arch_table own = { rows, COUNTOF(rows) };

static void settle(struct arch_params *params)
{
    if (params->n_layers == LAYERS_27B) {
        params->attn_scale = 1.0f / sqrtf((float)params->n_embd / (float)params->n_heads);
    }
}

static uint32_t record(const struct arch_source *source, struct exec_program *program)
{
    struct builder builder = builder_begin(source, program);

    builder_scale(&builder, builder.at.x, sqrtf((float)source->params->n_embd));
    for (builder.layer = 0; builder.layer < source->params->n_layers; builder.layer++) {
        const struct arch_layer *layer = &source->weights->layers[builder.layer];

        builder_read(&builder, STEP_QKV, layer->attn_norm);
        builder_qkv(&builder, layer);
        builder_norm_heads(&builder, layer);
        builder_rotate(&builder, EXEC_PAIRS_HALVES);
        builder_attention(&builder);
        builder_add_back(&builder, STEP_OUTPUT, builder.at.heads, layer->o, layer->o_bias, layer->attn_post_norm);

        builder_read(&builder, STEP_FFN, layer->ffn_norm);
        builder_feed_forward(&builder, layer, EXEC_GATE_GELU);
    }
    return builder_logits(&builder);
}

const struct arch arch_gemma3 = {
    .name = "gemma3",
    .tables = { &arch_stream, &arch_attention, &arch_gated, &own },
    .habits = { .global_every = 6, .base_local = 10000.0f },
    .settle = settle,
    .record = record,
};
