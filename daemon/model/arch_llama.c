/*
 * Family llama: Llama 2 and 3, TinyLlama, SmolLM2, Mistral, and similar models
 *
 * A decoder of equal layers on a residual stream x. With norm(x) = x / sqrt(mean(x^2) + eps) * w:
 *
 *     q, k, v = Wq norm(x), Wk norm(x), Wv norm(x)          heads of q share those of k and v in groups
 *     x = x + Wo attention(rope(q), rope(k), v)
 *     x = x + Wdown (silu(Wgate norm(x)) * Wup norm(x))
 *     logits = Wout norm(x)                                  Wout is the embedding where the file has no other
 *
 * GGUF stores Wq and Wk of this family with rows permuted so that the pairs of the rotation are neighbours. Llama 3
 * divides the frequencies by factors of its own (rope_freqs.weight); the first version of Mistral 7B has a window.
 * Sources: Touvron et al. 2023 (arXiv 2307.09288), Su et al. 2021 (2104.09864), Zhang and Sennrich 2019 (1910.07467),
 * Shazeer 2020 (2002.05202), Ainslie et al. 2023 (2305.13245), Jiang et al. 2023 (2310.06825).
 */
#include "model/builder.h"

static uint32_t record(const struct arch_source *source, struct exec_program *program)
{
    struct builder builder = builder_begin(source, program);

    for (builder.layer = 0; builder.layer < source->params->n_layers; builder.layer++) {
        const struct arch_layer *layer = &source->weights->layers[builder.layer];

        builder_read(&builder, STEP_QKV, layer->attn_norm);
        builder_qkv(&builder, layer);
        builder_rotate(&builder, EXEC_PAIRS_ADJACENT);
        builder_attention(&builder);
        builder_add_back(&builder, STEP_OUTPUT, builder.at.heads, layer->o, layer->o_bias, NULL);

        builder_read(&builder, STEP_FFN, layer->ffn_norm);
        builder_feed_forward(&builder, layer, EXEC_GATE_SILU);
    }
    return builder_logits(&builder);
}

const struct arch arch_llama = {
    .name = "llama",
    .tables = { &arch_stream, &arch_attention, &arch_gated },
    .record = record,
};
