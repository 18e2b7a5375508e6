/*
 * All characters of the alphabet take one or two bytes of UTF-8, so decoding needs no general decoder.
 */
#include "token/alphabet.h"

/* Returns the byte that a character spells, or -1. '!' to '~', U+00A1 to U+00AC and U+00AE to U+00FF spell themselves;
 * from U+0100 on follow the 68 others: 0x00 to 0x20, 0x7f to 0xa0, 0xad. */
static int byte_of(uint32_t point)
{
    if (point < 0x100) {
        const bool itself = (point >= 0x21 && point <= 0x7e) || (point >= 0xa1 && point != 0xad);

        return itself ? (int)point : -1;
    }
    point -= 0x100;
    if (point <= 0x20) {
        return (int)point;
    }
    point -= 0x21;
    if (point <= 0xa0 - 0x7f) {
        return (int)point + 0x7f;
    }
    point -= 0xa0 - 0x7f + 1;
    return point == 0 ? 0xad : -1;
}

bool alphabet_decode(const char *text, size_t n, uint8_t *out, size_t *ret_n)
{
    const uint8_t *bytes = (const uint8_t *)text;
    size_t n_out = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t point = bytes[i];
        int byte;

        if (point >= 0x80) {
            if ((point & 0xe0) != 0xc0 || i + 1 == n || (bytes[i + 1] & 0xc0) != 0x80) {
                return false;
            }
            point = (point & 0x1f) << 6 | (bytes[++i] & 0x3f);
            if (point < 0x80) {
                return false;
            }
        }
        byte = byte_of(point);
        if (byte < 0) {
            return false;
        }
        out[n_out++] = (uint8_t)byte;
    }
    *ret_n = n_out;
    return true;
}
