/*
 * Jinja text: what filters and methods of strings share
 *
 * Every byte keeps its mark: what is cut keeps those of the whole, what is put in brings its own.
 */
#ifndef SOTTO_JINJA_JINJA_TEXT_H
#define SOTTO_JINJA_JINJA_TEXT_H

#include "jinja/jinja_value.h"

enum jinja_case {
    JINJA_CASE_UPPER,
    JINJA_CASE_LOWER,
    JINJA_CASE_SWAP,
    JINJA_CASE_CAPITAL,     /* the first letter alone */
    JINJA_CASE_TITLE,       /* str.title(): letters behind others are small */
    JINJA_CASE_TITLE_FILTER /* |title: what follows a blank or an opening bracket is large */
};

int jinja_text_case(struct jinja_run *run, const struct jinja_string *string, enum jinja_case how,
                    struct jinja_value *ret);

/* The first @max occurrences of @old (below 0: all) become @new_text. */
int jinja_text_replace(struct jinja_run *run, const struct jinja_string *string, const struct jinja_string *old,
                       const struct jinja_string *new_text, int64_t max, struct jinja_value *ret);

/* str.splitlines(). */
int jinja_text_lines(struct jinja_run *run, const struct jinja_string *string, bool keep_ends, struct jinja_value *ret);

/* @fill (one character) on both sides until there are @width characters, @left of the missing ones in permille on the
 * left; 500 is the middle. */
int jinja_text_pad(struct jinja_run *run, const struct jinja_string *string, int64_t width,
                   const struct jinja_string *fill, int left, struct jinja_value *ret);

/* Offset of the first @what in @string from @from on, or -1. */
int64_t jinja_text_find(const struct jinja_string *string, const struct jinja_string *what, size_t from);

/* *ret: that of the last one, or -1. */
int jinja_text_find_last(struct jinja_run *run, const struct jinja_string *string, const struct jinja_string *what,
                         int64_t *ret);

int jinja_text_strip(struct jinja_run *run, const struct jinja_string *string, const struct jinja_string *set,
                     bool left, bool right, struct jinja_value *ret);

#endif
