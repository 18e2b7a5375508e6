/*
 * Jinja scopes: the variables of a template
 */
#ifndef SOTTO_JINJA_JINJA_SCOPE_H
#define SOTTO_JINJA_JINJA_SCOPE_H

#include "jinja/jinja_value.h"

/* A variable of a scope. Names are interned by the parser: equal names are one pointer. */
struct jinja_var {
    struct jinja_var *next;
    const struct jinja_string *name;
    struct jinja_value value;
};

/* Scopes lie in the arena, since a macro may outlive the loop that it was defined in. */
struct jinja_scope {
    struct jinja_scope *parent;
    struct jinja_var *vars;
};

/* Sets a variable of the innermost scope. */
int jinja_scope_assign(struct jinja_run *run, const struct jinja_string *name, const struct jinja_value *value);

/* Returns the variable of the innermost scope that has it, then of the context, or NULL. */
const struct jinja_value *jinja_scope_lookup(const struct jinja_run *run, const struct jinja_string *name);

/* Makes a scope inside @parent the innermost one; the caller restores run->scope. */
int jinja_scope_push(struct jinja_run *run, struct jinja_scope *parent);

#endif
