/*
 * Jinja evaluation: what nodes do
 *
 * Outcomes as in jinja_run.h.
 */
#ifndef SOTTO_JINJA_JINJA_EVAL_H
#define SOTTO_JINJA_JINJA_EVAL_H

#include "jinja/jinja_builtin.h"
#include "jinja/jinja_node.h"

int jinja_eval(struct jinja_run *run, const struct jinja_node *node, struct jinja_value *ret);

/* Runs statements from @node on; run->flow tells whether a loop is to be left. */
int jinja_exec(struct jinja_run *run, const struct jinja_node *node);

/* value.name and value[key]: what is not there is undefined. */
int jinja_get_attr(struct jinja_run *run, const struct jinja_value *value, const struct jinja_string *name,
                   struct jinja_value *ret);
int jinja_get_item(struct jinja_run *run, const struct jinja_value *value, const struct jinja_value *key,
                   struct jinja_value *ret);

/* Index @i (negative: from the end) of a list or string; *ret is left alone where there is none. */
int jinja_get_index(struct jinja_run *run, const struct jinja_value *value, int64_t i, bool *ret_found,
                    struct jinja_value *ret);

int jinja_eval_call(struct jinja_run *run, const struct jinja_value *callee, const struct jinja_args *args,
                    struct jinja_value *ret);

/* Calls of what the template defines (jinja_exec.c). */
int jinja_exec_macro(struct jinja_run *run, const struct jinja_macro *macro, const struct jinja_args *args,
                     struct jinja_value *ret);
int jinja_exec_loop(struct jinja_run *run, const struct jinja_loop *loop, const struct jinja_value *over,
                    struct jinja_value *ret);

/* Arguments of a call: evaluated, stars opened. @subject, or NULL, comes first. */
int jinja_eval_args(struct jinja_run *run, const struct jinja_node *list, const struct jinja_value *subject,
                    struct jinja_args *ret);

/* The filters of @node, the innermost over @subject. */
int jinja_eval_filter(struct jinja_run *run, const struct jinja_node *node, const struct jinja_value *subject,
                      struct jinja_value *ret);

#endif
