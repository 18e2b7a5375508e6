/*
 * Bind: the tensors of a file, each checked against its family's table and imported
 *
 * Expected sizes come from the hyperparameters, never from the tensors, so a tensor that lies about its shape does not
 * fit. A tensor that the family does not know is refused if it is in a layer, since ignoring it would change the
 * answers.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "model/arch.h"
#include "model/missing.h"
#include "tensor/panel.h"
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 64 /* the limit of GGUF */

/* ---- what families share ---- */

static const struct arch_tensor stream[] = {
    { "token_embd.weight", ARCH_DIM_EMBD, ARCH_DIM_TOKENS, 0, ARCH_IN_MODEL(embd) },
    { "output_norm.weight", ARCH_DIM_EMBD, ARCH_DIM_ONE, ARCH_FLOATS, ARCH_IN_MODEL(output_norm) },
    { "output.weight", ARCH_DIM_EMBD, ARCH_DIM_TOKENS, ARCH_OPTIONAL, ARCH_IN_MODEL(output) },
    { "rope_freqs.weight", ARCH_DIM_HALF_ROT, ARCH_DIM_ONE, ARCH_OPTIONAL | ARCH_FLOATS | ARCH_RAW,
      ARCH_IN_MODEL(rope_factors) },
};

static const struct arch_tensor attention[] = {
    { "attn_norm.weight", ARCH_DIM_EMBD, ARCH_DIM_ONE, ARCH_LAYER | ARCH_FLOATS, ARCH_IN_LAYER(attn_norm) },
    { "attn_q.weight", ARCH_DIM_EMBD, ARCH_DIM_Q, ARCH_LAYER, ARCH_IN_LAYER(q) },
    { "attn_k.weight", ARCH_DIM_EMBD, ARCH_DIM_KV, ARCH_LAYER, ARCH_IN_LAYER(k) },
    { "attn_v.weight", ARCH_DIM_EMBD, ARCH_DIM_KV, ARCH_LAYER, ARCH_IN_LAYER(v) },
    { "attn_output.weight", ARCH_DIM_Q, ARCH_DIM_EMBD, ARCH_LAYER, ARCH_IN_LAYER(o) },
    { "attn_q.bias", ARCH_DIM_Q, ARCH_DIM_ONE, ARCH_LAYER | ARCH_OPTIONAL | ARCH_FLOATS, ARCH_IN_LAYER(q_bias) },
    { "attn_k.bias", ARCH_DIM_KV, ARCH_DIM_ONE, ARCH_LAYER | ARCH_OPTIONAL | ARCH_FLOATS, ARCH_IN_LAYER(k_bias) },
    { "attn_v.bias", ARCH_DIM_KV, ARCH_DIM_ONE, ARCH_LAYER | ARCH_OPTIONAL | ARCH_FLOATS, ARCH_IN_LAYER(v_bias) },
    { "attn_output.bias", ARCH_DIM_EMBD, ARCH_DIM_ONE, ARCH_LAYER | ARCH_OPTIONAL | ARCH_FLOATS,
      ARCH_IN_LAYER(o_bias) },
};

static const struct arch_tensor gated[] = {
    { "ffn_norm.weight", ARCH_DIM_EMBD, ARCH_DIM_ONE, ARCH_LAYER | ARCH_FLOATS, ARCH_IN_LAYER(ffn_norm) },
    { "ffn_gate.weight", ARCH_DIM_EMBD, ARCH_DIM_FF, ARCH_LAYER, ARCH_IN_LAYER(gate) },
    { "ffn_up.weight", ARCH_DIM_EMBD, ARCH_DIM_FF, ARCH_LAYER, ARCH_IN_LAYER(up) },
    { "ffn_down.weight", ARCH_DIM_FF, ARCH_DIM_EMBD, ARCH_LAYER, ARCH_IN_LAYER(down) },
};

