/*
 * Rig: templates rendered for tests
 */
#ifndef SOTTO_JINJA_RENDERING_H
#define SOTTO_JINJA_RENDERING_H

#include "base/buf.h"
#include "jinja/jinja.h"

/* The variables of most tests: numbers, texts, lists, messages. */
extern const char *const rendering_variables;

struct rendering_row {
    const char *source;
    const char *wanted; /* what Jinja2 3.1 gives with these settings: the text, or "Kind: sentence" */
};

/* What @source of @n bytes gives with the JSON object @variables: the text in @out, the sentence in @diag. */
int rendering_of(const char *source, size_t n, const char *variables, const struct jinja_limits *limits,
                 struct buf *out, struct diag *diag);

/* Each row gives what it wants. */
void rendering_assert_rows(const struct rendering_row *rows, size_t n);

/* @source is refused, when compiled or when run, with @word in the sentence. */
void rendering_assert_refused(const char *source, size_t n, const char *word);

#endif
