/*
 * Family smollm3: SmolLM3
 *
 * As llama, but every fourth layer leaves out the rotation, so that it sees what stands where only through the others:
 *
 *     x = x + Wo attention(q, k, v)                 in layers 3, 7, 11, ...
 *     x = x + Wo attention(rope(q), rope(k), v)     in the others
 *
 * Which layers is settled by the paper; files have no key for it. Sources: Yang et al. 2025 (arXiv 2501.18795), the
 * report on SmolLM3 (Hugging Face 2025).
 */
#include "model/pen.h"

#define UNTURNED_EVERY 4 /* layers */

static uint32_t record(const struct arch_source *source, struct exec_program *program)
{
    struct pen pen = pen_begin(source, program);

    for (pen.layer = 0; pen.layer < source->params->n_layers; pen.layer++) {
        const struct arch_layer *layer = &source->weights->layers[pen.layer];

        pen_read(&pen, STEP_QKV, layer->attn_norm);
        pen_qkv(&pen, layer);
        if ((pen.layer + 1) % UNTURNED_EVERY != 0) {
            pen_rotate(&pen, EXEC_PAIRS_ADJACENT);
        }
        pen_attention(&pen);
        pen_add_back(&pen, STEP_OUTPUT, pen.at.heads, layer->o, layer->o_bias, NULL);

        pen_read(&pen, STEP_FFN, layer->ffn_norm);
        pen_feed_forward(&pen, layer, EXEC_GATE_SILU);
    }
    return pen_logits(&pen);
}

const struct arch arch_smollm3 = {
    .name = "smollm3",
    .tables = { &arch_stream, &arch_attention, &arch_gated },
    .record = record,
};