const struct arch_table arch_stream = { stream, COUNTOF(stream) };
const struct arch_table arch_attention = { attention, COUNTOF(attention) };
const struct arch_table arch_gated = { gated, COUNTOF(gated) };

/* ---- one tensor ---- */

struct binder {
    const struct arch *arch;
    const struct arch_params *params;
    const struct gguf *gguf;
    const uint8_t *file;
    struct exec *exec;
    struct arch_weights *weights;
    struct missing missing;
    struct diag *diag;
};

static uint64_t dim_size(const struct arch_params *params, enum arch_dim dim)
{
    uint64_t n_q = (uint64_t)params->n_heads * params->head_dim;
    uint64_t n_kv = (uint64_t)params->n_kv_heads * params->head_dim;

    switch (dim) {
    case ARCH_DIM_ZERO:
        return 0;
    case ARCH_DIM_ONE:
        return 1;
    case ARCH_DIM_EMBD:
        return params->n_embd;
    case ARCH_DIM_FF:
        return params->n_ff;
    case ARCH_DIM_TWO_FF:
        return UINT64_C(2) * params->n_ff;
    case ARCH_DIM_Q:
        return n_q;
    case ARCH_DIM_KV:
        return n_kv;
    case ARCH_DIM_Q_KV:
        return n_q + n_kv;
    case ARCH_DIM_QKV:
        return n_q + 2 * n_kv;
    case ARCH_DIM_TWO_Q:
        return 2 * n_q;
    case ARCH_DIM_HEAD:
        return params->head_dim;
    case ARCH_DIM_HALF_ROT:
        return params->n_rot / 2;
    case ARCH_DIM_TOKENS:
        return params->n_tokens;
    case ARCH_DIM_CHANNELS:
        return arch_n_channels(&params->net);
    case ARCH_DIM_TAPS:
        return params->net.n_taps;
    case ARCH_DIM_INNER:
        return params->net.n_inner;
    case ARCH_DIM_VALUES:
        return params->net.n_values;
    case ARCH_DIM_VALUE:
        return params->net.value_dim;
    }
    return 0;
}

static bool shape_fits(const struct binder *binder, const struct arch_tensor *row, const struct gguf_tensor *tensor,
                       const char *name)
{
    uint64_t n_cols = dim_size(binder->params, row->n_cols);
    uint64_t n_rows = dim_size(binder->params, row->n_rows);
    bool may_pad = row->n_rows == ARCH_DIM_TOKENS;

    if (tensor->dims[0] == n_cols && tensor->dims[2] == 1 && tensor->dims[3] == 1 &&
        (may_pad ? tensor->dims[1] >= n_rows : tensor->dims[1] == n_rows)) {
        return true;
    }
    diag_set(binder->diag, "tensor %s is %llu x %llu x %llu x %llu where %llu x %llu%s is needed", name,
             (unsigned long long)tensor->dims[0], (unsigned long long)tensor->dims[1],
             (unsigned long long)tensor->dims[2], (unsigned long long)tensor->dims[3], (unsigned long long)n_cols,
             (unsigned long long)n_rows, may_pad ? " (or more rows)" : "");
    return false;
}

static bool type_fits(const struct binder *binder, const struct arch_tensor *row, const struct gguf_tensor *tensor,
                      const char *name)
{
    const struct elem_info *info = elem_info(tensor->type);

    if (row->flags & ARCH_FLOATS) {
        if (tensor->type != ELEM_F32 || tensor->offset % sizeof(float) != 0) {
            diag_set(binder->diag, "tensor %s of type %s at %llu: it must be F32 at a multiple of 4", name,
                     info ? info->name : "unknown", (unsigned long long)tensor->offset);
            return false;
        }
        return true;
    }
    if (!exec_may_import(binder->exec, tensor->type)) {
        char computed[160];

        diag_set(binder->diag, "tensor %s has type %s, which is not computed here; convert the file to one of: %s",
                 name, info ? info->name : "unknown", elem_computed(computed, sizeof(computed)));
        return false;
    }
    return true;
}

