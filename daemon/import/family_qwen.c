/*
 * Qwen2 (also 1.5 and 2.5) and Qwen3
 *
 * Rows keep their order: they rotate half a head apart in both formats. Qwen2 has biases on q, k and v, Qwen3 norms on
 * each head of q and k. A window, if there is one, begins at some layer.
 */
#include "import/family.h"
#include "import/window.h"

static bool is_late(const struct import *import, uint32_t layer)
{
    uint64_t first = 0;

    json_count(json_object_get(import->folder->text, "max_window_layers"), &first);
    return layer >= first;
}

static int more(struct import *import, struct diag *diag)
{
    return window_import(import, is_late, diag);
}

const struct family family_qwen2 = {
    .types = { "qwen2" },
    .arch = "qwen2",
    .tables = { &family_ends, &family_norms, &family_attention, &family_gated },
    .more = more,
};

const struct family family_qwen3 = {
    .types = { "qwen3" },
    .arch = "qwen3",
    .tables = { &family_ends, &family_norms, &family_attention, &family_head_norms, &family_gated },
    .more = more,
};
