/* Gains as text: what is written is read again, and nothing else is taken for true. */
#include "base/clean.h"
#include "govern/gains.h"
#include "unit.h"

#include <string.h>

static const struct gains usual = { .board = "Acme Board rev 2", .whole_mc = 43210, .lag_ms = 12500 };

START_TEST(what_is_written_is_read_again)
{
    char text[GAINS_FILE_MAX];
    struct gains gains;
    struct diag diag = DIAG_INIT;
    size_t n = gains_write(&usual, text, sizeof(text));

    ck_assert_uint_gt(n, 0);
    ck_assert_msg(gains_read(text, n, &gains, &diag), "%s", diag.text);

    ck_assert_str_eq(gains.board, usual.board);
    ck_assert_uint_eq(gains.whole_mc, usual.whole_mc);
    ck_assert_uint_eq(gains.lag_ms, usual.lag_ms);
}
END_TEST

START_TEST(every_other_byte_is_refused)
{
    char text[GAINS_FILE_MAX];
    size_t n = gains_write(&usual, text, sizeof(text));

    for (size_t i = 0; i < n; i++) {
        const char was = text[i];

        for (int byte = 0; byte < 256; byte += 5) {
            struct gains gains = { .whole_mc = 1 };
            struct diag diag = DIAG_INIT;

            text[i] = (char)byte;
            if (gains_read(text, n, &gains, &diag)) { /* another name, or another number in range */
                ck_assert(gains.whole_mc >= 1000 && gains.whole_mc <= 1000000);
                ck_assert(gains.lag_ms >= 2000 && gains.lag_ms <= 150000);
                ck_assert_uint_lt(strlen(gains.board), GAINS_BOARD_MAX);
            } else {
                ck_assert_uint_eq(gains.whole_mc, 1); /* untouched */
                ck_assert(diag_is_set(&diag));
            }
        }
        text[i] = was;
    }
}
END_TEST

START_TEST(what_is_no_gains_is_refused)
{
    static const char *const texts[] = {
        "",
        "sotto gains 1\n",
        "sotto gains 2\nboard a\nwhole_mc 40000\nlag_ms 10000\n",
        "sotto gains 1\nboard \nwhole_mc 40000\nlag_ms 10000\n",
        "sotto gains 1\nboard a\nwhole_mc 999\nlag_ms 10000\n",
        "sotto gains 1\nboard a\nwhole_mc 1000001\nlag_ms 10000\n",
        "sotto gains 1\nboard a\nwhole_mc 40000\nlag_ms 1999\n",
        "sotto gains 1\nboard a\nwhole_mc 40000\nlag_ms 150001\n",
        "sotto gains 1\nboard a\nwhole_mc -40000\nlag_ms 10000\n",
        "sotto gains 1\nboard a\nwhole_mc 99999999\nlag_ms 10000\n",
        "sotto gains 1\nboard a\nwhole_mc 040000\nlag_ms 10000\n",
        "sotto gains 1\nboard a\nwhole_mc 40000\nlag_ms 10000",
        "sotto gains 1\nboard a\nwhole_mc 40000\nlag_ms 10000\n\n",
        "sotto gains 1\nboard a\nlag_ms 10000\nwhole_mc 40000\n",
    };

    for (size_t i = 0; i < COUNTOF(texts); i++) {
        struct gains gains;
        struct diag diag = DIAG_INIT;

        ck_assert_msg(!gains_read(texts[i], strlen(texts[i]), &gains, &diag), "%s", texts[i]);
        ck_assert(diag_is_set(&diag));
    }
}
END_TEST

START_TEST(a_prefix_is_refused_and_a_large_file_as_well)
{
    char text[4096];
    struct gains gains;
    struct diag diag = DIAG_INIT;
    size_t n = gains_write(&usual, text, sizeof(text));

    for (size_t i = 0; i < n; i++) {
        diag_clear(&diag);
        ck_assert(!gains_read(text, i, &gains, &diag));
    }
    memset(text + n, '\n', sizeof(text) - n);
    diag_clear(&diag);
    ck_assert(!gains_read(text, sizeof(text), &gains, &diag));
}
END_TEST

START_TEST(a_name_is_cut_and_cleaned)
{
    char board[GAINS_BOARD_MAX];
    char name[2 * GAINS_BOARD_MAX];

    gains_name("Acme\0Board\n\x80!", 13, board);
    ck_assert_str_eq(board, "AcmeBoard!");
    memset(name, 'x', sizeof(name));
    gains_name(name, sizeof(name), board);
    ck_assert_uint_eq(strlen(board), GAINS_BOARD_MAX - 1);
}
END_TEST

START_TEST(gains_of_no_chip_are_not_written)
{
    struct gains gains = usual;
    char text[GAINS_FILE_MAX];

    gains.whole_mc = 10;
    ck_assert_uint_eq(gains_write(&gains, text, sizeof(text)), 0);
    gains = usual;
    gains.board[0] = '\0';
    ck_assert_uint_eq(gains_write(&gains, text, sizeof(text)), 0);
    ck_assert_uint_eq(gains_write(&usual, text, 20), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("govern-gains");
    TCase *tcase = tcase_create("gains");

    tcase_add_test(tcase, what_is_written_is_read_again);
    tcase_add_test(tcase, every_other_byte_is_refused);
    tcase_add_test(tcase, what_is_no_gains_is_refused);
    tcase_add_test(tcase, a_prefix_is_refused_and_a_large_file_as_well);
    tcase_add_test(tcase, a_name_is_cut_and_cleaned);
    tcase_add_test(tcase, gains_of_no_chip_are_not_written);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
