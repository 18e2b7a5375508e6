/*
 * Jinja JSON: from text to values
 *
 * JSON is read straight into the run's arena under its ceilings, so that a text full of brackets cannot cost more than
 * a run may. Integers beyond 64 bits are refused rather than rounded, and so are lone surrogates.
 */
#ifndef SOTTO_JINJA_JINJA_JSON_H
#define SOTTO_JINJA_JINJA_JSON_H

#include "jinja/jinja_value.h"

/* *ret: the value that the @n bytes spell. JINJA_FAILED: "JSON: ... at byte N". */
int jinja_json_read(struct jinja_run *run, const char *bytes, size_t n, enum jinja_mark mark, struct jinja_value *ret);

#endif
