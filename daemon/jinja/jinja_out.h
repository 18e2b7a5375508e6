/*
 * Jinja output: one buffer with a mark for each byte
 *
 * The end of the buffer is scratch space for everything that builds a text (a macro, a join, a repr): it remembers the
 * length of the output, writes, and takes what was written behind that length as a value.
 */
#ifndef SOTTO_JINJA_JINJA_OUT_H
#define SOTTO_JINJA_JINJA_OUT_H

#include "jinja/jinja_value.h"

/* Append to the output. JINJA_FAILED at the ceiling, or -ENOMEM. */
int jinja_out_write(struct jinja_run *run, const void *bytes, size_t n, enum jinja_mark mark);
int jinja_out_text(struct jinja_run *run, const char *text, enum jinja_mark mark);
int jinja_out_part(struct jinja_run *run, const struct jinja_string *string, size_t from, size_t n);
int jinja_out_string(struct jinja_run *run, const struct jinja_string *string);

/* Cuts what was written behind @from off the output and returns it as a string. */
int jinja_out_take(struct jinja_run *run, size_t from, struct jinja_value *ret);

#endif
