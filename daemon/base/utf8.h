/*
 * Utf8: checks and mends UTF-8 (Unicode 15, table 3-7: no overlong forms, no surrogates, at most U+10FFFF)
 *
 * Pure, any thread.
 */
#ifndef SOTTO_BASE_UTF8_H
#define SOTTO_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum utf8_kind {
    UTF8_WHOLE, /* one well-formed character */
    UTF8_MORE,  /* the beginning of one: the bytes end too early */
    UTF8_BAD,   /* can't begin or continue a character */
};

/* Reads the first character of @bytes (@n at least 1). @ret_used is its length; with UTF8_BAD that of the maximal
 * ill-formed part, which becomes one U+FFFD. @ret_point is set only with UTF8_WHOLE and may be NULL. */
enum utf8_kind utf8_step(const uint8_t *bytes, size_t n, size_t *ret_used, uint32_t *ret_point);

/* Returns whether all is well-formed; if not, @ret_at (may be NULL) is the offset of the first bad byte. */
bool utf8_is_valid(const void *bytes, size_t n, size_t *ret_at);

/* Returns @n less the bytes of a character that is begun at the end: mended up to there, the rest can go on later. */
size_t utf8_whole(const uint8_t *bytes, size_t n);

/* Writes @point (a scalar value) to @out (room for 4 bytes) and returns the length. */
size_t utf8_write(uint32_t point, uint8_t *out);

/* Copies @n bytes with each ill-formed part as one U+FFFD; at most @cap bytes, whole characters, no zero after them.
 * Returns the bytes written; three times @n is always enough. */
size_t utf8_mend(const uint8_t *bytes, size_t n, uint8_t *out, size_t cap);

/* Works as utf8_mend() for text on one line: control characters (escape sequences, line ends) become U+FFFD, too. */
size_t utf8_mend_line(const uint8_t *bytes, size_t n, uint8_t *out, size_t cap);

#endif
