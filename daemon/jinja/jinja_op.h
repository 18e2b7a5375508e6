/*
 * Jinja operators: arithmetic on numbers, strings and lists, as Python has it
 *
 * Outcomes as in jinja_value.h. An undefined operand is an UndefinedError.
 */
#ifndef SOTTO_JINJA_JINJA_OP_H
#define SOTTO_JINJA_JINJA_OP_H

#include "jinja/jinja_node.h"

/* @op: JINJA_ADD to JINJA_POW. */
int jinja_op_binary(struct jinja_run *run, enum jinja_node_kind op, const struct jinja_value *a,
                    const struct jinja_value *b, struct jinja_value *ret);
int jinja_op_negate(struct jinja_run *run, const struct jinja_value *a, struct jinja_value *ret);

#endif
