/*
 * Jinja comparisons: equality, order and membership, as Python has them
 *
 * Outcomes as in jinja_value.h. An undefined operand is an UndefinedError, except for ==, != and `in`.
 */
#ifndef SOTTO_JINJA_JINJA_COMPARE_H
#define SOTTO_JINJA_JINJA_COMPARE_H

#include "jinja/jinja_value.h"

int jinja_compare_equal(struct jinja_run *run, const struct jinja_value *a, const struct jinja_value *b, bool *ret);

/* *ret: below 0, 0, above 0. JINJA_FAILED where Python has no order: "'<' not supported between ..."; @sign is the one
 * that the sentence names. */
int jinja_compare_order(struct jinja_run *run, const struct jinja_value *a, const struct jinja_value *b,
                        const char *sign, int *ret);

/* @a in @b. */
int jinja_compare_in(struct jinja_run *run, const struct jinja_value *a, const struct jinja_value *b, bool *ret);

/* @a @sign @b, with @sign one of == != < <= > >=. */
int jinja_compare_relate(struct jinja_run *run, const struct jinja_value *a, const char *sign,
                         const struct jinja_value *b, bool *ret);

#endif
