/*
 * Family smollm3: SmolLM3
 *
 * As llama, but every fourth layer leaves out the rotation, so that it sees positions only through the other layers:
 *
 *     x = x + Wo attention(q, k, v)                 in layers 3, 7, 11, ...
 *     x = x + Wo attention(rope(q), rope(k), v)     in the others
 *
 * The report says which layers; files have no key for it. Sources: Yang et al. 2025 (arXiv 2501.18795), the report on
 * SmolLM3 (Hugging Face 2025).
 */
#include "model/builder.h"

#define UNTURNED_EVERY 4 /* layers */

static uint32_t record(const struct arch_source *source, struct exec_program *program)
{
    struct builder builder = builder_begin(source, program);

    for (builder.layer = 0; builder.layer < source->params->n_layers; builder.layer++) {
        const struct arch_layer *layer = &source->weights->layers[builder.layer];

        builder_read(&builder, STEP_QKV, layer->attn_norm);
        builder_qkv(&builder, layer);
        if ((builder.layer + 1) % UNTURNED_EVERY != 0) {
            builder_rotate(&builder, EXEC_PAIRS_ADJACENT);
        }
        builder_attention(&builder);
        builder_add_back(&builder, STEP_OUTPUT, builder.at.heads, layer->o, layer->o_bias, NULL);

        builder_read(&builder, STEP_FFN, layer->ffn_norm);
        builder_feed_forward(&builder, layer, EXEC_GATE_SILU);
    }
    return builder_logits(&builder);
}

const struct arch arch_smollm3 = {
    .name = "smollm3",
    .tables = { &arch_stream, &arch_attention, &arch_gated },
    .record = record,
};
