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

/* str.isspace(): Unicode's White_Space and the four separators of ASCII. */
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
    default: /* an enum of utf8proc: the other categories are visible */
        return true;
    }
}

/* Writes a character that becomes several, or returns 0. The rest of SpecialCasing.txt, Greek with accents below and
 * Armenian, is left out. */
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

/* Returns where the character begins that ends at @end, which is above 0. */
static size_t char_before(const struct jinja_string *string, size_t end)
{
    size_t at = end - 1;

    while (at > 0 && ((uint8_t)string->bytes[at] & 0xc0) == 0x80 && end - at < 4) {
        at--;
    }
    return at + jinja_char_bytes(string, at) == end ? at : end - 1;
}

/* True if the character at @at is in @set, or is blank where @set is NULL. */
static bool is_stripped(const struct jinja_string *string, const struct jinja_string *set, size_t at)
{
    size_t n;
    const uint32_t point = jinja_char_at(string, at, &n);

    if (!set) {
        return jinja_char_is_space(point);
    }
    for (size_t i = 0; i < set->n; i += jinja_char_bytes(set, i)) {
        if (jinja_char_bytes(set, i) == n && memcmp(set->bytes + i, string->bytes + at, n) == 0) {
            return true;
        }
    }
    return false;
}

void jinja_char_strip(const struct jinja_string *string, const struct jinja_string *set, int sides, size_t *ret_from,
                      size_t *ret_n)
{
    size_t from = 0;
    size_t to = string->n;

    while (sides & JINJA_LEFT && from < to && is_stripped(string, set, from)) {
        from += jinja_char_bytes(string, from);
    }
    while (sides & JINJA_RIGHT && to > from && is_stripped(string, set, char_before(string, to))) {
        to = char_before(string, to);
    }
    *ret_from = from;
    *ret_n = to - from;
}
