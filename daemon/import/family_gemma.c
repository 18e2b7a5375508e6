/*
 * Gemma, Gemma 2, Gemma 3
 *
 * Their norms multiply by the stored value plus one; GGUF stores the sum. Gemma 2 and 3 have norms before and behind
 * each block, may cap the scores and scale them by a number of their own, and have layers with a window: every other
 * one in Gemma 2, all except every sixth in Gemma 3, where these rotate with a base of their own.
 */
#include "base/clean.h"
#include "import/family.h"
#include "import/window.h"
#include <math.h>

#define GEMMA2_GLOBAL_EVERY 2
#define GEMMA3_GLOBAL_EVERY 6

#define NORM (FAMILY_LAYER | FAMILY_FLOATS | FAMILY_PLUS_ONE)

static const struct family_tensor norms[] = {
    { "input_layernorm.weight", "attn_norm.weight", NORM },
    { "post_attention_layernorm.weight", "ffn_norm.weight", NORM },
};
static const struct family_tensor double_norms[] = {
    { "input_layernorm.weight", "attn_norm.weight", NORM },
    { "post_attention_layernorm.weight", "post_attention_norm.weight", NORM },
    { "pre_feedforward_layernorm.weight", "ffn_norm.weight", NORM },
    { "post_feedforward_layernorm.weight", "post_ffw_norm.weight", NORM },
};
static const struct family_tensor head_norms[] = {
    { "self_attn.q_norm.weight", "attn_q_norm.weight", NORM },
    { "self_attn.k_norm.weight", "attn_k_norm.weight", NORM },
};

#undef NORM

static const struct family_table norms_table = { norms, COUNTOF(norms) };
static const struct family_table double_norms_table = { double_norms, COUNTOF(double_norms) };
static const struct family_table head_norms_table = { head_norms, COUNTOF(head_norms) };

/* Puts the scale of the scores, the root of a number that may differ from the size of a head. */
static int put_scale(struct import *import, struct diag *diag)
{
    float scalar = (float)import->facts.head_dim;

    if (json_get_f32(import->folder->text, "query_pre_attn_scalar", &scalar, diag) == JSON_WRONG) {
        return IMPORT_REFUSED;
    }
    if (!(scalar > 0.0f)) {
        diag_blame(diag, "query_pre_attn_scalar", "config.json: \"query_pre_attn_scalar\" must be above 0");
        return IMPORT_REFUSED;
    }
    if (scalar != (float)import->facts.head_dim) {
        gguf_put_f32(import->writer, import_key(import, "attention.scale"), 1.0f / sqrtf(scalar));
    }
    return IMPORT_OK;
}

/* Puts a cap, or 0 for none, since readers may assume the published one. */
static int put_cap(struct import *import, const char *from, const char *to, struct diag *diag)
{
    float cap = 0.0f;

    if (json_get_f32(import->folder->text, from, &cap, diag) == JSON_WRONG) {
        return IMPORT_REFUSED;
    }
    gguf_put_f32(import->writer, import_key(import, to), cap);
    return IMPORT_OK;
}

static bool is_local2(const struct import *import, uint32_t layer)
{
    return (layer + 1) % GEMMA2_GLOBAL_EVERY != 0;
}

static int more_gemma2(struct import *import, struct diag *diag)
{
    int r = put_scale(import, diag);

    r = r ? r : put_cap(import, "attn_logit_softcapping", "attn_logit_softcapping", diag);
    r = r ? r : put_cap(import, "final_logit_softcapping", "final_logit_softcapping", diag);
    return r ? r : window_import(import, is_local2, diag);
}

static bool is_local3(const struct import *import, uint32_t layer)
{
    uint64_t every = GEMMA3_GLOBAL_EVERY;

    json_count(json_object_get(import->folder->text, "sliding_window_pattern"), &every);
    return every == 0 || (layer + 1) % every != 0;
}

static int more_gemma3(struct import *import, struct diag *diag)
{
    float base = 10000.0f;
    int r = put_scale(import, diag);

    r = r ? r : put_cap(import, "attn_logit_softcapping", "attn_logit_softcapping", diag);
    r = r ? r : put_cap(import, "final_logit_softcapping", "final_logit_softcapping", diag);
    r = r ? r : rope_keys_read_base(import->folder, "sliding_attention", &base, diag);
    if (r) {
        return r;
    }
    gguf_put_f32(import->writer, import_key(import, "rope.freq_base_swa"), base);
    return window_import(import, is_local3, diag);
}

const struct family family_gemma = {
    .types = { "gemma" },
    .arch = "gemma",
    .tables = { &family_ends_plus, &norms_table, &family_attention, &family_gated },
};

const struct family family_gemma2 = {
    .types = { "gemma2" },
    .arch = "gemma2",
    .tables = { &family_ends_plus, &double_norms_table, &family_attention, &family_gated },
    .more = more_gemma2,
};

const struct family family_gemma3 = {
    .types = { "gemma3_text", "gemma3" },
    .arch = "gemma3",
    .tables = { &family_ends_plus, &double_norms_table, &family_attention, &head_norms_table, &family_gated },
    .more = more_gemma3,
};
