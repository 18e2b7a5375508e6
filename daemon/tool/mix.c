/*
 * Mix: the table, and the rules for layers and rows
 */
#include "tool/mix.h"
#include <string.h>
#include <strings.h>

#define ONE(name, file_type, type)                                                                                     \
    {                                                                                                                  \
        name, file_type, type, type, type, type, MIX_NOWHERE                                                           \
    }
#define WITH_OUTPUT(name, file_type, type)                                                                             \
    {                                                                                                                  \
        name, file_type, type, ELEM_Q6_K, type, type, MIX_NOWHERE                                                      \
    }

/* The numbers are values of general.file_type in the description of GGUF. */
const struct mix mixes[] = {
    ONE("F32", 0, ELEM_F32),
    ONE("F16", 1, ELEM_F16),
    ONE("BF16", 32, ELEM_BF16),
    ONE("Q8_0", 7, ELEM_Q8_0),
    WITH_OUTPUT("Q4_0", 2, ELEM_Q4_0),
    WITH_OUTPUT("Q4_1", 3, ELEM_Q4_1),
    WITH_OUTPUT("Q5_0", 8, ELEM_Q5_0),
    WITH_OUTPUT("Q5_1", 9, ELEM_Q5_1),
    WITH_OUTPUT("IQ4_NL", 25, ELEM_IQ4_NL),
    WITH_OUTPUT("IQ4_XS", 30, ELEM_IQ4_XS),
    { "Q2_K", 10, ELEM_Q2_K, ELEM_Q6_K, ELEM_Q3_K, ELEM_Q3_K, MIX_SOME_LAYERS },
    WITH_OUTPUT("Q3_K_S", 11, ELEM_Q3_K),
    { "Q3_K_M", 12, ELEM_Q3_K, ELEM_Q6_K, ELEM_Q5_K, ELEM_Q4_K, MIX_SOME_LAYERS },
    { "Q4_K_S", 14, ELEM_Q4_K, ELEM_Q6_K, ELEM_Q5_K, ELEM_Q4_K, MIX_FIRST_LAYERS },
    { "Q4_K_M", 15, ELEM_Q4_K, ELEM_Q6_K, ELEM_Q6_K, ELEM_Q5_K, MIX_SOME_LAYERS },
    WITH_OUTPUT("Q5_K_S", 16, ELEM_Q5_K),
    { "Q5_K_M", 17, ELEM_Q5_K, ELEM_Q6_K, ELEM_Q6_K, ELEM_Q6_K, MIX_SOME_LAYERS },
    ONE("Q6_K", 18, ELEM_Q6_K),
    { NULL },
};

#undef ONE
#undef WITH_OUTPUT

const struct mix *mix_find(const char *name)
{
    for (const struct mix *mix = mixes; mix->name; mix++) {
        if (strcasecmp(mix->name, name) == 0) {
            return mix;
        }
    }
    return NULL;
}

uint32_t mix_file_type(uint32_t type)
{
    uint32_t file_type = MIX_FILE_MANY;

    for (const struct mix *mix = mixes; mix->name; mix++) {
        file_type = mix->base == type ? mix->file_type : file_type; /* of _S and _M, that of _M */
    }
    return file_type;
}

static bool ends_with(struct gguf_text name, const char *end)
{
    size_t n = strlen(end);

    return name.n >= n && memcmp(name.bytes + name.n - n, end, n) == 0;
}

bool mix_may_round(const struct gguf_tensor *tensor)
{
    return tensor->n_dims >= 2 && tensor->dims[1] > 1 && ends_with(tensor->name, ".weight") &&
           !ends_with(tensor->name, "norm.weight");
}

/* Returns the number in "blk.N.", or UINT32_MAX. */
static uint32_t layer_of(struct gguf_text name)
{
    uint32_t layer = 0;
    size_t at = 4;

    if (name.n < 6 || memcmp(name.bytes, "blk.", 4) != 0) {
        return UINT32_MAX;
    }
    for (; at < name.n && name.bytes[at] >= '0' && name.bytes[at] <= '9' && layer < 100000; at++) {
        layer = layer * 10 + (uint32_t)(name.bytes[at] - '0');
    }
    return at > 4 && at < name.n && name.bytes[at] == '.' ? layer : UINT32_MAX;
}

static bool is_fine(enum mix_where where, uint32_t layer, uint32_t n_layers)
{
    uint32_t eighth = n_layers / 8;

    if (layer >= n_layers) {
        return false;
    }
    switch (where) {
    case MIX_NOWHERE:
        return false;
    case MIX_SOME_LAYERS:
        return layer < eighth || layer >= 7 * n_layers / 8 || (layer - eighth) % 3 == 2;
    case MIX_FIRST_LAYERS:
        return layer < eighth;
    }
    return false;
}

static uint32_t wanted_type(const struct mix *mix, const struct gguf_tensor *tensor, uint32_t n_layers, bool is_output)
{
    if (is_output) {
        return mix->output;
    }
    if (ends_with(tensor->name, ".attn_qkv.weight")) {
        return mix->fused;
    }
    if ((ends_with(tensor->name, ".attn_v.weight") || ends_with(tensor->name, ".ffn_down.weight")) &&
        is_fine(mix->where, layer_of(tensor->name), n_layers)) {
        return mix->fine;
    }
    return mix->base;
}

/* Returns a format in blocks of 32 that is at least as fine; F16 for formats with such blocks, and for floats. */
static uint32_t smaller_of(uint32_t type)
{
    switch (type) {
    case ELEM_Q2_K:
    case ELEM_Q3_K:
    case ELEM_IQ4_XS:
        return ELEM_IQ4_NL;
    case ELEM_Q4_K:
        return ELEM_Q5_0;
    case ELEM_Q5_K:
        return ELEM_Q5_1;
    case ELEM_Q6_K:
        return ELEM_Q8_0;
    default: /* only the formats above have one with smaller blocks */
        return ELEM_F16;
    }
}

uint32_t mix_type(const struct mix *mix, const struct gguf_tensor *tensor, uint32_t n_layers, bool is_output)
{
    uint32_t type = wanted_type(mix, tensor, n_layers, is_output);

    while (tensor->dims[0] % elem_info(type)->n_block != 0) {
        type = smaller_of(type);
    }
    return type;
}
