/*
 * Chars: is the last character whole?
 *
 * Bytes go in one by one. Between characters nothing is pending; a byte that can't go on with what is pending ends
 * it as a bad character and is looked at anew, just as utf8_mend() would cut. Pure, no memory of its own.
 */
#ifndef SOTTO_TEXT_CHARS_H
#define SOTTO_TEXT_CHARS_H

#include <stdbool.h>
#include <stdint.h>

struct chars { /* { 0 } at the beginning */
    uint8_t pending[4];
    uint8_t n;
};

void chars_push(struct chars *chars, uint8_t byte);

/* True if all bytes so far are whole characters or bad ones that nothing can mend. */
bool chars_is_whole(const struct chars *chars);

#endif
