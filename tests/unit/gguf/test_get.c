/*
 * Values by name are accepted where they fit, and refused with the name where they do not.
 */
#include "maker.h"
#include "unit.h"
#include <math.h>
#include <string.h>

static struct maker maker;
static struct gguf *gguf;

static void add_f32(const char *name, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    maker_key(&maker, name, GGUF_F32);
    maker_u32(&maker, bits);
}

static void setup(void)
{
    const double pi = 3.25;
    uint64_t bits;

    maker_init(&maker, 2);
    maker_key_u32(&maker, "u32", UINT32_MAX);
    maker_key(&maker, "u64", GGUF_U64);
    maker_u64(&maker, UINT64_MAX);
    maker_key(&maker, "i8-negative", GGUF_I8);
    maker_bytes(&maker, "\xff", 1);
    maker_key(&maker, "i32", GGUF_I32);
    maker_u32(&maker, 12);
    add_f32("f32", 0.5f);
    add_f32("nan", NAN);
    memcpy(&bits, &pi, sizeof(bits));
    maker_key(&maker, "f64", GGUF_F64);
    maker_u64(&maker, bits);
    maker_key_bool(&maker, "yes", true);
    maker_key(&maker, "bool-2", GGUF_BOOL);
    maker_bytes(&maker, "\2", 1);
    maker_key_text(&maker, "text", "words");
    maker_key_array(&maker, "list", GGUF_STRING, 3);
    maker_text(&maker, "a");
    maker_text(&maker, "");
    maker_text(&maker, "ccc");
    ck_assert_int_eq(maker_parse(&maker, &gguf, NULL), GGUF_OK);
}

static void teardown(void)
{
    gguf_destroy(gguf);
    maker_finish(&maker);
}

START_TEST(integers_are_taken_where_they_fit)
{
    uint64_t wide = 0;
    uint32_t narrow = 0;

    ck_assert_int_eq(gguf_get_u64(gguf, "u64", &wide, NULL), GGUF_GOT);
    ck_assert_uint_eq(wide, UINT64_MAX);
    ck_assert_int_eq(gguf_get_u32(gguf, "u32", &narrow, NULL), GGUF_GOT);
    ck_assert_uint_eq(narrow, UINT32_MAX);
    ck_assert_int_eq(gguf_get_u32(gguf, "i32", &narrow, NULL), GGUF_GOT);
    ck_assert_uint_eq(narrow, 12);
}
END_TEST

START_TEST(integer_that_does_not_fit_is_refused_by_name)
{
    struct diag diag = DIAG_INIT;
    uint32_t narrow = 77;

    ck_assert_int_eq(gguf_get_u32(gguf, "u64", &narrow, &diag), GGUF_WRONG);
    ck_assert_str_eq(diag.field, "u64");
    ck_assert_int_eq(gguf_get_u32(gguf, "i8-negative", &narrow, NULL), GGUF_WRONG);
    ck_assert_int_eq(gguf_get_u32(gguf, "f32", &narrow, NULL), GGUF_WRONG);
    ck_assert_int_eq(gguf_get_u32(gguf, "text", &narrow, NULL), GGUF_WRONG);
    ck_assert_int_eq(gguf_get_u32(gguf, "list", &narrow, NULL), GGUF_WRONG);
    ck_assert_uint_eq(narrow, 77);
}
END_TEST

START_TEST(floats_of_both_widths_are_taken_if_finite)
{
    struct diag diag = DIAG_INIT;
    float value = 0;

    ck_assert_int_eq(gguf_get_f32(gguf, "f32", &value, NULL), GGUF_GOT);
    ck_assert(value == 0.5f);
    ck_assert_int_eq(gguf_get_f32(gguf, "f64", &value, NULL), GGUF_GOT);
    ck_assert(value == 3.25f);
    ck_assert_int_eq(gguf_get_f32(gguf, "nan", &value, &diag), GGUF_WRONG);
    ck_assert_int_eq(gguf_get_f32(gguf, "u32", &value, NULL), GGUF_WRONG);
    ck_assert(value == 3.25f);
}
END_TEST

START_TEST(truth_value_is_0_or_1)
{
    bool value = false;

    ck_assert_int_eq(gguf_get_bool(gguf, "yes", &value, NULL), GGUF_GOT);
    ck_assert(value);
    ck_assert_int_eq(gguf_get_bool(gguf, "bool-2", &value, NULL), GGUF_WRONG);
    ck_assert_int_eq(gguf_get_bool(gguf, "u32", &value, NULL), GGUF_WRONG);
}
END_TEST

START_TEST(text_is_returned_unchanged)
{
    struct gguf_text text = { .n = 0 };

    ck_assert_int_eq(gguf_get_text(gguf, "text", &text, NULL), GGUF_GOT);
    ck_assert_uint_eq(text.n, 5);
    ck_assert_mem_eq(text.bytes, "words", 5);
    ck_assert_int_eq(gguf_get_text(gguf, "u32", &text, NULL), GGUF_WRONG);
}
END_TEST

START_TEST(absent_key_is_none_without_a_reason)
{
    struct diag diag = DIAG_INIT;
    uint32_t value = 5;

    ck_assert_int_eq(gguf_get_u32(gguf, "nowhere", &value, &diag), GGUF_NONE);
    ck_assert_uint_eq(value, 5);
    ck_assert(!diag_is_set(&diag));
}
END_TEST

START_TEST(strings_of_an_array_are_walked_in_order)
{
    const struct gguf_key *key = gguf_find_key(gguf, "list");
    const size_t lengths[] = { 1, 0, 3 };
    struct gguf_text text;
    size_t at = 0;
    size_t n = 0;

    while (gguf_next_text(key, &at, &text)) {
        ck_assert_uint_lt(n, 3);
        ck_assert_uint_eq(text.n, lengths[n]);
        n++;
    }
    ck_assert_uint_eq(n, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gguf-get");
    TCase *tcase = tcase_create("get");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, integers_are_taken_where_they_fit);
    tcase_add_test(tcase, integer_that_does_not_fit_is_refused_by_name);
    tcase_add_test(tcase, floats_of_both_widths_are_taken_if_finite);
    tcase_add_test(tcase, truth_value_is_0_or_1);
    tcase_add_test(tcase, text_is_returned_unchanged);
    tcase_add_test(tcase, absent_key_is_none_without_a_reason);
    tcase_add_test(tcase, strings_of_an_array_are_walked_in_order);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
