/* The sentence for people: first come, clean, and cut at a whole character. */
#include "base/diag.h"
#include "base/utf8.h"
#include "unit.h"
#include <string.h>

START_TEST(first_sentence_stays)
{
    struct diag diag = DIAG_INIT;

    diag_set(&diag, "deepest %d", 1);
    diag_set(&diag, "outer");
    diag_blame(&diag, "key", "outer still");

    ck_assert_str_eq(diag.text, "deepest 1");
    ck_assert_str_eq(diag.field, "");
}
END_TEST

START_TEST(blame_names_the_field)
{
    struct diag diag = DIAG_INIT;

    diag_blame(&diag, "max_tokens", "too many");

    ck_assert_str_eq(diag.text, "too many");
    ck_assert_str_eq(diag.field, "max_tokens");
}
END_TEST

START_TEST(no_diag_is_no_crash)
{
    diag_set(NULL, "x");
    diag_blame(NULL, "f", "x");
    diag_prefix(NULL, "x");
    diag_clear(NULL);

    ck_assert(!diag_is_set(NULL));
}
END_TEST

START_TEST(escape_sequences_and_line_ends_do_not_get_through)
{
    struct diag diag = DIAG_INIT;

    diag_set(&diag, "name \x1b[2J\nnext");

    ck_assert_str_eq(diag.text, "name \xEF\xBF\xBD[2J\xEF\xBF\xBDnext");
}
END_TEST

START_TEST(bad_utf8_is_mended)
{
    struct diag diag = DIAG_INIT;

    diag_set(&diag, "a\xFFz");

    ck_assert_str_eq(diag.text, "a\xEF\xBF\xBDz");
}
END_TEST

START_TEST(long_sentence_is_cut_at_a_whole_character)
{
    for (size_t lead = 0; lead < 4; lead++) {
        struct diag diag = DIAG_INIT;
        char raw[900] = "";

        memset(raw, 'x', lead);
        while (strlen(raw) < 800) {
            strncat(raw, "\xF0\x9F\x8E\xB5", 5);
        }
        diag_set(&diag, "%s", raw);

        ck_assert_uint_gt(strlen(diag.text), DIAG_BYTES - 5);
        ck_assert(utf8_is_valid(diag.text, strlen(diag.text), NULL));
        ck_assert_ptr_null(strstr(diag.text, "\xEF\xBF\xBD"));
    }
}
END_TEST

START_TEST(prefix_stands_in_front)
{
    struct diag diag = DIAG_INIT;

    diag_set(&diag, "bad magic");
    diag_prefix(&diag, "model tiny");

    ck_assert_str_eq(diag.text, "model tiny: bad magic");
}
END_TEST

START_TEST(prefix_says_nothing_where_nothing_was_said)
{
    struct diag diag = DIAG_INIT;

    diag_prefix(&diag, "model tiny");

    ck_assert(!diag_is_set(&diag));
}
END_TEST

START_TEST(prefix_of_a_full_sentence_fits)
{
    struct diag diag = DIAG_INIT;

    diag_set(&diag, "%0*d", 1000, 7);
    diag_prefix(&diag, "model tiny");

    ck_assert_uint_eq(strlen(diag.text), DIAG_BYTES - 1);
    ck_assert_int_eq(strncmp(diag.text, "model tiny: 000", 15), 0);
}
END_TEST

START_TEST(cleared_diag_takes_a_new_sentence)
{
    struct diag diag = DIAG_INIT;

    diag_blame(&diag, "f", "old");
    diag_clear(&diag);
    diag_set(&diag, "new");

    ck_assert_str_eq(diag.text, "new");
    ck_assert_str_eq(diag.field, "");
}
END_TEST

int main(void)
{
    return unit_facts("diag", first_sentence_stays, blame_names_the_field, no_diag_is_no_crash,
                      escape_sequences_and_line_ends_do_not_get_through, bad_utf8_is_mended,
                      long_sentence_is_cut_at_a_whole_character, prefix_stands_in_front,
                      prefix_says_nothing_where_nothing_was_said, prefix_of_a_full_sentence_fits,
                      cleared_diag_takes_a_new_sentence);
}
