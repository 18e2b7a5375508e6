/*
 * Rendering: templates rendered for tests
 */
#ifndef SOTTO_JINJA_RENDERING_H
#define SOTTO_JINJA_RENDERING_H

#include "base/buf.h"
#include "jinja/jinja.h"

/* The variables of most tests: numbers, texts, lists, messages. */
extern const char *const rendering_variables;

struct rendering_row {
    const char *source;
    const char *wanted; /* the result of Jinja2 3.1 with these settings: the text, or "Kind: sentence" */
};

/* Renders @source of @n bytes with the JSON object @variables: the text into @out, the sentence into @diag. */
int rendering_of(const char *source, size_t n, const char *variables, const struct jinja_limits *limits,
                 struct buf *out, struct diag *diag);

/* Asserts that @row gives its @wanted. Tables of rows are loops of tests: a row is a fact. */
void rendering_assert_row(const struct rendering_row *row);

/* Asserts that @source is refused, when compiled or when run, with @word in the sentence. */
void rendering_assert_refused(const char *source, size_t n, const char *word);

#endif
