/*
 * Bind: the tensors of a file, each checked against its family's table and imported
 *
 * Sizes come from the hyperparameters, never from the tensors, so a tensor that lies about its shape does not fit.
 */
#include "base/err.h"
#include "base/mem.h"
#include "model/arch.h"
#include "model/missing.h"
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 64 /* GGUF's own limit */

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
    switch (dim) {
    case ARCH_DIM_ONE:
        return 1;
    case ARCH_DIM_EMBD:
        return params->n_embd;
    case ARCH_DIM_FF:
        return params->n_ff;
    case ARCH_DIM_Q:
        return (uint64_t)params->n_heads * params->head_dim;
    case ARCH_DIM_KV:
        return (uint64_t)params->n_kv_heads * params->head_dim;
    case ARCH_DIM_HALF_ROT:
        return params->n_rot / 2;
    case ARCH_DIM_TOKENS:
        return params->n_tokens;
    }
    return 0;
}

static bool shape_fits(const struct binder *binder, const struct arch_tensor *row,
                       const struct gguf_tensor *tensor, const char *name)
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
             (unsigned long long)tensor->dims[2], (unsigned long long)tensor->dims[3],
             (unsigned long long)n_cols, (unsigned long long)n_rows, may_pad ? " (or more rows)" : "");
    return false;
}

static bool type_fits(const struct binder *binder, const struct arch_tensor *row,
                      const struct gguf_tensor *tensor, const char *name)
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
        diag_set(binder->diag,
                 "tensor %s has type %s, which is not computed here; convert the file to F32, F16, BF16, "
                 "Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q2_K to Q6_K, IQ4_NL or IQ4_XS",
                 name, info ? info->name : "unknown");
        return false;
    }
    return true;
}

static int import(const struct binder *binder, const struct gguf_tensor *tensor, const char *name,
                  void **ret_place)
{
    struct exec_mem *mem;
    int r = exec_import(binder->exec,
                        &(struct exec_tensor){ .name = name,
                                               .type = tensor->type,
                                               .n_cols = tensor->dims[0],
                                               .n_rows = tensor->dims[1],
                                               .bytes = binder->file + tensor->offset },
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
        if (!(row->flags & ARCH_OPTIONAL)) {
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
    r = import(binder, tensor, name, &place);
    if (!r) {
        memcpy((char *)base + row->place, &place, sizeof(place));
    }
    return r;
}

/* Frequencies are divided by them. */
static bool factors_fit(const struct binder *binder)
{
    const float *factors = binder->weights->rope_factors;

    for (uint32_t i = 0; factors && i < binder->params->n_rot / 2; i++) {
        float factor;

        memcpy(&factor, factors + i, sizeof(factor));
        if (!isfinite(factor) || factor <= 0.0f) {
            diag_set(binder->diag, "tensor rope_freqs.weight: factor %u is no number above 0", i);
            return false;
        }
    }
    return true;
}

static int bind_all(struct binder *binder)
{
    for (size_t i = 0; i < binder->arch->n_tensors; i++) {
        const struct arch_tensor *row = &binder->arch->tensors[i];
        uint32_t n = row->flags & ARCH_LAYER ? binder->params->n_layers : 1;

        for (uint32_t layer = 0; layer < n; layer++) {
            void *base =
                row->flags & ARCH_LAYER ? (void *)&binder->weights->layers[layer] : (void *)binder->weights;
            int r = bind_one(binder, row, layer, base);

            if (r) {
                return r < 0 ? err_up(r) : r;
            }
        }
    }
    if (missing_tell(&binder->missing, "the file lacks tensors", binder->diag) || !factors_fit(binder)) {
        return MODEL_REFUSED;
    }
    if (!binder->weights->output) {
        binder->weights->output = binder->weights->embd;
    }
    return MODEL_OK;
}

int arch_bind(const struct arch *arch, const struct arch_params *params, const struct gguf *gguf,
              const uint8_t *file, struct exec *exec, struct arch_weights *ret_weights, struct diag *diag)
{
    struct arch_weights weights = { .embd = NULL };
    struct binder binder = { .arch = arch,
                             .params = params,
                             .gguf = gguf,
                             .file = file,
                             .exec = exec,
                             .weights = &weights,
                             .diag = diag };
    int r;

    weights.layers = mem_calloc(MEM_MISC, params->n_layers, sizeof(*weights.layers));
    if (!weights.layers) {
        return err_new(-ENOMEM);
    }
    r = bind_all(&binder);
    if (r) {
        mem_free(weights.layers);
        return r < 0 ? err_up(r) : r;
    }
    *ret_weights = weights;
    return MODEL_OK;
}
