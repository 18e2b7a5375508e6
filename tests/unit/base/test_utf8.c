/* Well-formed or not, after table 3-7 of the Unicode standard. */
#include "base/utf8.h"
#include "unit.h"
#include <string.h>

static enum utf8_kind step(const char *bytes, size_t *used, uint32_t *point)
{
    return utf8_step((const uint8_t *)bytes, strlen(bytes), used, point);
}

START_TEST(every_scalar_value_survives_write_and_step)
{
    for (uint32_t point = 0; point <= 0x10FFFF; point++) {
        uint8_t bytes[4];
        size_t n;
        size_t used;
        uint32_t back = 0;

        if (point >= 0xD800 && point <= 0xDFFF) {
            continue;
        }
        n = utf8_write(point, bytes);
        if (utf8_step(bytes, n, &used, &back) != UTF8_WHOLE || used != n || back != point) {
            ck_abort_msg("U+%04X", point);
        }
    }
}
END_TEST

START_TEST(begun_character_asks_for_more)
{
    const char *begun[] = { "\xC3", "\xE2\x82", "\xE2", "\xF0\x9F\x8E", "\xF0\x9F", "\xF0", "\xED\x9F" };

    for (size_t i = 0; i < sizeof(begun) / sizeof(begun[0]); i++) {
        size_t used;

        ck_assert_int_eq(step(begun[i], &used, NULL), UTF8_MORE);
        ck_assert_uint_eq(used, strlen(begun[i]));
    }
}
END_TEST

START_TEST(ill_formed_parts_have_their_maximal_length)
{
    const struct {
        const char *bytes;
        size_t used;
    } bad[] = {
        { "\x80", 1 },             /* nothing to continue */
        { "\xC0\x80", 1 },         /* overlong */
        { "\xC1\xBF", 1 },         /* overlong */
        { "\xE0\x9F\x80", 1 },     /* overlong */
        { "\xF0\x8F\xBF\xBF", 1 }, /* overlong */
        { "\xED\xA0\x80", 1 },     /* surrogate */
        { "\xF4\x90\x80\x80", 1 }, /* past U+10FFFF */
        { "\xF5\x80\x80\x80", 1 },
        { "\xFF", 1 },
        { "\xE2\x82x", 2 },
        { "\xF0\x9F\x8Ex", 3 },
        { "\xC3(", 1 },
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        size_t used;

        ck_assert_int_eq(step(bad[i].bytes, &used, NULL), UTF8_BAD);
        ck_assert_uint_eq(used, bad[i].used);
    }
}
END_TEST

START_TEST(validity_names_the_first_bad_byte)
{
    size_t at = 99;

    ck_assert(utf8_is_valid("gr\xC3\xBC\xC3\x9F", 6, &at));
    ck_assert_uint_eq(at, 99);
    ck_assert(!utf8_is_valid("gr\xC3\xBC\xC3", 5, &at));
    ck_assert_uint_eq(at, 4);
    ck_assert(utf8_is_valid("", 0, NULL));
    ck_assert(!utf8_is_valid("\xFF", 1, NULL));
}
END_TEST

START_TEST(validity_is_the_same_wherever_the_bad_byte_is)
{
    char text[40];

    for (size_t n = 1; n <= sizeof(text); n++) {
        for (size_t bad = 0; bad < n; bad++) {
            size_t at = 99;

            memset(text, 'a', n);
            ck_assert(utf8_is_valid(text, n, &at));
            text[bad] = '\xBF';
            ck_assert(!utf8_is_valid(text, n, &at));
            ck_assert_uint_eq(at, bad);
        }
    }
}
END_TEST

START_TEST(text_cut_before_a_begun_character_is_mended_to_the_same)
{
    static const uint8_t text[] = "a\xF0\x9F\x8E\x82\xF0\x9F\x8E\xE2\x82\xAC\x80\xC3\xC3\xBC\xE2\x82";
    const size_t n = sizeof(text) - 1;
    uint8_t whole[64];
    const size_t n_whole = utf8_mend(text, n, whole, sizeof(whole));

    for (size_t cut = 0; cut <= n; cut++) {
        const size_t first = utf8_whole(text, cut);
        uint8_t parts[64];
        size_t n_parts = utf8_mend(text, first, parts, sizeof(parts));

        n_parts += utf8_mend(text + first, n - first, parts + n_parts, sizeof(parts) - n_parts);
        ck_assert_uint_eq(n_parts, n_whole);
        ck_assert_int_eq(memcmp(parts, whole, n_whole), 0);
    }
}
END_TEST

START_TEST(mended_text_has_one_replacement_for_each_ill_formed_part)
{
    const char *raw = "a\xF0\x9F\x8E"
                      "b\xFF\xFE\xC3";
    const char *want = "a\xEF\xBF\xBD"
                       "b\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD";
    uint8_t out[64];
    size_t n = utf8_mend((const uint8_t *)raw, strlen(raw), out, sizeof(out));

    ck_assert_uint_eq(n, strlen(want));
    ck_assert_int_eq(memcmp(out, want, n), 0);
}
END_TEST

START_TEST(mended_text_is_cut_at_a_whole_character)
{
    uint8_t out[4];

    ck_assert_uint_eq(utf8_mend((const uint8_t *)"ab\xE2\x82\xAC", 5, out, 4), 2);
    ck_assert_uint_eq(utf8_mend((const uint8_t *)"\xFF\xFF", 2, out, 4), 3);
    ck_assert_uint_eq(utf8_mend((const uint8_t *)"x", 1, out, 0), 0);
}
END_TEST

START_TEST(line_has_no_control_characters)
{
    const char *raw = "a\n\x1b\x7f\xC2\x85\xE2\x80\xA8z";
    uint8_t out[64];
    size_t n = utf8_mend_line((const uint8_t *)raw, strlen(raw), out, sizeof(out));

    ck_assert_uint_eq(n, 1 + 5 * 3 + 1);
    ck_assert_int_eq(memcmp(out + 1, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz", 16), 0);
}
END_TEST

int main(void)
{
    return unit_facts("utf8", every_scalar_value_survives_write_and_step, begun_character_asks_for_more,
                      ill_formed_parts_have_their_maximal_length, validity_names_the_first_bad_byte,
                      validity_is_the_same_wherever_the_bad_byte_is,
                      text_cut_before_a_begun_character_is_mended_to_the_same,
                      mended_text_has_one_replacement_for_each_ill_formed_part, mended_text_is_cut_at_a_whole_character,
                      line_has_no_control_characters);
}
