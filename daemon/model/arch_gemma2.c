/*
 * Family gemma2: Gemma 2 (2B, 9B, 27B)
 *
 * As gemma, but what a block adds is normed once more, every second layer looks through a window, and scores and logits
 * are softly capped:
 *
 *     x = x + post(Wo attention(rope(Wq norm(x)), rope(Wk norm(x)), Wv norm(x)))
 *         score = 50 tanh(scale q k / 50)                      before the softmax; layers 0, 2, 4, ...: the last 4096
 *     x = x + post(Wdown (gelu(Wgate norm(x)) * Wup norm(x)))
 *     logits = 30 tanh(embedding norm(x) / 30)
 *
 * Scores are divided by the root of the head's size, but in the 27B model by that of a head's share of the stream, a
 * number of the paper for which files have no key. Source: Gemma Team 2024 (arXiv 2408.00118), table 1.
 */
#include "base/clean.h"
#include "model/builder.h"
#include <math.h>

#define LAYERS_27B 46

static const struct arch_tensor rows[] = {
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
        builder_rotate(&builder, EXEC_PAIRS_HALVES);
        builder_attention(&builder);
        builder_add_back(&builder, STEP_OUTPUT, builder.at.heads, layer->o, layer->o_bias, layer->attn_post_norm);

        builder_read(&builder, STEP_FFN, layer->ffn_norm);
        builder_feed_forward(&builder, layer, EXEC_GATE_GELU);
    }
    return builder_logits(&builder);
}

const struct arch arch_gemma2 = {
    .name = "gemma2",
    .tables = { &arch_stream, &arch_attention, &arch_gated, &own },
    .habits = { .window = 4096, .global_every = 2, .attn_cap = 50.0f, .logit_cap = 30.0f },
    .settle = settle,
    .record = record,
};
