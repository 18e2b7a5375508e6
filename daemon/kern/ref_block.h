/*
 * Ref_block: a block of any format as plain integers and floats; private to the module
 *
 * The differences between formats are only here; unpacking and dot products of the definition are built on it.
 */
#ifndef SOTTO_KERN_REF_BLOCK_H
#define SOTTO_KERN_REF_BLOCK_H

#include "tensor/block.h"

#include <stdbool.h>
#include <stdint.h>

/* Element i is d * w[i] + m. */
struct ref_small {
    int8_t w[BLOCK_SMALL];
    float d;
    float m;
    bool has_m;
};

/* Element i is (d * scale[i / 16]) * w[i] - dmin * min[i / 16]. */
struct ref_super {
    int8_t w[BLOCK_SUPER];
    int8_t scale[16];
    uint8_t min[16];
    float d;
    float dmin;
    bool has_min;
};

typedef void (*ref_small_fn)(const void *bytes, struct ref_small *ret_block);
typedef void (*ref_super_fn)(const void *bytes, struct ref_super *ret_block);

/* Return the reader of @type; NULL if its blocks are of the other size, or it has none. */
ref_small_fn ref_small_reader(uint32_t type);
ref_super_fn ref_super_reader(uint32_t type);

#endif
