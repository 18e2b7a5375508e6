/*
 * Params: a file's hyperparameters, each within its range and all consistent
 *
 * The ranges are far wider than any model that exists and narrow enough that no product of two values wraps.
 */
#include "base/clean.h"
#include "model/arch.h"
#include "model/missing.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define KEY_BYTES   96
#define HEADS_MAX   1024
#define COLS_MAX    (1u << 20)
#define CONTEXT_MAX (1u << 24)

#define POOLING_RANK 4u /* of ARCH.pooling_type; the others are enum pooling_kind */

static const struct param_row {
    const char *key; /* behind "ARCH." */
    size_t place;
    uint32_t min;
    uint32_t max;
    bool is_required;
    bool is_of_net; /* required if the family has recurrent layers, else ignored */
} rows[] = {
    { "block_count", offsetof(struct arch_params, n_layers), 1, ARCH_LAYERS_MAX, true },
    { "embedding_length", offsetof(struct arch_params, n_embd), 1, COLS_MAX, true },
    { "feed_forward_length", offsetof(struct arch_params, n_ff), 1, COLS_MAX, true },
    { "attention.head_count", offsetof(struct arch_params, n_heads), 1, HEADS_MAX, true },
    { "attention.head_count_kv", offsetof(struct arch_params, n_kv_heads), 1, HEADS_MAX, false },
    { "attention.key_length", offsetof(struct arch_params, head_dim), 2, EXEC_HEAD_MAX, false },
    { "rope.dimension_count", offsetof(struct arch_params, n_rot), 2, EXEC_HEAD_MAX, false },
    { "context_length", offsetof(struct arch_params, n_trained), 1, CONTEXT_MAX, true },
    { "attention.sliding_window", offsetof(struct arch_params, window), 0, UINT32_MAX, false },
    { "rope.scaling.original_context_length", offsetof(struct arch_params, rope.n_original), 1, CONTEXT_MAX, false },
    { "ssm.conv_kernel", offsetof(struct arch_params, net.n_taps), 2, EXEC_TAPS_MAX, true, true },
    { "ssm.group_count", offsetof(struct arch_params, net.n_keys), 1, HEADS_MAX, true, true },
    { "ssm.time_step_rank", offsetof(struct arch_params, net.n_values), 1, HEADS_MAX, true, true },
    { "ssm.state_size", offsetof(struct arch_params, net.key_dim), 1, EXEC_HEAD_MAX, true, true },
    { "ssm.inner_size", offsetof(struct arch_params, net.n_inner), 1, HEADS_MAX *EXEC_HEAD_MAX, true, true },
    { "nextn_predict_layers", offsetof(struct arch_params, n_ahead), 0, ARCH_LAYERS_MAX, false, true },
};

/* Zero stands for an absent key with a meaning of its own; the others have been set from the family's habits. */
static const struct float_row {
    const char *key;
    size_t place;
    float min;
    float max;
    bool is_required;
} float_rows[] = {
    { "attention.layer_norm_rms_epsilon", offsetof(struct arch_params, eps), 0.0f, 0.999f, true },
    { "attention.scale", offsetof(struct arch_params, attn_scale), 1e-6f, 1e6f, false },
    { "attn_logit_softcapping", offsetof(struct arch_params, attn_cap), 0.0f, 1e6f, false },
    { "final_logit_softcapping", offsetof(struct arch_params, logit_cap), 0.0f, 1e6f, false },
    { "rope.freq_base", offsetof(struct arch_params, rope.base), 1.0f, 1e12f, false },
    { "rope.freq_base_swa", offsetof(struct arch_params, rope.base_local), 1.0f, 1e12f, false },
    { "rope.scaling.factor", offsetof(struct arch_params, rope.factor), 1.0f, 1024.0f, false },
    { "rope.scaling.attn_factor", offsetof(struct arch_params, rope.magnitude), 0.01f, 100.0f, false },
    { "rope.scaling.yarn_ext_factor", offsetof(struct arch_params, rope.yarn_mix), 0.0f, 1.0f, false },
    { "rope.scaling.yarn_beta_fast", offsetof(struct arch_params, rope.yarn_fast), 0.01f, 1e6f, false },
    { "rope.scaling.yarn_beta_slow", offsetof(struct arch_params, rope.yarn_slow), 0.01f, 1e6f, false },
};

/* The arguments of the small steps below. */
struct reader {
    const struct arch *arch;
    const struct gguf *gguf;
    struct diag *diag;
    struct missing missing;
    char key[KEY_BYTES];
};

static const char *name_key(struct reader *reader, const char *suffix)
{
    snprintf(reader->key, sizeof(reader->key), "%s.%s", reader->arch->name, suffix);
    return reader->key;
}

