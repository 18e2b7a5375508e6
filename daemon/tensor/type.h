/*
 * Type: formats of the elements of a tensor
 *
 * The numbers are those of GGUF's tensor directory. A block holds n_block elements in n_bytes bytes; a row is a whole
 * number of blocks. Block layouts: block.h. Source: the format description of the PyPI package `gguf`.
 */
#ifndef SOTTO_TENSOR_TYPE_H
#define SOTTO_TENSOR_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum elem_type {
    ELEM_F32 = 0,
    ELEM_F16 = 1,
    ELEM_Q4_0 = 2,
    ELEM_Q4_1 = 3,
    ELEM_Q5_0 = 6,
    ELEM_Q5_1 = 7,
    ELEM_Q8_0 = 8,
    ELEM_Q2_K = 10,
    ELEM_Q3_K = 11,
    ELEM_Q4_K = 12,
    ELEM_Q5_K = 13,
    ELEM_Q6_K = 14,
    ELEM_IQ4_NL = 20,
    ELEM_IQ4_XS = 23,
    ELEM_BF16 = 30,
    ELEM_TYPE_COUNT = 64, /* above all known ids */
};

struct elem_info {
    const char *name; /* "Q4_K" */
    uint16_t n_block; /* elements */
    uint16_t n_bytes; /* of a block */
    bool computes;    /* there are kernels for it; other types are known by name and refused */
};

/* Returns the row of @type, or NULL. The table has the names and sizes of all published types, so that a refusal can
 * name them; `computes` tells which ones sotto runs. */
const struct elem_info *elem_info(uint32_t type);

/* Gives the bytes of a row of @n_cols elements; returns false if they are not whole blocks, or the size overflows. */
bool elem_row_bytes(uint32_t type, uint64_t n_cols, uint64_t *ret_bytes);

/* Writes the names of the types that sotto runs to @text (@cap bytes), as "F32, F16, Q4_0". Returns @text. */
const char *elem_computed(char *text, size_t cap);

#endif
