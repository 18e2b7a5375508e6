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
