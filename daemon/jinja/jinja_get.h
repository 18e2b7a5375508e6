/*
 * Jinja access: what stands behind a dot or in brackets
 *
 * Outcomes as in jinja_value.h. A member that is not there is undefined; a member of an undefined value fails.
 */
#ifndef SOTTO_JINJA_JINJA_GET_H
#define SOTTO_JINJA_JINJA_GET_H

#include "jinja/jinja_value.h"

/* value.name, and value[key]. */
int jinja_get_attr(struct jinja_run *run, const struct jinja_value *value, const struct jinja_string *name,
                   struct jinja_value *ret);
int jinja_get_item(struct jinja_run *run, const struct jinja_value *value, const struct jinja_value *key,
                   struct jinja_value *ret);

/* value.a.b for the path "a.b", and value[0] for 0 or "0". */
int jinja_get_path(struct jinja_run *run, const struct jinja_value *value, const struct jinja_value *path,
                   struct jinja_value *ret);

#endif