static bool in_range(struct reader *reader, uint32_t value, uint32_t min, uint32_t max)
{
    if (value < min || value > max) {
        diag_blame(reader->diag, reader->key, "key %s is %u; it must lie between %u and %u", reader->key, value, min,
                   max);
        return false;
    }
    return true;
}

static int read_integers(struct reader *reader, struct arch_params *params)
{
    for (size_t i = 0; i < COUNTOF(rows); i++) {
        uint32_t value;
        int r;

        if (rows[i].is_of_net && reader->arch->habits.attends_every == 0) {
            continue;
        }
        r = gguf_get_u32(reader->gguf, name_key(reader, rows[i].key), &value, reader->diag);
        if (r == GGUF_NONE) {
            if (rows[i].is_required) {
                missing_add(&reader->missing, reader->key);
            }
            continue;
        }
        if (r || !in_range(reader, value, rows[i].min, rows[i].max)) {
            return MODEL_REFUSED;
        }
        memcpy((char *)params + rows[i].place, &value, sizeof(value));
    }
    return MODEL_OK;
}

static int read_floats(struct reader *reader, struct arch_params *params)
{
    for (size_t i = 0; i < COUNTOF(float_rows); i++) {
        const struct float_row *row = &float_rows[i];
        float value;
        int r = gguf_get_f32(reader->gguf, name_key(reader, row->key), &value, reader->diag);

        if (r == GGUF_NONE) {
            if (row->is_required) {
                missing_add(&reader->missing, reader->key);
            }
            continue;
        }
        if (r) {
            return MODEL_REFUSED;
        }
        if (!(value >= row->min && value <= row->max)) {
            diag_blame(reader->diag, reader->key, "key %s is %g; it must lie between %g and %g", reader->key,
                       (double)value, (double)row->min, (double)row->max);
            return MODEL_REFUSED;
        }
        memcpy((char *)params + row->place, &value, sizeof(value));
    }
    return missing_tell(&reader->missing, "the file lacks keys", reader->diag) ? MODEL_REFUSED : MODEL_OK;
}

static bool text_is(struct gguf_text text, const char *word)
{
    return text.n == strlen(word) && memcmp(text.bytes, word, text.n) == 0;
}

/* Reads how positions are stretched. A factor without a type means linear, as in files older than the type. */
static int read_scaling(struct reader *reader, struct arch_params *params)
{
    static const char *const names[ARCH_SCALING_COUNT] = {
        [ARCH_SCALING_NONE] = "none",
        [ARCH_SCALING_LINEAR] = "linear",
        [ARCH_SCALING_YARN] = "yarn",
        [ARCH_SCALING_LONGROPE] = "longrope",
    };
    struct gguf_text scaling;
    int r = gguf_get_text(reader->gguf, name_key(reader, "rope.scaling.type"), &scaling, reader->diag);

    if (r == GGUF_WRONG) {
        return MODEL_REFUSED;
    }
    params->rope.scaling = params->rope.factor > 1.0f ? ARCH_SCALING_LINEAR : ARCH_SCALING_NONE;
    for (unsigned i = 0; r == GGUF_GOT && i < ARCH_SCALING_COUNT; i++) {
        if (text_is(scaling, names[i])) {
            params->rope.scaling = (enum arch_scaling)i;
            return MODEL_OK;
        }
    }
    if (r == GGUF_GOT) {
        diag_blame(reader->diag, reader->key,
                   "key %s is \"%.*s\"; positions are scaled by none, linear, yarn or longrope", reader->key,
                   (int)(scaling.n < 32 ? scaling.n : 32), scaling.bytes);
        return MODEL_REFUSED;
    }
    return MODEL_OK;
}

/* Reads which layers see only the window: all but every n-th (a number), or those that the file lists (an array of
 * bools). */
static int read_pattern(struct reader *reader, struct arch_params *params)
{
    const char *name = name_key(reader, "attention.sliding_window_pattern");
    const struct gguf_key *key = gguf_find_key(reader->gguf, name);
    uint32_t every = reader->arch->habits.global_every;

    if (key && key->type == GGUF_ARRAY) {
        if (key->elem != GGUF_BOOL || key->n != params->n_layers) {
            diag_blame(reader->diag, name, "key %s must be a number, or one bool for each of the %u layers", name,
                       params->n_layers);
            return MODEL_REFUSED;
        }
    } else if (gguf_get_u32(reader->gguf, name, &every, reader->diag) == GGUF_WRONG) {
        return MODEL_REFUSED;
    }
    for (uint32_t i = 0; i < params->n_layers; i++) {
        bool is_local = key && key->type == GGUF_ARRAY ? key->value[i] != 0 : every == 0 || (i + 1) % every != 0;

        params->local[i / 64] |= (uint64_t)is_local << i % 64;
    }
    return MODEL_OK;
}

