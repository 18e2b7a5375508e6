/*
 * Missing: a list of names that becomes one sentence
 *
 * Loading looks for everything and reports all that is not there at once, as far as a sentence holds it.
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

/* Says "@what: a, b, c and 3 more" in @diag. False, and nothing said, if nothing is missing. */
bool missing_tell(const struct missing *missing, const char *what, struct diag *diag);

#endif
