/*
 * Family gemma: Gemma (2B, 7B) and CodeGemma
 *
 * As llama, but the embedding is scaled into the stream, the gate is a GELU, heads are wider than their share of the
 * stream, and the rotation pairs the halves of a head:
 *
 *     x = sqrt(n_embd) * embedding                            the root rounded to a float, then the product
 *     x = x + Wo attention(rope(Wq norm(x)), rope(Wk norm(x)), Wv norm(x))
 *     x = x + Wdown (gelu(Wgate norm(x)) * Wup norm(x))       gelu as it is written with tanh
 *     logits = embedding norm(x)
 *
 * The paper's norm multiplies by 1 + w; files hold 1 + w. Source: Gemma Team 2024 (arXiv 2403.08295).
 */
#include "model/pen.h"
#include <math.h>

static uint32_t record(const struct arch_source *source, struct exec_program *program)
{
    struct pen pen = pen_begin(source, program);

    pen_scale(&pen, pen.at.x, sqrtf((float)source->params->n_embd));
    for (pen.layer = 0; pen.layer < source->params->n_layers; pen.layer++) {
        const struct arch_layer *layer = &source->weights->layers[pen.layer];

        pen_read(&pen, STEP_QKV, layer->attn_norm);
        pen_qkv(&pen, layer);
        pen_rotate(&pen, EXEC_PAIRS_HALVES);
        pen_attention(&pen);
        pen_add_back(&pen, STEP_OUTPUT, pen.at.heads, layer->o, layer->o_bias, NULL);

        pen_read(&pen, STEP_FFN, layer->ffn_norm);
        pen_feed_forward(&pen, layer, EXEC_GATE_GELU);
    }
    return pen_logits(&pen);
}

const struct arch arch_gemma = {
    .name = "gemma",
    .tables = { &arch_stream, &arch_attention, &arch_gated },
    .record = record,
};
