/*
 * Family qwen2: Qwen 1.5, Qwen 2, Qwen 2.5
 *
 * As llama, but queries, keys and values have biases, and the rotation pairs an element of the first half of a head
 * with its like in the second:
 *
 *     q, k, v = Wq norm(x) + bq, Wk norm(x) + bk, Wv norm(x) + bv
 *     x = x + Wo attention(rope(q), rope(k), v)
 *     x = x + Wdown (silu(Wgate norm(x)) * Wup norm(x))
 *
 * Longer contexts than trained for by YaRN. Sources: Bai et al. 2023 (arXiv 2309.16609), Yang et al. 2024 (2407.10671).
 */
#include "model/pen.h"

static uint32_t record(const struct arch_source *source, struct exec_program *program)
{
    struct pen pen = pen_begin(source, program);

    for (pen.layer = 0; pen.layer < source->params->n_layers; pen.layer++) {
        const struct arch_layer *layer = &source->weights->layers[pen.layer];

        pen_read(&pen, STEP_QKV, layer->attn_norm);
        pen_qkv(&pen, layer);
        pen_rotate(&pen, EXEC_PAIRS_HALVES);
        pen_attention(&pen);
        pen_add_back(&pen, STEP_OUTPUT, pen.at.heads, layer->o, layer->o_bias, NULL);

        pen_read(&pen, STEP_FFN, layer->ffn_norm);
        pen_feed_forward(&pen, layer, EXEC_GATE_SILU);
    }
    return pen_logits(&pen);
}

const struct arch arch_qwen2 = {
    .name = "qwen2",
    .tables = { &arch_stream, &arch_attention, &arch_gated },
    .record = record,
};
