/*
 * Jinja characters: what Python's str knows of Unicode
 *
 * Walks the bytes of a string as characters. A byte that is no UTF-8 counts as a character of its own, so that nothing
 * can be cut from the middle of a whole one.
 */
#ifndef SOTTO_JINJA_JINJA_CHAR_H
#define SOTTO_JINJA_JINJA_CHAR_H

#include "jinja/jinja_value.h"

#define JINJA_CHAR_BAD UINT32_MAX

/* Returns the bytes of the character at @at, which is below string->n. */
size_t jinja_char_bytes(const struct jinja_string *string, size_t at);

/* Returns the code point at @at, or JINJA_CHAR_BAD. */
uint32_t jinja_char_at(const struct jinja_string *string, size_t at, size_t *ret_n);

/* Returns the number of characters. */
size_t jinja_char_count(const struct jinja_string *string);

/* Returns the offset of character number @i, or the length of a string that is shorter. */
size_t jinja_char_offset(const struct jinja_string *string, size_t i);

bool jinja_char_is_space(uint32_t point);
bool jinja_char_is_letter(uint32_t point);
bool jinja_char_is_digit(uint32_t point);
bool jinja_char_is_upper(uint32_t point);
bool jinja_char_is_lower(uint32_t point);
bool jinja_char_is_printable(uint32_t point); /* for repr() */

/* Write what @point becomes to @out (JINJA_CHAR_CASED_MAX bytes) and return the number of bytes. */
#define JINJA_CHAR_CASED_MAX 12u
size_t jinja_char_upper(uint32_t point, uint8_t *out);
size_t jinja_char_lower(uint32_t point, uint8_t *out);
size_t jinja_char_title(uint32_t point, uint8_t *out);

enum jinja_side { JINJA_LEFT = 1, JINJA_RIGHT = 2 };

/* *ret_from, *ret_n: what is left of @string without blanks, or without the characters of @set, on its @sides. */
void jinja_char_strip(const struct jinja_string *string, const struct jinja_string *set, int sides, size_t *ret_from,
                      size_t *ret_n);

#endif
