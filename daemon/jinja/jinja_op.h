/*
 * Jinja operators: sums, comparisons and membership, as Python has them
 *
 * Outcomes as in jinja_run.h. An operand that is not there is an UndefinedError, but for ==, != and `in`.
 */
#ifndef SOTTO_JINJA_JINJA_OP_H
#define SOTTO_JINJA_JINJA_OP_H

#include "jinja/jinja_node.h"
#include "jinja/jinja_value.h"

/* @op: JINJA_ADD to JINJA_POW. */
int jinja_op_binary(struct jinja_run *run, enum jinja_node_kind op, const struct jinja_value *a,
                    const struct jinja_value *b, struct jinja_value *ret);
int jinja_op_negate(struct jinja_run *run, const struct jinja_value *a, struct jinja_value *ret);

int jinja_compare_equal(struct jinja_run *run, const struct jinja_value *a, const struct jinja_value *b, bool *ret);

/* Below 0, 0, above 0. JINJA_FAILED where Python has no order: "'<' not supported between ..."; @sign is what the
 * sentence names. */
int jinja_compare_order(struct jinja_run *run, const struct jinja_value *a, const struct jinja_value *b,
                        const char *sign, int *ret);

/* @a in @b. */
int jinja_compare_in(struct jinja_run *run, const struct jinja_value *a, const struct jinja_value *b, bool *ret);

/* @a @sign @b, with @sign one of == != < <= > >=. */
int jinja_compare_relate(struct jinja_run *run, const struct jinja_value *a, const char *sign,
                         const struct jinja_value *b, bool *ret);

#endif
