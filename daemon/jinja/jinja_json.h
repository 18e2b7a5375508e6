/*
 * Jinja JSON: from text to values
 *
 * Read straight into the run's arena under its ceilings, so that a frame full of brackets costs what it is allowed to
 * cost and no more. Integers beyond 64 bits are refused rather than rounded; so are lone surrogates.
 */
#ifndef SOTTO_JINJA_JINJA_JSON_H
#define SOTTO_JINJA_JINJA_JSON_H

#include "jinja/jinja_value.h"

/* JINJA_FAILED: "JSON: ... at byte N". */
int jinja_json_read(struct jinja_run *run, const char *bytes, size_t n, enum jinja_mark mark, struct jinja_value *ret);

#endif
