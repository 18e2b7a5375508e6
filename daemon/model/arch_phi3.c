/*
 * Family phi3: Phi-3 mini and medium, Phi-3.5 mini, Phi-4 and Phi-4 mini
 *
 * As llama, but queries, keys and values are in one matrix, gate and up in another (each is bound as a range of its
 * rows and computed separately). The rotation pairs halves, of only the first n_rot elements of a head if the file says
 * so. Long contexts divide each frequency by a factor of its own (longrope: rope_tables.c):
 *
 *     q, k, v = the rows of Wqkv norm(x), one after the other
 *     x = x + Wo attention(rope(q), rope(k), v)
 *     x = x + Wdown (silu(g) * u)                              g, u = the halves of Wup norm(x), the gate first
 *
 * If the file has a window, every layer looks through it. Source: Abdin et al. 2024 (arXiv 2404.14219).
 */
#include "base/clean.h"
#include "model/builder.h"

static const struct arch_tensor rows[] = {
    { "rope_factors_long.weight", ARCH_DIM_HALF_ROT, ARCH_DIM_ONE, ARCH_OPTIONAL | ARCH_FLOATS | ARCH_RAW,
      ARCH_IN_MODEL(rope_long) },
    { "rope_factors_short.weight", ARCH_DIM_HALF_ROT, ARCH_DIM_ONE, ARCH_OPTIONAL | ARCH_FLOATS | ARCH_RAW,
      ARCH_IN_MODEL(rope_short) },
    { "attn_norm.weight", ARCH_DIM_EMBD, ARCH_DIM_ONE, ARCH_LAYER | ARCH_FLOATS, ARCH_IN_LAYER(attn_norm) },
    { "attn_qkv.weight", ARCH_DIM_EMBD, ARCH_DIM_QKV, ARCH_LAYER, ARCH_IN_LAYER(q), ARCH_DIM_ZERO, ARCH_DIM_Q },
    { "attn_qkv.weight", ARCH_DIM_EMBD, ARCH_DIM_QKV, ARCH_LAYER, ARCH_IN_LAYER(k), ARCH_DIM_Q, ARCH_DIM_KV },
    { "attn_qkv.weight", ARCH_DIM_EMBD, ARCH_DIM_QKV, ARCH_LAYER, ARCH_IN_LAYER(v), ARCH_DIM_Q_KV, ARCH_DIM_KV },
    { "attn_output.weight", ARCH_DIM_Q, ARCH_DIM_EMBD, ARCH_LAYER, ARCH_IN_LAYER(o) },
    { "ffn_norm.weight", ARCH_DIM_EMBD, ARCH_DIM_ONE, ARCH_LAYER | ARCH_FLOATS, ARCH_IN_LAYER(ffn_norm) },
    { "ffn_up.weight", ARCH_DIM_EMBD, ARCH_DIM_TWO_FF, ARCH_LAYER, ARCH_IN_LAYER(gate), ARCH_DIM_ZERO, ARCH_DIM_FF },
    { "ffn_up.weight", ARCH_DIM_EMBD, ARCH_DIM_TWO_FF, ARCH_LAYER, ARCH_IN_LAYER(up), ARCH_DIM_FF, ARCH_DIM_FF },
    { "ffn_down.weight", ARCH_DIM_FF, ARCH_DIM_EMBD, ARCH_LAYER, ARCH_IN_LAYER(down) },
};

static const struct arch_table own = { rows, COUNTOF(rows) };

static uint32_t record(const struct arch_source *source, struct exec_program *program)
{
    struct builder builder = builder_begin(source, program);

    for (builder.layer = 0; builder.layer < source->params->n_layers; builder.layer++) {
        const struct arch_layer *layer = &source->weights->layers[builder.layer];

        builder_read(&builder, STEP_QKV, layer->attn_norm);
        builder_qkv(&builder, layer);
        builder_rotate(&builder, EXEC_PAIRS_HALVES);
        builder_attention(&builder);
        builder_add_back(&builder, STEP_OUTPUT, builder.at.heads, layer->o, NULL, NULL);

        builder_read(&builder, STEP_FFN, layer->ffn_norm);
        builder_feed_forward(&builder, layer, EXEC_GATE_SILU);
    }
    return builder_logits(&builder);
}

const struct arch arch_phi3 = {
    .name = "phi3",
    .tables = { &arch_stream, &own },
    .record = record,
};
