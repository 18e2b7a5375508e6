#include "model/arch.h"
#include "base/clean.h"
#include <stdio.h>
#include <string.h>

static const struct arch *const families[] = {
    &arch_gemma, &arch_gemma2, &arch_gemma3, &arch_llama,   &arch_phi3,
    &arch_qwen2, &arch_qwen3,  &arch_qwen35, &arch_smollm3,
};

static void refuse(struct gguf_text name, struct diag *diag)
{
    char known[256];
    size_t used = 0;

    for (size_t i = 0; i < COUNTOF(families); i++) {
        used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i == 0 ? "" : ", ", families[i]->name);
    }
    diag_blame(diag, "general.architecture", "architecture \"%.*s\" is not supported; there are %s",
               (int)(name.n < 64 ? name.n : 64), name.bytes, known);
}

int arch_find(const struct gguf *gguf, const struct arch **ret_arch, struct diag *diag)
{
    struct gguf_text name;
    int r = gguf_get_text(gguf, "general.architecture", &name, diag);

    if (r == GGUF_NONE) {
        diag_set(diag, "the file has no key general.architecture: it is no model");
    }
    if (r) {
        return MODEL_REFUSED;
    }
    for (size_t i = 0; i < COUNTOF(families); i++) {
        if (strlen(families[i]->name) == name.n && memcmp(families[i]->name, name.bytes, name.n) == 0) {
            *ret_arch = families[i];
            return MODEL_OK;
        }
    }
    refuse(name, diag);
    return MODEL_REFUSED;
}

bool arch_is_local(const struct arch_params *params, uint32_t layer)
{
    return params->window > 0 && (params->local[layer / 64] >> layer % 64 & 1);
}

bool arch_recurs(const struct arch_params *params, uint32_t layer)
{
    return params->recurs[layer / 64] >> layer % 64 & 1;
}

uint32_t arch_place(const struct arch_params *params, uint32_t layer)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < layer; i++) {
        n += arch_recurs(params, i) == arch_recurs(params, layer);
    }
    return n;
}

uint32_t arch_n_channels(const struct arch_net *net)
{
    return 2 * net->n_keys * net->key_dim + net->n_inner;
}

bool arch_row_is_of(const struct arch_tensor *row, const struct arch_params *params, uint32_t layer)
{
    return !(row->flags & (arch_recurs(params, layer) ? ARCH_ATTENDS : ARCH_RECURS));
}

/* Takes "blk.N." off @name. Returns false if it is not there, or N is no layer. */
static bool take_layer(struct gguf_text *name, uint32_t n_layers, uint32_t *ret_layer)
{
    static const char lead[] = "blk.";
    size_t at = sizeof(lead) - 1;
    uint32_t layer = 0;

    if (name->n < at || memcmp(name->bytes, lead, at) != 0) {
        return false;
    }
    for (; at < name->n && name->bytes[at] >= '0' && name->bytes[at] <= '9' && layer < n_layers; at++) {
        layer = layer * 10 + (uint32_t)(name->bytes[at] - '0');
    }
    if (at == sizeof(lead) - 1 || at == name->n || name->bytes[at] != '.' || layer >= n_layers) {
        return false;
    }
    *ret_layer = layer;
    name->bytes += at + 1;
    name->n -= at + 1;
    return true;
}

const struct arch_tensor *arch_find_row(const struct arch *arch, const struct arch_params *params,
                                        struct gguf_text name)
{
    uint32_t layer = 0;
    bool in_layer = take_layer(&name, params->n_layers, &layer);

    for (size_t t = 0; t < ARCH_TABLES_MAX && arch->tables[t]; t++) {
        for (size_t i = 0; i < arch->tables[t]->n; i++) {
            const struct arch_tensor *row = &arch->tables[t]->rows[i];

            if (in_layer == ((row->flags & ARCH_LAYER) != 0) && (!in_layer || arch_row_is_of(row, params, layer)) &&
                strlen(row->name) == name.n && memcmp(row->name, name.bytes, name.n) == 0) {
                return row;
            }
        }
    }
    return NULL;
}
