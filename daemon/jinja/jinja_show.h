/*
 * Jinja show: values as text, appended to the output
 *
 * What the interpreter itself adds to foreign values (quotes, brackets, digits of numbers) is marked as foreign too.
 */
#ifndef SOTTO_JINJA_JINJA_SHOW_H
#define SOTTO_JINJA_JINJA_SHOW_H

#include "jinja/jinja_value.h"

/* Append Python's str() and repr() of @value. */
int jinja_show_str(struct jinja_run *run, const struct jinja_value *value);
int jinja_show_repr(struct jinja_run *run, const struct jinja_value *value);

struct jinja_json {
    const struct jinja_string *indent; /* of one level; NULL: all on one line */
    const struct jinja_string *comma;  /* NULL: ", ", or "," with @indent */
    const struct jinja_string *colon;  /* NULL: ": " */
    bool ascii;
    bool sort;
};

/* Appends json.dumps(). JINJA_FAILED: "TypeError: Object of type Undefined is not JSON serializable". */
int jinja_show_json(struct jinja_run *run, const struct jinja_value *value, const struct jinja_json *how);

#endif
