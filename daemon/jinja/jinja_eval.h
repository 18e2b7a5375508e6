/*
 * Jinja evaluation: expressions become values, statements are executed
 *
 * Outcomes as in jinja_value.h.
 */
#ifndef SOTTO_JINJA_JINJA_EVAL_H
#define SOTTO_JINJA_JINJA_EVAL_H

#include "jinja/jinja_builtin.h"
#include "jinja/jinja_node.h"

struct jinja_macro;

int jinja_eval(struct jinja_run *run, const struct jinja_node *node, struct jinja_value *ret);

/* Evaluates the arguments of a call and unpacks their stars. @subject, or NULL, comes first. */
int jinja_eval_args(struct jinja_run *run, const struct jinja_node *list, const struct jinja_value *subject,
                    struct jinja_args *ret);
int jinja_eval_call(struct jinja_run *run, const struct jinja_value *callee, const struct jinja_args *args,
                    struct jinja_value *ret);

/* The filters of @node, the innermost over @subject. */
int jinja_eval_filter(struct jinja_run *run, const struct jinja_node *node, const struct jinja_value *subject,
                      struct jinja_value *ret);

/* Executes the statements from @node on (jinja_exec.c); run->flow tells whether a loop is to be left. */
int jinja_exec(struct jinja_run *run, const struct jinja_node *node);

/* Call what the template defines: a macro, and a recursive loop. */
int jinja_exec_macro(struct jinja_run *run, const struct jinja_macro *macro, const struct jinja_args *args,
                     struct jinja_value *ret);
int jinja_exec_loop(struct jinja_run *run, const struct jinja_loop *loop, const struct jinja_value *over,
                    struct jinja_value *ret);

#endif
