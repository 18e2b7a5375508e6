/*
 * Family gemma: Gemma (2B, 7B) and CodeGemma
 *
 * As llama, but the embedding is scaled into the stream, the gate is a GELU, heads are wider than their share of the
 * stream, and the rotation pairs the halves of a head:
 *
 *     x = sqrt(n_embd) * embedding                            the root rounded to a float, then the product
 *     x = x + Wo attention(rope(Wq norm(x)), rope(Wk norm(x)), Wv norm(x))
 *     x = x + Wdown (gelu(Wgate norm(x)) * Wup norm(x))       gelu in the form with tanh
 *     logits = embedding norm(x)
 *
 * The paper's norm multiplies by 1 + w; files hold 1 + w. Source: Gemma Team 2024 (arXiv 2403.08295).
 */
#include "model/builder.h"
#include <math.h>

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
        builder_add_back(&builder, STEP_OUTPUT, builder.at.heads, layer->o, layer->o_bias, NULL);

        builder_read(&builder, STEP_FFN, layer->ffn_norm);
        builder_feed_forward(&builder, layer, EXEC_GATE_GELU);
    }
    return builder_logits(&builder);
}

const struct arch arch_gemma = {
    .name = "gemma",
    .tables = { &arch_stream, &arch_attention, &arch_gated },
    .record = record,
};
