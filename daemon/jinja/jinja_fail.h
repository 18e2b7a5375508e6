/*
 * Jinja failures: why a run ended, in the words of Python where Python has words for it
 */
#ifndef SOTTO_JINJA_JINJA_FAIL_H
#define SOTTO_JINJA_JINJA_FAIL_H

#include "jinja/jinja_value.h"

/* Writes "@kind: sentence" to the run's diag and returns JINJA_FAILED. */
int jinja_fail(struct jinja_run *run, const char *kind, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Fails because @value is undefined; the sentence says why it is. */
int jinja_fail_undefined(struct jinja_run *run, const struct jinja_value *value);

/* Fails because jinja_run_alloc() returned NULL: JINJA_FAILED at the run's ceiling, else -ENOMEM. */
int jinja_fail_full(struct jinja_run *run);

#endif
