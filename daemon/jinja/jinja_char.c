#include "jinja/jinja_char.h"
#include "base/utf8.h"
#include <string.h>
#include <utf8proc.h>

uint32_t jinja_char_at(const struct jinja_string *string, size_t at, size_t *ret_n)
{
    const uint8_t *bytes = (const uint8_t *)string->bytes + at;
    uint32_t point;

    if (bytes[0] < 0x80) {
        *ret_n = 1;
        return bytes[0];
    }
    if (utf8_step(bytes, string->n - at, ret_n, &point) == UTF8_WHOLE) {
        return point;
    }
    *ret_n = 1;
    return JINJA_CHAR_BAD;
}

size_t jinja_char_bytes(const struct jinja_string *string, size_t at)
{
    size_t n;

    jinja_char_at(string, at, &n);
    return n;
}

size_t jinja_char_count(const struct jinja_string *string)
{
    size_t count = 0;

    for (size_t at = 0; at < string->n; at += jinja_char_bytes(string, at)) {
        count++;
    }
    return count;
}

size_t jinja_char_offset(const struct jinja_string *string, size_t i)
{
    size_t at = 0;

    for (; i > 0 && at < string->n; i--) {
        at += jinja_char_bytes(string, at);
    }
    return at;
}

/* str.isspace(): more than Unicode's White_Space by the four separators of ASCII. */
bool jinja_char_is_space(uint32_t point)
{
    if (point < 0x80) {
        return point == ' ' || (point >= 0x09 && point <= 0x0d) || (point >= 0x1c && point <= 0x1f);
    }
    return point == 0x85 || point == 0xa0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200a) ||
           point == 0x2028 || point == 0x2029 || point == 0x202f || point == 0x205f || point == 0x3000;
}

static utf8proc_category_t category(uint32_t point)
{
    return point > 0x10ffff ? UTF8PROC_CATEGORY_CN : utf8proc_category((utf8proc_int32_t)point);
}

bool jinja_char_is_letter(uint32_t point)
{
    const utf8proc_category_t c = category(point);

    return c == UTF8PROC_CATEGORY_LU || c == UTF8PROC_CATEGORY_LL || c == UTF8PROC_CATEGORY_LT ||
           c == UTF8PROC_CATEGORY_LM || c == UTF8PROC_CATEGORY_LO;
}

bool jinja_char_is_digit(uint32_t point)
{
    return category(point) == UTF8PROC_CATEGORY_ND;
}

bool jinja_char_is_upper(uint32_t point)
{
    return point <= 0x10ffff && utf8proc_isupper((utf8proc_int32_t)point);
}

bool jinja_char_is_lower(uint32_t point)
{
    return point <= 0x10ffff && utf8proc_islower((utf8proc_int32_t)point);
}

bool jinja_char_is_printable(uint32_t point)
{
    switch (category(point)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return false;
    case UTF8PROC_CATEGORY_ZS:
        return point == ' ';
    default: /* an enum of utf8proc's: the other categories are seen */
        return true;
    }
}

/* Characters that become several; the rest of SpecialCasing.txt is Greek with accents below, and Armenian. */
static size_t upper_of_many(uint32_t point, bool title, uint8_t *out)
{
    static const struct {
        uint32_t point;
        const char *upper;
        const char *title;
    } rows[] = {
        { 0x00df, "SS", "Ss" },   { 0x0149, "\xca\xbcN", "\xca\xbcN" },
        { 0xfb00, "FF", "Ff" },   { 0xfb01, "FI", "Fi" },
        { 0xfb02, "FL", "Fl" },   { 0xfb03, "FFI", "Ffi" },
        { 0xfb04, "FFL", "Ffl" }, { 0xfb05, "ST", "St" },
        { 0xfb06, "ST", "St" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].point == point) {
            const char *text = title ? rows[i].title : rows[i].upper;

            memcpy(out, text, strlen(text));
            return strlen(text);
        }
    }
    return 0;
}

size_t jinja_char_upper(uint32_t point, uint8_t *out)
{
    const size_t n = upper_of_many(point, false, out);

    return n ? n : utf8_write((uint32_t)utf8proc_toupper((utf8proc_int32_t)point), out);
}

size_t jinja_char_lower(uint32_t point, uint8_t *out)
{
    if (point == 0x130) { /* I with a dot: i and the dot */
        memcpy(out, "i\xcc\x87", 3);
        return 3;
    }
    return utf8_write((uint32_t)utf8proc_tolower((utf8proc_int32_t)point), out);
}

size_t jinja_char_title(uint32_t point, uint8_t *out)
{
    const size_t n = upper_of_many(point, true, out);

    return n ? n : utf8_write((uint32_t)utf8proc_totitle((utf8proc_int32_t)point), out);
}

/* Is the character of @n bytes at @bytes one of @set's? */
static bool is_in_set(const struct jinja_string *set, const char *bytes, size_t n)
{
    for (size_t at = 0; at < set->n;) {
        const size_t n_one = jinja_char_bytes(set, at);

        if (n_one == n && memcmp(set->bytes + at, bytes, n) == 0) {
            return true;
        }
        at += n_one;
    }
    return false;
}

static bool goes(const struct jinja_string *string, const struct jinja_string *set, size_t at)
{
    size_t n;
    const uint32_t point = jinja_char_at(string, at, &n);

    return set ? is_in_set(set, string->bytes + at, n) : jinja_char_is_space(point);
}

void jinja_char_strip(const struct jinja_string *string, const struct jinja_string *set, bool left, bool right,
                      size_t *ret_from, size_t *ret_n)
{
    size_t from = 0;
    size_t to = string->n;

    while (left && from < to && goes(string, set, from)) {
        from += jinja_char_bytes(string, from);
    }
    while (right && to > from) {
        size_t last = to - 1;

        while (last > from && ((uint8_t)string->bytes[last] & 0xc0) == 0x80 && to - last < 4) {
            last--;
        }
        /* What does not end exactly here is a byte by itself. */
        if (last + jinja_char_bytes(string, last) != to) {
            last = to - 1;
        }
        if (!goes(string, set, last)) {
            break;
        }
        to = last;
    }
    *ret_from = from;
    *ret_n = to - from;
}
