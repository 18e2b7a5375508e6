/*
 * Jinja characters: what Python's str knows of Unicode
 *
 * Strings are bytes; here they are walked as characters. A byte that is no UTF-8 counts as a character of its own, so
 * that nothing can be cut from the middle of a whole one.
 */
#ifndef SOTTO_JINJA_JINJA_CHAR_H
#define SOTTO_JINJA_JINJA_CHAR_H

#include "jinja/jinja_value.h"

#define JINJA_CHAR_BAD UINT32_MAX

/* Length in bytes of the character at @at, which is within. */
size_t jinja_char_bytes(const struct jinja_string *string, size_t at);

/* The character itself, or JINJA_CHAR_BAD. */
uint32_t jinja_char_at(const struct jinja_string *string, size_t at, size_t *ret_n);

/* Characters in all. */
size_t jinja_char_count(const struct jinja_string *string);

/* Offset of character number @i, or the length if there are not so many. */
size_t jinja_char_offset(const struct jinja_string *string, size_t i);

bool jinja_char_is_space(uint32_t point);
bool jinja_char_is_letter(uint32_t point);
bool jinja_char_is_digit(uint32_t point);
bool jinja_char_is_upper(uint32_t point);
bool jinja_char_is_lower(uint32_t point);
bool jinja_char_is_printable(uint32_t point); /* for repr() */

/* Writes what @point becomes to @out (JINJA_CHAR_CASED_MAX bytes) and returns how many bytes that are. */
#define JINJA_CHAR_CASED_MAX 12u
size_t jinja_char_upper(uint32_t point, uint8_t *out);
size_t jinja_char_lower(uint32_t point, uint8_t *out);
size_t jinja_char_title(uint32_t point, uint8_t *out);

/* Bytes at both ends that strip() takes away: blanks, or the characters of @set. */
void jinja_char_strip(const struct jinja_string *string, const struct jinja_string *set, bool left, bool right,
                      size_t *ret_from, size_t *ret_n);

#endif