/* Reads which layers are recurrent: all but every n-th (a number), or those that the file lists (an array of bools). */
static int read_recurrent(struct reader *reader, struct arch_params *params)
{
    const char *name = name_key(reader, "attention.recurrent_layers");
    const struct gguf_key *key = gguf_find_key(reader->gguf, name);
    uint32_t every = reader->arch->habits.attends_every;

    if (every == 0) {
        return MODEL_OK;
    }
    if (key && (key->type != GGUF_ARRAY || key->elem != GGUF_BOOL || key->n != params->n_layers)) {
        diag_blame(reader->diag, name, "key %s must be one bool for each of the %u layers", name, params->n_layers);
        return MODEL_REFUSED;
    }
    if (gguf_get_u32(reader->gguf, name_key(reader, "full_attention_interval"), &every, reader->diag) == GGUF_WRONG ||
        !in_range(reader, every, 1, ARCH_LAYERS_MAX)) {
        return MODEL_REFUSED;
    }
    if (params->n_ahead >= params->n_layers) {
        diag_blame(reader->diag, reader->key, "of %u layers, %u are said to guess ahead", params->n_layers,
                   params->n_ahead);
        return MODEL_REFUSED;
    }
    params->n_layers -= params->n_ahead;
    for (uint32_t i = 0; i < params->n_layers; i++) {
        bool recurs = key ? key->value[i] != 0 : (i + 1) % every != 0;

        params->recurs[i / 64] |= (uint64_t)recurs << i % 64;
        params->n_recurrent += recurs;
    }
    return MODEL_OK;
}

static int derive_net(struct reader *reader, struct arch_params *params)
{
    struct arch_net *net = &params->net;

    if (reader->arch->habits.attends_every == 0) {
        return MODEL_OK;
    }
    if (net->n_values % net->n_keys != 0 || net->n_inner % net->n_values != 0 ||
        net->n_inner / net->n_values > EXEC_HEAD_MAX) {
        diag_set(reader->diag,
                 "%u heads of values in %u columns cannot share %u heads of keys: multiples are needed, and "
                 "heads of "
                 "at most %u",
                 net->n_values, net->n_inner, net->n_keys, EXEC_HEAD_MAX);
        return MODEL_REFUSED;
    }
    net->value_dim = net->n_inner / net->n_values;
    if (params->n_recurrent == params->n_layers) {
        diag_set(reader->diag, "none of the %u layers attends; such models are not known here", params->n_layers);
        return MODEL_REFUSED;
    }
    return MODEL_OK;
}

/* Refuses what would change the arithmetic and is not implemented, rather than ignoring it. */
static int refuse_unknown(struct reader *reader, struct arch_params *params)
{
    bool is_causal = true;
    uint32_t n;
    int r;

    r = gguf_get_bool(reader->gguf, name_key(reader, "attention.causal"), &is_causal, reader->diag);
    if (r == GGUF_WRONG || !is_causal) {
        diag_blame(reader->diag, reader->key,
                   "key %s says that rows see those behind them, too, which is not supported", reader->key);
        return MODEL_REFUSED;
    }
    r = gguf_get_u32(reader->gguf, "split.count", &n, reader->diag);
    if (r == GGUF_WRONG || (r == GGUF_GOT && n > 1)) {
        diag_blame(reader->diag, "split.count", "the file is one part of a model in several; join the parts first");
        return MODEL_REFUSED;
    }
    r = gguf_get_u32(reader->gguf, name_key(reader, "expert_count"), &n, reader->diag);
    if (r == GGUF_WRONG || (r == GGUF_GOT && n != 0)) {
        diag_blame(reader->diag, reader->key, "key %s says mixture of experts, which is not supported", reader->key);
        return MODEL_REFUSED;
    }
    r = gguf_get_u32(reader->gguf, name_key(reader, "attention.value_length"), &n, reader->diag);
    if (r == GGUF_WRONG || (r == GGUF_GOT && n != params->head_dim)) {
        diag_blame(reader->diag, reader->key, "key %s differs from the heads' size %u, which is not supported",
                   reader->key, params->head_dim);
        return MODEL_REFUSED;
    }
    return MODEL_OK;
}

