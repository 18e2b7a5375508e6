/*
 * Tables of tensors that several families share.
 */
#include "base/clean.h"
#include "import/family.h"

static const struct family_tensor ends[] = {
    { "embed_tokens.weight", "token_embd.weight", 0 },
    { "norm.weight", "output_norm.weight", FAMILY_FLOATS },
    { "lm_head.weight", "output.weight", FAMILY_OPTIONAL },
};
static const struct family_tensor ends_plus[] = {
    { "embed_tokens.weight", "token_embd.weight", 0 },
    { "norm.weight", "output_norm.weight", FAMILY_FLOATS | FAMILY_PLUS_ONE },
    { "lm_head.weight", "output.weight", FAMILY_OPTIONAL },
};
static const struct family_tensor attention[] = {
    { "self_attn.q_proj.weight", "attn_q.weight", FAMILY_LAYER },
    { "self_attn.k_proj.weight", "attn_k.weight", FAMILY_LAYER },
    { "self_attn.v_proj.weight", "attn_v.weight", FAMILY_LAYER },
    { "self_attn.o_proj.weight", "attn_output.weight", FAMILY_LAYER },
    { "self_attn.q_proj.bias", "attn_q.bias", FAMILY_LAYER | FAMILY_OPTIONAL },
    { "self_attn.k_proj.bias", "attn_k.bias", FAMILY_LAYER | FAMILY_OPTIONAL },
    { "self_attn.v_proj.bias", "attn_v.bias", FAMILY_LAYER | FAMILY_OPTIONAL },
    { "self_attn.o_proj.bias", "attn_output.bias", FAMILY_LAYER | FAMILY_OPTIONAL },
};
static const struct family_tensor pairs[] = {
    { "self_attn.q_proj.weight", "attn_q.weight", FAMILY_LAYER | FAMILY_PAIRS },
    { "self_attn.k_proj.weight", "attn_k.weight", FAMILY_LAYER | FAMILY_PAIRS },
    { "self_attn.v_proj.weight", "attn_v.weight", FAMILY_LAYER },
    { "self_attn.o_proj.weight", "attn_output.weight", FAMILY_LAYER },
    { "self_attn.q_proj.bias", "attn_q.bias", FAMILY_LAYER | FAMILY_OPTIONAL | FAMILY_PAIRS },
    { "self_attn.k_proj.bias", "attn_k.bias", FAMILY_LAYER | FAMILY_OPTIONAL | FAMILY_PAIRS },
    { "self_attn.v_proj.bias", "attn_v.bias", FAMILY_LAYER | FAMILY_OPTIONAL },
    { "self_attn.o_proj.bias", "attn_output.bias", FAMILY_LAYER | FAMILY_OPTIONAL },
};
static const struct family_tensor head_norms[] = {
    { "self_attn.q_norm.weight", "attn_q_norm.weight", FAMILY_LAYER | FAMILY_FLOATS },
    { "self_attn.k_norm.weight", "attn_k_norm.weight", FAMILY_LAYER | FAMILY_FLOATS },
};
static const struct family_tensor norms[] = {
    { "input_layernorm.weight", "attn_norm.weight", FAMILY_LAYER | FAMILY_FLOATS },
    { "post_attention_layernorm.weight", "ffn_norm.weight", FAMILY_LAYER | FAMILY_FLOATS },
};
static const struct family_tensor gated[] = {
    { "mlp.gate_proj.weight", "ffn_gate.weight", FAMILY_LAYER },
    { "mlp.up_proj.weight", "ffn_up.weight", FAMILY_LAYER },
    { "mlp.down_proj.weight", "ffn_down.weight", FAMILY_LAYER },
};

const struct family_table family_ends = { ends, COUNTOF(ends) };
const struct family_table family_ends_plus = { ends_plus, COUNTOF(ends_plus) };
const struct family_table family_attention = { attention, COUNTOF(attention) };
const struct family_table family_pairs = { pairs, COUNTOF(pairs) };
const struct family_table family_head_norms = { head_norms, COUNTOF(head_norms) };
const struct family_table family_norms = { norms, COUNTOF(norms) };
const struct family_table family_gated = { gated, COUNTOF(gated) };