/* Imports the rows of @tensor that @row asks for. */
static int import(const struct binder *binder, const struct arch_tensor *row, const struct gguf_tensor *tensor,
                  const char *name, void **ret_place)
{
    uint64_t n_part = dim_size(binder->params, row->n_part);
    struct exec_mem *mem;
    uint64_t row_bytes;
    int r;

    if (!elem_row_bytes(tensor->type, tensor->dims[0], &row_bytes)) {
        diag_set(binder->diag, "tensor %s: rows of %llu are no whole blocks", name,
                 (unsigned long long)tensor->dims[0]);
        return MODEL_REFUSED;
    }
    if (tensor->in_panels && dim_size(binder->params, row->first) % ELEM_PANEL_ROWS != 0) {
        diag_set(binder->diag, "tensor %s is packed, and its parts are no whole panels; use the file that was packed",
                 name);
        return MODEL_REFUSED;
    }
    r = exec_import(binder->exec,
                    &(struct exec_tensor){ .name = name,
                                           .type = tensor->type,
                                           .in_panels = tensor->in_panels,
                                           .n_cols = tensor->dims[0],
                                           .n_rows = n_part ? n_part : tensor->dims[1],
                                           .bytes = binder->file + tensor->offset +
                                                    dim_size(binder->params, row->first) * row_bytes },
                    &mem, binder->diag);
    if (r == EXEC_REFUSED) {
        return MODEL_REFUSED;
    }
    if (r) {
        return err_up(r);
    }
    *ret_place = mem;
    return MODEL_OK;
}

static int bind_one(struct binder *binder, const struct arch_tensor *row, uint32_t layer, void *base)
{
    const struct gguf_tensor *tensor;
    char name[NAME_BYTES];
    void *place = NULL;
    int r = MODEL_OK;

    if (row->flags & ARCH_LAYER) {
        snprintf(name, sizeof(name), "blk.%u.%s", layer, row->name);
    } else {
        snprintf(name, sizeof(name), "%s", row->name);
    }
    tensor = gguf_find_tensor(binder->gguf, name);
    if (!tensor) {
        if (!(row->flags & ARCH_OPTIONAL) && row->first == ARCH_DIM_ZERO) {
            missing_add(&binder->missing, name);
        }
        return MODEL_OK;
    }
    if (!shape_fits(binder, row, tensor, name) || !type_fits(binder, row, tensor, name)) {
        return MODEL_REFUSED;
    }
    if (row->flags & ARCH_RAW) {
        const uint8_t *raw = binder->file + tensor->offset;

        memcpy((char *)base + row->place, &raw, sizeof(raw));
        return MODEL_OK;
    }
    r = import(binder, row, tensor, name, &place);
    if (!r) {
        memcpy((char *)base + row->place, &place, sizeof(place));
    }
    return r;
}

/* Binds @row of a table in each layer of its kind, or once if it is not of a layer. */
static int bind_row(struct binder *binder, const struct arch_tensor *row)
{
    uint32_t n = row->flags & ARCH_LAYER ? binder->params->n_layers : 1;

    for (uint32_t layer = 0; layer < n; layer++) {
        void *base = row->flags & ARCH_LAYER ? (void *)&binder->weights->layers[layer] : (void *)binder->weights;
        int r;

        if (row->flags & ARCH_LAYER && !arch_row_is_of(row, binder->params, layer)) {
            continue;
        }
        r = bind_one(binder, row, layer, base);

        if (r) {
            return err_pass(r);
        }
    }
    return MODEL_OK;
}

/* ---- the whole file ---- */

/* Returns true if the frequencies can be divided by @factors. */
static bool factors_fit(const struct binder *binder, const float *factors, const char *name)
{
    for (uint32_t i = 0; factors && i < binder->params->n_rot / 2; i++) {
        float factor;

        memcpy(&factor, factors + i, sizeof(factor));
        if (!isfinite(factor) || factor <= 0.0f) {
            diag_set(binder->diag, "tensor %s: factor %u is no number above 0", name, i);
            return false;
        }
    }
    return true;
}

