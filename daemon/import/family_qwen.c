/*
 * Qwen2 (also 1.5 and 2.5) and Qwen3
 *
 * Rows stay as they are: these turn half a head apart in both worlds. Qwen2 has biases on q, k and v, Qwen3 norms on
 * each head of q and k. Where a window is used at all, it is from some layer on.
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
