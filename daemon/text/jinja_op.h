/*
 * Jinja operators: sums, comparisons and membership, as Python has them
 *
 * Outcomes as in jinja_run.h. An operand that is not there is an UndefinedError, but for ==, != and `in`.
 */
#ifndef SOTTO_TEXT_JINJA_OP_H
#define SOTTO_TEXT_JINJA_OP_H

#include "text/jinja_node.h"
#include "text/jinja_value.h"

/* @op: JINJA_ADD to JINJA_POW. */
int jinja_binary(struct jinja_run *run, enum jinja_node_kind op, const struct jinja_value *a,
                 const struct jinja_value *b, struct jinja_value *ret);
int jinja_negate(struct jinja_run *run, const struct jinja_value *a, struct jinja_value *ret);

int jinja_equal(struct jinja_run *run, const struct jinja_value *a, const struct jinja_value *b, bool *ret);

/* Below 0, 0, above 0. JINJA_FAILED where Python has no order: "'<' not supported between ..."; @sign is what the
 * sentence names. */
int jinja_compare(struct jinja_run *run, const struct jinja_value *a, const struct jinja_value *b, const char *sign,
                  int *ret);

/* @a in @b. */
int jinja_contains(struct jinja_run *run, const struct jinja_value *a, const struct jinja_value *b, bool *ret);

/* @a @sign @b, with @sign one of == != < <= > >=. */
int jinja_relate(struct jinja_run *run, const struct jinja_value *a, const char *sign, const struct jinja_value *b,
                 bool *ret);

#endif
