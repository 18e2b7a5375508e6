/* Bounded reading: little-endian, and the first failure sticks. */
#include "base/cursor.h"
#include "unit.h"
#include <string.h>

START_TEST(numbers_are_little_endian)
{
    const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xFF };
    struct cursor cursor;

    cursor_init(&cursor, bytes, sizeof(bytes));

    ck_assert_uint_eq(cursor_u8(&cursor), 1);
    ck_assert_uint_eq(cursor_u16(&cursor), 0x0302);
    ck_assert_uint_eq(cursor_u32(&cursor), 0x07060504);
    ck_assert_uint_eq(cursor_u16(&cursor), 0x0908);
    ck_assert_uint_eq(cursor_left(&cursor), 6);
    ck_assert(!cursor.failed);
}
END_TEST

START_TEST(u64_is_read_at_any_alignment)
{
    const uint8_t bytes[] = { 0, 8, 7, 6, 5, 4, 3, 2, 1 };
    struct cursor cursor;

    cursor_init(&cursor, bytes + 1, 8);

    ck_assert_uint_eq(cursor_u64(&cursor), 0x0102030405060708u);
}
END_TEST

START_TEST(floats_keep_their_bits)
{
    const float single = -1.5f;
    const double twice = 1e300;
    uint8_t bytes[12];
    struct cursor cursor;

    memcpy(bytes, &single, 4);
    memcpy(bytes + 4, &twice, 8);
    cursor_init(&cursor, bytes, sizeof(bytes));

    ck_assert_float_eq(cursor_f32(&cursor), single);
    ck_assert_double_eq(cursor_f64(&cursor), twice);
}
END_TEST

START_TEST(first_failure_sticks_and_says_what_was_wanted)
{
    const uint8_t bytes[] = { 1, 2, 3 };
    struct cursor cursor;

    cursor_init(&cursor, bytes, sizeof(bytes));
    cursor_u8(&cursor);

    ck_assert_uint_eq(cursor_u32(&cursor), 0);
    ck_assert(cursor.failed);
    ck_assert_uint_eq(cursor.wanted, 5);
    ck_assert_uint_eq(cursor_u8(&cursor), 0);
    ck_assert_uint_eq(cursor.wanted, 5);
    ck_assert_uint_eq(cursor_left(&cursor), 0);
}
END_TEST

START_TEST(length_near_2_to_the_64_fails_and_saturates)
{
    const uint8_t bytes[] = { 1, 2, 3 };
    struct cursor cursor;

    cursor_init(&cursor, bytes, sizeof(bytes));
    cursor_u8(&cursor);

    ck_assert_ptr_null(cursor_take(&cursor, UINT64_MAX));
    ck_assert_uint_eq(cursor.wanted, UINT64_MAX);
}
END_TEST

START_TEST(taken_bytes_are_those_of_the_input)
{
    const uint8_t bytes[] = { 1, 2, 3 };
    struct cursor cursor;

    cursor_init(&cursor, bytes, sizeof(bytes));

    ck_assert_ptr_eq(cursor_take(&cursor, 2), bytes);
    ck_assert_ptr_eq(cursor_take(&cursor, 1), bytes + 2);
    ck_assert_ptr_eq(cursor_take(&cursor, 0), bytes + 3);
    ck_assert_ptr_null(cursor_take(&cursor, 1));
}
END_TEST

START_TEST(no_bytes_fail_at_once)
{
    struct cursor cursor;

    cursor_init(&cursor, NULL, 0);

    ck_assert_uint_eq(cursor_u64(&cursor), 0);
    ck_assert(cursor.failed);
}
END_TEST

int main(void)
{
    return unit_facts("cursor", numbers_are_little_endian, u64_is_read_at_any_alignment, floats_keep_their_bits,
                      first_failure_sticks_and_says_what_was_wanted, length_near_2_to_the_64_fails_and_saturates,
                      taken_bytes_are_those_of_the_input, no_bytes_fail_at_once);
}
