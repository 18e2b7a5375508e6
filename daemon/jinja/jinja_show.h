/*
 * Jinja show: values as text, appended to the output
 *
 * What the interpreter itself adds to foreign values (quotes, brackets, digits of numbers) is marked as foreign too.
 */
#ifndef SOTTO_JINJA_JINJA_SHOW_H
#define SOTTO_JINJA_JINJA_SHOW_H

#include "jinja/jinja_value.h"

int jinja_show_str(struct jinja_run *run, const struct jinja_value *value);  /* Python's str() */
int jinja_show_repr(struct jinja_run *run, const struct jinja_value *value); /* and repr() */

/* The shortest digits that read back as @real, as repr() writes them. @text has JINJA_REAL_BYTES. */
#define JINJA_REAL_BYTES 40
size_t jinja_real_text(double real, char *text);

struct jinja_json {
    const struct jinja_string *indent; /* one level; NULL: all on one line */
    const struct jinja_string *comma;  /* NULL: ", ", or "," with @indent */
    const struct jinja_string *colon;  /* NULL: ": " */
    bool ascii;
    bool sort;
};

/* json.dumps(). JINJA_FAILED: "TypeError: Object of type Undefined is not JSON serializable". */
int jinja_show_json(struct jinja_run *run, const struct jinja_value *value, const struct jinja_json *how);

/* The pairs of @dict as a list of tuples, by the order of their keys. */
int jinja_sorted_items(struct jinja_run *run, const struct jinja_dict *dict, struct jinja_value *ret);

#endif
