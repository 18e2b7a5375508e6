/*
 * Quant_super: the scales of a super-block of 256, found together; private to the module
 *
 * Each run of a super-block has a small integer as its scale (and one as its min), and all runs share two halves, so
 * the best scale of a single run usually can't be stored. Integers and halves are searched for together.
 */
#ifndef SOTTO_KERN_QUANT_SUPER_H
#define SOTTO_KERN_QUANT_SUPER_H

#include "kern/quant_fit.h"
#include "tensor/block.h"

#define SUPER_RUNS 16 /* at most */

struct super_shape {
    uint32_t n_run; /* elements of a run: 16 or 32 */
    struct fit_range range;
    struct fit_range scales;
    bool has_min; /* mins are from 0 to scales.hi */
};

/* Element i of run j is (d * scale[j]) * q[i] - dmin * min[j]. */
struct super {
    uint8_t d[2]; /* halves, as stored */
    uint8_t dmin[2];
    int scale[SUPER_RUNS];
    int min[SUPER_RUNS];
    int8_t q[BLOCK_SUPER];
};

void super_fit(const struct super_shape *shape, const float x[BLOCK_SUPER], struct super *ret_super);

#endif
