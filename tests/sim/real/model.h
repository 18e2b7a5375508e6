/*
 * Model: the files that the daemon serves here
 *
 * sottod reads a vocabulary of 256 bytes and an end token from them; the plant's engines read nothing.
 */
#ifndef SOTTO_SIM_REAL_MODEL_H
#define SOTTO_SIM_REAL_MODEL_H

#include <stdint.h>

#define MODEL_END_ID     256u
#define MODEL_VOCABULARY 257u

/* Returns a descriptor of such a file, which has no name any more. */
int model_make(void);

/* Returns the name of the model of @engine, and the engine of a name. */
const char *model_name(uint32_t engine);
uint32_t model_number(const char *name);

#endif