static bool all_factors_fit(const struct binder *binder)
{
    const struct arch_weights *weights = binder->weights;

    if (binder->params->rope.scaling == ARCH_SCALING_LONGROPE && !weights->rope_long) {
        diag_set(binder->diag, "rotary scaling \"longrope\" needs the tensors rope_factors_long.weight and "
                               "rope_factors_short.weight");
        return false;
    }
    if (!weights->rope_long != !weights->rope_short) {
        diag_set(binder->diag, "of the tensors rope_factors_long.weight and rope_factors_short.weight only one "
                               "is there");
        return false;
    }
    return factors_fit(binder, weights->rope_factors, "rope_freqs.weight") &&
           factors_fit(binder, weights->rope_long, "rope_factors_long.weight") &&
           factors_fit(binder, weights->rope_short, "rope_factors_short.weight");
}

/* Returns true if the name says that the tensor takes part in the model's function: it is in a layer in use, or at one
 * of the two ends of the stream. Old files also hold the rotary frequencies, which are computed here. */
static bool is_passed_over(const struct binder *binder, const char *name)
{
    static const char *const ends[] = { "output", "token_embd", "position_embd" };
    unsigned layer;
    int n = 0;

    if (sscanf(name, "blk.%6u.%n", &layer, &n) == 1 && n > 0) {
        return layer < binder->params->n_layers && strncmp(name + n, "attn_rot_embd", strlen("attn_rot_embd")) != 0;
    }
    for (size_t i = 0; i < COUNTOF(ends); i++) {
        if (strncmp(name, ends[i], strlen(ends[i])) == 0) {
            return true;
        }
    }
    return false;
}

static bool all_is_used(const struct binder *binder)
{
    for (size_t i = 0; i < gguf_n_tensors(binder->gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(binder->gguf, i);
        char name[NAME_BYTES + 1];

        snprintf(name, sizeof(name), "%.*s", (int)tensor->name.n, tensor->name.bytes);
        if (!arch_find_row(binder->arch, binder->params, tensor->name) && is_passed_over(binder, name)) {
            diag_set(binder->diag, "tensor %s belongs to no model of family %s that is known here", name,
                     binder->arch->name);
            return false;
        }
    }
    return true;
}

static int bind_all(struct binder *binder)
{
    for (size_t t = 0; t < ARCH_TABLES_MAX && binder->arch->tables[t]; t++) {
        for (size_t i = 0; i < binder->arch->tables[t]->n; i++) {
            int r = bind_row(binder, &binder->arch->tables[t]->rows[i]);

            if (r) {
                return err_pass(r);
            }
        }
    }
    if (missing_tell(&binder->missing, "the file lacks tensors", binder->diag) || !all_factors_fit(binder) ||
        !all_is_used(binder)) {
        return MODEL_REFUSED;
    }
    if (!binder->weights->output) {
        binder->weights->output = binder->weights->embd;
    }
    return MODEL_OK;
}

int arch_bind(const struct arch *arch, const struct arch_params *params, const struct gguf *gguf, const uint8_t *file,
              struct exec *exec, struct arch_weights *ret_weights, struct diag *diag)
{
    struct arch_weights weights = { .embd = NULL };
    struct binder binder = {
        .arch = arch, .params = params, .gguf = gguf, .file = file, .exec = exec, .weights = &weights, .diag = diag
    };
    int r;

    weights.layers = mem_calloc(MEM_MISC, params->n_layers, sizeof(*weights.layers));
    if (!weights.layers) {
        return err_new(-ENOMEM);
    }
    r = bind_all(&binder);
    if (r) {
        mem_free(weights.layers);
        return err_pass(r);
    }
    *ret_weights = weights;
    return MODEL_OK;
}
