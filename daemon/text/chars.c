/*
 * Four bytes are enough: no beginning of a character is longer than three.
 */
#include "text/chars.h"
#include "base/utf8.h"
#include <string.h>

void chars_push(struct chars *chars, uint8_t byte)
{
    size_t used;

    chars->pending[chars->n++] = byte;
    while (chars->n > 0 && utf8_step(chars->pending, chars->n, &used, NULL) != UTF8_MORE) {
        chars->n = (uint8_t)(chars->n - used);
        memmove(chars->pending, chars->pending + used, chars->n);
    }
}

bool chars_is_whole(const struct chars *chars)
{
    return chars->n == 0;
}
