/*
 * Shape: is a chat template ChatML?
 *
 * Templates are programs, and until programs are run two of them are known by their text. So that quotes, blanks
 * inside tags and `a.b` for `a['b']` make no difference, a template is first written in one normal form, which is
 * then compared. Pure.
 */
#ifndef SOTTO_TEXT_SHAPE_H
#define SOTTO_TEXT_SHAPE_H

#include "base/diag.h"
#include "token/token.h"

enum shape_outcome {
    SHAPE_OK,
    SHAPE_UNKNOWN, /* @diag says why */
};

/* *ret_system: the text of the default system message in a block of MEM_WORDS ended by a zero, or NULL if the
 * template has none. SHAPE_UNKNOWN, or -ENOMEM. */
int shape_read(struct gguf_text chat_template, char **ret_system, struct diag *diag);

#endif
