/*
 * Uses: which tensors of a file its family reads
 */
#ifndef SOTTO_MODEL_USES_H
#define SOTTO_MODEL_USES_H

#include "model/arch.h"

/* The row in the tables of @arch that the tensor @name belongs to, in one of the layers that @params count. NULL: the
 * family does not read it. */
const struct arch_tensor *arch_find_row(const struct arch *arch, const struct arch_params *params,
                                        struct gguf_text name);

/* True if there is such a row. */
static inline bool arch_uses(const struct arch *arch, const struct arch_params *params, struct gguf_text name)
{
    return arch_find_row(arch, params, name) != NULL;
}

#endif
