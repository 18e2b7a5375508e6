/* What all sources and readings have in common. */
#include "base/utf8.h"
#include "sense/source.h"
#include "unit.h"
#include <string.h>

static void read_never(struct source *source, uint64_t now_us, struct reading *ret_reading)
{
    ck_abort_msg("a source that was passed over is read");
}

static void read_five(struct source *source, uint64_t now_us, struct reading *ret_reading)
{
    reading_set(ret_reading, 5, now_us);
}

static void destroy(struct source *source)
{
}

static const struct source_table never = { .kind = "never", .read = read_never, .destroy = destroy };
static const struct source_table five = { .kind = "five", .read = read_five, .destroy = destroy };

START_TEST(source_begins_without_limits)
{
    struct source source;

    source_init(&source, &five, READING_POWER);

    ck_assert_int_eq(source.passive_mc, INT32_MAX);
    ck_assert_int_eq(source.critical_mc, INT32_MAX);
    ck_assert_uint_eq(source.rank, 0);
    ck_assert(list_is_empty(&source.link));
    ck_assert_uint_eq(source_clients(&source, NULL, 0), 0);
}
END_TEST

START_TEST(source_that_was_passed_over_is_absent_unread)
{
    struct source source;
    struct reading reading;

    source_init(&source, &never, READING_POWER);
    source.rank = SOURCE_PASSED_OVER;

    source_read(&source, 1, &reading);

    ck_assert_int_eq(reading.state, READING_ABSENT);
    ck_assert_str_eq(reading.why, "passed over");
}
END_TEST

START_TEST(source_is_found_by_kind_and_id)
{
    struct list sources = LIST_INIT(sources);
    struct source a;
    struct source b;

    source_init(&a, &five, READING_POWER);
    label_format(a.id, sizeof(a.id), "x");
    list_append(&sources, &a.link);
    source_init(&b, &never, READING_POWER);
    label_format(b.id, sizeof(b.id), "x");
    list_append(&sources, &b.link);

    ck_assert_ptr_eq(source_find(&sources, "never", "x"), &b);
    ck_assert_ptr_eq(source_find(&sources, "five", "x"), &a);
    ck_assert_ptr_null(source_find(&sources, "five", "y"));
}
END_TEST

START_TEST(foreign_text_becomes_one_line_of_whole_characters)
{
    char text[8];

    label_format(text, sizeof(text), "a\x1b\n\xff");
    ck_assert(utf8_is_valid(text, strlen(text), NULL));
    ck_assert_ptr_null(strpbrk(text, "\x1b\n"));
    label_format(text, sizeof(text), "abcde%s", "\u00b0C");
    ck_assert_str_eq(text, "abcde\u00b0");
    label_format(text, sizeof(text), "abcdef%s", "\u00b0C");
    ck_assert_str_eq(text, "abcdef");
}
END_TEST

START_TEST(each_state_and_quantity_has_its_name)
{
    for (int i = 0; i < READING_STATE_COUNT; i++) {
        ck_assert_str_ne(reading_state_name((enum reading_state)i), "");
    }
    for (int i = 0; i < READING_QUANTITY_COUNT; i++) {
        ck_assert_str_ne(reading_quantity_name((enum reading_quantity)i), "");
        ck_assert_str_ne(reading_unit_name((enum reading_quantity)i), "");
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("source");
    TCase *tcase = tcase_create("source");

    tcase_add_test(tcase, source_begins_without_limits);
    tcase_add_test(tcase, source_that_was_passed_over_is_absent_unread);
    tcase_add_test(tcase, source_is_found_by_kind_and_id);
    tcase_add_test(tcase, foreign_text_becomes_one_line_of_whole_characters);
    tcase_add_test(tcase, each_state_and_quantity_has_its_name);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
