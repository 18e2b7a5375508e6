/*
 * Type: the table
 *
 * Sizes are those of the format description; block.h defines the types that compute as structs. Types that are known
 * only by name are in the table so that a file with one is refused with its name, not with a number.
 */
#include "tensor/type.h"

#include "base/clean.h"
#include "base/num.h"

#include <stdio.h>

static const struct elem_info infos[ELEM_TYPE_COUNT] = {
    [ELEM_F32] = { "F32", 1, 4, true },
    [ELEM_F16] = { "F16", 1, 2, true },
    [ELEM_Q4_0] = { "Q4_0", 32, 18, true },
    [ELEM_Q4_1] = { "Q4_1", 32, 20, true },
    [ELEM_Q5_0] = { "Q5_0", 32, 22, true },
    [ELEM_Q5_1] = { "Q5_1", 32, 24, true },
    [ELEM_Q8_0] = { "Q8_0", 32, 34, true },
    [9] = { "Q8_1", 32, 36, false },
    [ELEM_Q2_K] = { "Q2_K", 256, 84, true },
    [ELEM_Q3_K] = { "Q3_K", 256, 110, true },
    [ELEM_Q4_K] = { "Q4_K", 256, 144, true },
    [ELEM_Q5_K] = { "Q5_K", 256, 176, true },
    [ELEM_Q6_K] = { "Q6_K", 256, 210, true },
    [15] = { "Q8_K", 256, 292, false },
    [16] = { "IQ2_XXS", 256, 66, false },
    [17] = { "IQ2_XS", 256, 74, false },
    [18] = { "IQ3_XXS", 256, 98, false },
    [19] = { "IQ1_S", 256, 50, false },
    [ELEM_IQ4_NL] = { "IQ4_NL", 32, 18, true },
    [21] = { "IQ3_S", 256, 110, false },
    [22] = { "IQ2_S", 256, 82, false },
    [ELEM_IQ4_XS] = { "IQ4_XS", 256, 136, true },
    [24] = { "I8", 1, 1, false },
    [25] = { "I16", 1, 2, false },
    [26] = { "I32", 1, 4, false },
    [27] = { "I64", 1, 8, false },
    [28] = { "F64", 1, 8, false },
    [29] = { "IQ1_M", 256, 56, false },
    [ELEM_BF16] = { "BF16", 1, 2, true },
    [34] = { "TQ1_0", 256, 54, false },
    [35] = { "TQ2_0", 256, 66, false },
    [39] = { "MXFP4", 32, 17, false },
};

const struct elem_info *elem_info(uint32_t type)
{
    if (type >= COUNTOF(infos) || !infos[type].name) {
        return NULL;
    }
    return &infos[type];
}

bool elem_row_bytes(uint32_t type, uint64_t n_cols, uint64_t *ret_bytes)
{
    const struct elem_info *info = elem_info(type);

    if (!info || n_cols % info->n_block != 0) {
        return false;
    }
    return num_mul(n_cols / info->n_block, info->n_bytes, ret_bytes);
}

const char *elem_computed(char *text, size_t cap)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < COUNTOF(infos) && used < cap; i++) {
        if (infos[i].computes) {
            used += (size_t)snprintf(text + used, cap - used, "%s%s", used ? ", " : "", infos[i].name);
        }
    }
    return text;
}
