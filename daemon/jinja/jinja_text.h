/*
 * Jinja texts: what filters and methods of strings share
 *
 * Every byte keeps its mark: a part keeps those of the whole, an inserted text brings its own.
 */
#ifndef SOTTO_JINJA_JINJA_TEXT_H
#define SOTTO_JINJA_JINJA_TEXT_H

#include "jinja/jinja_value.h"

enum jinja_case {
    JINJA_CASE_UPPER,
    JINJA_CASE_LOWER,
    JINJA_CASE_SWAP,
    JINJA_CASE_CAPITAL,     /* the first letter alone is upper case */
    JINJA_CASE_TITLE,       /* str.title(): each letter that follows no other letter */
    JINJA_CASE_TITLE_FILTER /* |title: each letter behind a blank or an opening bracket */
};

int jinja_text_case(struct jinja_run *run, const struct jinja_string *string, enum jinja_case how,
                    struct jinja_value *ret);

enum jinja_text_class {
    JINJA_TEXT_ALPHA,
    JINJA_TEXT_ALNUM,
    JINJA_TEXT_DIGIT,
    JINJA_TEXT_SPACE,
    JINJA_TEXT_PRINTABLE, /* and the empty text */
    JINJA_TEXT_ASCII,     /* and the empty text */
    JINJA_TEXT_UPPER,     /* at least one letter of this case, and none of the other */
    JINJA_TEXT_LOWER
};

/* str.isalpha() and its siblings. */
int jinja_text_is(struct jinja_run *run, const struct jinja_string *string, enum jinja_text_class wanted,
                  struct jinja_value *ret);

/* The first @max occurrences of @old (below 0: all) become @new_text. */
int jinja_text_replace(struct jinja_run *run, const struct jinja_string *string, const struct jinja_string *old,
                       const struct jinja_string *new_text, int64_t max, struct jinja_value *ret);

/* str.splitlines(). */
int jinja_text_lines(struct jinja_run *run, const struct jinja_string *string, bool keep_ends, struct jinja_value *ret);

enum jinja_pad { JINJA_PAD_LEFT, JINJA_PAD_BOTH, JINJA_PAD_RIGHT };

/* Adds @fill (one character; NULL: a blank) on the side @where until there are @width characters. */
int jinja_text_pad(struct jinja_run *run, const struct jinja_string *string, int64_t width,
                   const struct jinja_string *fill, enum jinja_pad where, struct jinja_value *ret);

/* Returns the offset of the first @what in @string from @from on, or -1. */
int64_t jinja_text_find(const struct jinja_string *string, const struct jinja_string *what, size_t from);

/* *ret: the offset of the last @what in @string, or -1. */
int jinja_text_find_last(struct jinja_run *run, const struct jinja_string *string, const struct jinja_string *what,
                         int64_t *ret);

/* Cuts blanks, or the characters of @set, off the sides @sides (of enum jinja_side). */
int jinja_text_strip(struct jinja_run *run, const struct jinja_string *string, const struct jinja_string *set,
                     int sides, struct jinja_value *ret);

#endif
