/*
 * Missing: a list of names that becomes one sentence
 *
 * Loading looks for everything and reports all that is missing at once, as far as it fits one sentence.
 */
#ifndef SOTTO_MODEL_MISSING_H
#define SOTTO_MODEL_MISSING_H

#include "base/diag.h"
#include <stdint.h>

struct missing {
    char names[224]; /* "a, b, c", as many as fit */
    uint32_t n;
    uint32_t n_named;
};

void missing_add(struct missing *missing, const char *name);

/* Writes "@what: a, b, c and 3 more" to @diag. Returns false, and writes nothing, if nothing is missing. */
bool missing_tell(const struct missing *missing, const char *what, struct diag *diag);

#endif
