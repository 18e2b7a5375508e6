/*
 * UTF-8 by table 3-7 of the Unicode standard: which second bytes may follow which first ones says all.
 */
#include "base/utf8.h"
#include <string.h>

#define REPLACEMENT   "\xEF\xBF\xBD" /* U+FFFD */
#define N_REPLACEMENT 3

/* The length of the character that begins with a byte, and the range of its second byte. Further bytes are 80..BF. */
struct lead {
    uint8_t first;
    uint8_t last;
    uint8_t length;
    uint8_t second_min;
    uint8_t second_max;
};

static const struct lead leads[] = {
    { 0xC2, 0xDF, 2, 0x80, 0xBF },                                /* C0 and C1 would be overlong */
    { 0xE0, 0xE0, 3, 0xA0, 0xBF },                                /* below: overlong */
    { 0xE1, 0xEC, 3, 0x80, 0xBF }, { 0xED, 0xED, 3, 0x80, 0x9F }, /* above: surrogates */
    { 0xEE, 0xEF, 3, 0x80, 0xBF }, { 0xF0, 0xF0, 4, 0x90, 0xBF }, /* below: overlong */
    { 0xF1, 0xF3, 4, 0x80, 0xBF }, { 0xF4, 0xF4, 4, 0x80, 0x8F }, /* above: past U+10FFFF */
};

static const struct lead *lead_find(uint8_t byte)
{
    for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++) {
        if (byte >= leads[i].first && byte <= leads[i].last) {
            return &leads[i];
        }
    }
    return NULL;
}

enum utf8_kind utf8_step(const uint8_t *bytes, size_t n, size_t *ret_used, uint32_t *ret_point)
{
    const struct lead *lead;
    uint32_t point;

    *ret_used = 1;
    if (bytes[0] < 0x80) {
        if (ret_point) {
            *ret_point = bytes[0];
        }
        return UTF8_WHOLE;
    }
    lead = lead_find(bytes[0]);
    if (!lead) {
        return UTF8_BAD;
    }
    point = bytes[0] & (0x7Fu >> lead->length);
    for (size_t i = 1; i < lead->length; i++) {
        uint8_t low = i == 1 ? lead->second_min : 0x80;
        uint8_t high = i == 1 ? lead->second_max : 0xBF;

        *ret_used = i;
        if (i == n) {
            return UTF8_MORE;
        }
        if (bytes[i] < low || bytes[i] > high) {
            return UTF8_BAD;
        }
        point = point << 6 | (bytes[i] & 0x3Fu);
    }
    *ret_used = lead->length;
    if (ret_point) {
        *ret_point = point;
    }
    return UTF8_WHOLE;
}

/* Returns how many bytes at the beginning are ASCII, in steps of eight; more may follow. */
static size_t ascii_run(const uint8_t *bytes, size_t n)
{
    uint64_t eight;
    size_t i;

    for (i = 0; i + sizeof(eight) <= n; i += sizeof(eight)) {
        memcpy(&eight, bytes + i, sizeof(eight));
        if (eight & 0x8080808080808080u) {
            break;
        }
    }
    return i;
}

bool utf8_is_valid(const void *bytes, size_t n, size_t *ret_at)
{
    const uint8_t *at = bytes;
    size_t used;

    for (size_t i = 0; i < n; i += used) {
        used = ascii_run(at + i, n - i);
        if (used > 0) {
            continue;
        }
        if (utf8_step(at + i, n - i, &used, NULL) != UTF8_WHOLE) {
            if (ret_at) {
                *ret_at = i;
            }
            return false;
        }
    }
    return true;
}

size_t utf8_whole(const uint8_t *bytes, size_t n)
{
    size_t used;

    for (size_t i = 1; i <= 3 && i <= n; i++) {
        if (utf8_step(bytes + n - i, i, &used, NULL) == UTF8_MORE) {
            return n - i;
        }
    }
    return n;
}

size_t utf8_write(uint32_t point, uint8_t *out)
{
    if (point < 0x80) {
        out[0] = (uint8_t)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (uint8_t)(0xC0 | point >> 6);
        out[1] = (uint8_t)(0x80 | (point & 0x3F));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (uint8_t)(0xE0 | point >> 12);
        out[1] = (uint8_t)(0x80 | (point >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (point & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | point >> 18);
    out[1] = (uint8_t)(0x80 | (point >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (point >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (point & 0x3F));
    return 4;
}

static bool is_control(uint32_t point)
{
    return point < 0x20 || (point >= 0x7F && point <= 0x9F) || point == 0x2028 || point == 0x2029;
}

static size_t mend(const uint8_t *bytes, size_t n, uint8_t *out, size_t cap, bool one_line)
{
    size_t n_out = 0;
    size_t used;

    for (size_t i = 0; i < n; i += used) {
        uint32_t point = 0;
        enum utf8_kind kind = utf8_step(bytes + i, n - i, &used, &point);
        bool keep = kind == UTF8_WHOLE && !(one_line && is_control(point));
        const void *piece = keep ? (const void *)(bytes + i) : REPLACEMENT;
        size_t n_piece = keep ? used : N_REPLACEMENT;

        if (n_piece > cap - n_out) {
            break;
        }
        memcpy(out + n_out, piece, n_piece);
        n_out += n_piece;
    }
    return n_out;
}

size_t utf8_mend(const uint8_t *bytes, size_t n, uint8_t *out, size_t cap)
{
    return mend(bytes, n, out, cap, false);
}

size_t utf8_mend_line(const uint8_t *bytes, size_t n, uint8_t *out, size_t cap)
{
    return mend(bytes, n, out, cap, true);
}
