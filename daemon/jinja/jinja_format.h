/*
 * Jinja formats: "%s" % value and "{}".format(value)
 *
 * Supported are flags, width, precision and the conversions d i s r x X o f e g; in str.format() the same behind a
 * colon with < > ^ and a fill. Other formats are refused.
 */
#ifndef SOTTO_JINJA_JINJA_FORMAT_H
#define SOTTO_JINJA_JINJA_FORMAT_H

#include "jinja/jinja_builtin.h"

int jinja_format_percent(struct jinja_run *run, const struct jinja_string *format, const struct jinja_value *with,
                         struct jinja_value *ret);
int jinja_format_braces(struct jinja_run *run, const struct jinja_string *format, const struct jinja_args *with,
                        struct jinja_value *ret);

#endif
