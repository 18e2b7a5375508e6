/*
 * Lines are reordered between the two formats.
 */
#include "import/draft.h"
#include "import/fixture.h"

START_TEST(halves_become_neighbours_in_every_head)
{
    static const uint64_t want[] = { 0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11 };
    const struct shuffle shuffle = { .n_outer = 2, .n_inner = 3, .n_unit = 1 };

    for (unsigned i = 0; i < 12; i++) {
        ck_assert_uint_eq(shuffle_line(&shuffle, i), want[i]);
    }
}
END_TEST

/* Behind four lines that stay: two heads of keys with three values each, of two lines. */
START_TEST(first_values_of_all_heads_come_first)
{
    static const uint64_t want[] = { 0, 1, 2, 3, 4, 5, 10, 11, 6, 7, 12, 13, 8, 9, 14, 15 };
    const struct shuffle shuffle = { .n_kept = 4, .n_outer = 2, .n_inner = 3, .n_unit = 2 };

    for (unsigned i = 0; i < 16; i++) {
        ck_assert_uint_eq(shuffle_line(&shuffle, i), want[i]);
    }
}
END_TEST

START_TEST(without_a_shuffle_every_line_stays)
{
    const struct shuffle none = { .n_outer = 0 };

    ck_assert_uint_eq(shuffle_line(&none, 12345), 12345);
    ck_assert(shuffle_fits(&none, 7));
}
END_TEST

START_TEST(only_whole_heads_may_change_places)
{
    const struct shuffle shuffle = { .n_kept = 4, .n_outer = 2, .n_inner = 3, .n_unit = 2 };

    ck_assert(shuffle_fits(&shuffle, 16));
    ck_assert(shuffle_fits(&shuffle, 28));
    ck_assert(!shuffle_fits(&shuffle, 17));
    ck_assert(!shuffle_fits(&shuffle, 4));
    ck_assert(!shuffle_fits(&shuffle, 3));
}
END_TEST

START_TEST(halves_are_widened_exactly)
{
    static const struct {
        uint16_t bits;
        float value;
    } rows[] = {
        { 0x0000, 0.0f },       { 0x3c00, 1.0f },     { 0xc000, -2.0f },    { 0x0001, 0x1p-24f },
        { 0x03ff, 0x3ffp-24f }, { 0x0400, 0x1p-14f }, { 0x7bff, 65504.0f }, { 0x3555, 0x1.554p-2f },
    };

    ck_assert_float_eq(import_half(rows[_i].bits), rows[_i].value);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import-source");
    TCase *tcase = tcase_create("source");

    tcase_add_test(tcase, halves_become_neighbours_in_every_head);
    tcase_add_test(tcase, first_values_of_all_heads_come_first);
    tcase_add_test(tcase, without_a_shuffle_every_line_stays);
    tcase_add_test(tcase, only_whole_heads_may_change_places);
    tcase_add_loop_test(tcase, halves_are_widened_exactly, 0, 8);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
