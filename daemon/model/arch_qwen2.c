/*
 * Family qwen2: Qwen 1.5, Qwen 2, Qwen 2.5
 *
 * As llama, but queries, keys and values have biases, and the rotation pairs element i of the first half of a head with
 * element i of the second:
 *
 *     q, k, v = Wq norm(x) + bq, Wk norm(x) + bk, Wv norm(x) + bv
 *     x = x + Wo attention(rope(q), rope(k), v)
 *     x = x + Wdown (silu(Wgate norm(x)) * Wup norm(x))
 *
 * Contexts longer than trained use YaRN. Sources: Bai et al. 2023 (arXiv 2309.16609), Yang et al. 2024 (2407.10671).
 */
#include "model/builder.h"

static uint32_t record(const struct arch_source *source, struct exec_program *program)
{
    struct builder builder = builder_begin(source, program);

    for (builder.layer = 0; builder.layer < source->params->n_layers; builder.layer++) {
        const struct arch_layer *layer = &source->weights->layers[builder.layer];

        builder_read(&builder, STEP_QKV, layer->attn_norm);
        builder_qkv(&builder, layer);
        builder_rotate(&builder, EXEC_PAIRS_HALVES);
        builder_attention(&builder);
        builder_add_back(&builder, STEP_OUTPUT, builder.at.heads, layer->o, layer->o_bias, NULL);

        builder_read(&builder, STEP_FFN, layer->ffn_norm);
        builder_feed_forward(&builder, layer, EXEC_GATE_SILU);
    }
    return builder_logits(&builder);
}

const struct arch arch_qwen2 = {
    .name = "qwen2",
    .tables = { &arch_stream, &arch_attention, &arch_gated },
    .record = record,
};
