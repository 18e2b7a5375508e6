/*
 * Uses: which tensors of a file its family reads
 */
#ifndef SOTTO_MODEL_USES_H
#define SOTTO_MODEL_USES_H

#include "model/arch.h"

/* True if the tables of @arch name the tensor @name, in one of the layers that @params count. */
bool arch_uses(const struct arch *arch, const struct arch_params *params, struct gguf_text name);

#endif
