/*
 * Family qwen3: the dense models of Qwen 3
 *
 * As llama, but every head of queries and keys is normed separately before the rotation, a head may be wider or
 * narrower than its share of the stream, and the rotation pairs the halves of a head:
 *
 *     q, k, v = Wq norm(x), Wk norm(x), Wv norm(x)
 *     x = x + Wo attention(rope(norm(q)), rope(norm(k)), v)
 *     x = x + Wdown (silu(Wgate norm(x)) * Wup norm(x))
 *
 * Source: Yang et al. 2025 (arXiv 2505.09388).
 */
#include "base/clean.h"
#include "model/builder.h"

static const struct arch_tensor rows[] = {
    { "attn_q_norm.weight", ARCH_DIM_HEAD, ARCH_DIM_ONE, ARCH_LAYER | ARCH_FLOATS, ARCH_IN_LAYER(q_norm) },
    { "attn_k_norm.weight", ARCH_DIM_HEAD, ARCH_DIM_ONE, ARCH_LAYER | ARCH_FLOATS, ARCH_IN_LAYER(k_norm) },
};

static const struct arch_table own = { rows, COUNTOF(rows) };

static uint32_t record(const struct arch_source *source, struct exec_program *program)
{
    struct builder builder = builder_begin(source, program);

    for (builder.layer = 0; builder.layer < source->params->n_layers; builder.layer++) {
        const struct arch_layer *layer = &source->weights->layers[builder.layer];

        builder_read(&builder, STEP_QKV, layer->attn_norm);
        builder_qkv(&builder, layer);
        builder_norm_heads(&builder, layer);
        builder_rotate(&builder, EXEC_PAIRS_HALVES);
        builder_attention(&builder);
        builder_add_back(&builder, STEP_OUTPUT, builder.at.heads, layer->o, layer->o_bias, NULL);

        builder_read(&builder, STEP_FFN, layer->ffn_norm);
        builder_feed_forward(&builder, layer, EXEC_GATE_SILU);
    }
    return builder_logits(&builder);
}

const struct arch arch_qwen3 = {
    .name = "qwen3",
    .tables = { &arch_stream, &arch_attention, &arch_gated, &own },
    .record = record,
};
