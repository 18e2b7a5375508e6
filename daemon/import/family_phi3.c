/*
 * Phi-3, Phi-3.5 and Phi-4: q, k and v are one matrix, gate and up another, in the folder as in GGUF.
 */
#include "base/clean.h"
#include "import/family.h"
#include "import/window.h"

static const struct family_tensor rows[] = {
    { "self_attn.qkv_proj.weight", "attn_qkv.weight", FAMILY_LAYER },
    { "self_attn.o_proj.weight", "attn_output.weight", FAMILY_LAYER },
    { "mlp.gate_up_proj.weight", "ffn_up.weight", FAMILY_LAYER },
    { "mlp.down_proj.weight", "ffn_down.weight", FAMILY_LAYER },
};

static const struct family_table table = { rows, COUNTOF(rows) };

static int more(struct import *import, struct diag *diag)
{
    return window_import(import, NULL, diag);
}

const struct family family_phi3 = {
    .types = { "phi3" },
    .arch = "phi3",
    .tables = { &family_ends, &family_norms, &table },
    .more = more,
};