static int derive(struct reader *reader, struct arch_params *params)
{
    if (params->n_kv_heads == 0) {
        params->n_kv_heads = params->n_heads;
    }
    if (params->head_dim == 0) {
        if (params->n_embd % params->n_heads != 0) {
            diag_set(reader->diag, "%u columns cannot be divided among %u heads", params->n_embd, params->n_heads);
            return MODEL_REFUSED;
        }
        params->head_dim = params->n_embd / params->n_heads;
    }
    if (params->n_rot == 0) {
        params->n_rot = params->head_dim;
    }
    if (params->n_heads % params->n_kv_heads != 0) {
        diag_set(reader->diag, "%u heads cannot share %u heads of keys", params->n_heads, params->n_kv_heads);
        return MODEL_REFUSED;
    }
    if (params->head_dim % 2 != 0 || params->head_dim > EXEC_HEAD_MAX) {
        diag_set(reader->diag, "heads of %u elements are not supported: an even number up to %u", params->head_dim,
                 EXEC_HEAD_MAX);
        return MODEL_REFUSED;
    }
    if (params->n_rot % 2 != 0 || params->n_rot > params->head_dim) {
        diag_set(reader->diag, "%u elements of a head of %u cannot turn in pairs", params->n_rot, params->head_dim);
        return MODEL_REFUSED;
    }
    if (params->attn_scale == 0.0f && reader->arch->settle) {
        reader->arch->settle(params);
    }
    if (params->attn_scale == 0.0f) {
        params->attn_scale = 1.0f / sqrtf((float)params->head_dim);
    }
    return MODEL_OK;
}

/* Reads the pooling type. Ranks (4) need a head of their own, which is not implemented: such a model embeds nothing. */
static int read_pooling(struct reader *reader, struct arch_params *params)
{
    uint32_t type = POOLING_NONE;

    if (gguf_get_u32(reader->gguf, name_key(reader, "pooling_type"), &type, reader->diag) == GGUF_WRONG ||
        !in_range(reader, type, POOLING_NONE, POOLING_RANK)) {
        return MODEL_REFUSED;
    }
    params->pooling = type == POOLING_RANK ? POOLING_NONE : (enum pooling_kind)type;
    if (params->pooling != POOLING_NONE && params->n_embd > POOLING_VALUES_MAX) {
        diag_blame(reader->diag, reader->key, "key %s asks for vectors of %u values; at most %u are possible",
                   reader->key, params->n_embd, POOLING_VALUES_MAX);
        return MODEL_REFUSED;
    }
    return MODEL_OK;
}

/* Counts the vocabulary, which sottod reads: its length tells tokens from padding rows. */
static int count_tokens(struct reader *reader, struct arch_params *params)
{
    const struct gguf_key *tokens = gguf_find_key(reader->gguf, "tokenizer.ggml.tokens");
    uint32_t n_claimed;
    int r;

    if (!tokens) {
        diag_set(reader->diag, "the file lacks keys: tokenizer.ggml.tokens");
        return MODEL_REFUSED;
    }
    if (tokens->type != GGUF_ARRAY || tokens->elem != GGUF_STRING || tokens->n == 0 || tokens->n > COLS_MAX) {
        diag_blame(reader->diag, "tokenizer.ggml.tokens",
                   "key tokenizer.ggml.tokens must be an array of 1 to %u strings", COLS_MAX);
        return MODEL_REFUSED;
    }
    params->n_tokens = (uint32_t)tokens->n;
    r = gguf_get_u32(reader->gguf, name_key(reader, "vocab_size"), &n_claimed, reader->diag);
    if (r == GGUF_WRONG) {
        return MODEL_REFUSED;
    }
    if (r == GGUF_GOT && n_claimed != params->n_tokens) {
        diag_blame(reader->diag, reader->key, "key %s says %u, but tokenizer.ggml.tokens lists %u", reader->key,
                   n_claimed, params->n_tokens);
        return MODEL_REFUSED;
    }
    return MODEL_OK;
}

int arch_read_params(const struct arch *arch, const struct gguf *gguf, struct arch_params *ret_params,
                     struct diag *diag)
{
    static int (*const steps[])(struct reader *, struct arch_params *) = {
        read_integers, read_floats,  read_recurrent, derive_net,   derive,
        read_scaling,  read_pattern, refuse_unknown, read_pooling, count_tokens,
    };
    struct reader reader = { .arch = arch, .gguf = gguf, .diag = diag };
    struct arch_params params = {
        .attn_cap = arch->habits.attn_cap,
        .logit_cap = arch->habits.logit_cap,
        .window = arch->habits.window,
        .rope = { .base = 10000.0f,
                  .base_local = arch->habits.base_local,
                  .factor = 1.0f,
                  .magnitude = 1.0f,
                  .yarn_mix = 1.0f,
                  .yarn_fast = 32.0f,
                  .yarn_slow = 1.0f },
    };

    for (size_t i = 0; i < COUNTOF(steps); i++) {
        if (steps[i](&reader, &params)) {
            return MODEL_REFUSED;
        }
    }
    *ret_params = params;
    return MODEL_OK;
}
