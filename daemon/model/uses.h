/*
 * Uses: which tensors of a file its family reads
 */
#ifndef SOTTO_MODEL_USES_H
#define SOTTO_MODEL_USES_H

#include "model/arch.h"

/* Returns the row of the tables of @arch for the tensor @name, in one of the layers that @params counts, or NULL if the
 * family does not read it. */
const struct arch_tensor *arch_find_row(const struct arch *arch, const struct arch_params *params,
                                        struct gguf_text name);

/* Returns true if the family reads the tensor @name. */
static inline bool arch_uses(const struct arch *arch, const struct arch_params *params, struct gguf_text name)
{
    return arch_find_row(arch, params, name) != NULL;
}

#endif
