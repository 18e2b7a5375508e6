/* Frames: whole, in pieces, too long. */
#include "proto/frame.h"
#include "unit.h"
#include <string.h>

START_TEST(a_whole_frame_points_into_the_bytes_given)
{
    const uint8_t bytes[] = { 3, 0, 0, 0, 'a', 'b', 'c', 'd' };
    struct frame frame;
    size_t used;

    ck_assert_int_eq(frame_take(bytes, sizeof(bytes), 100, &frame, &used), FRAME_OK);

    ck_assert_ptr_eq(frame.body, bytes + 4);
    ck_assert_uint_eq(frame.n, 3);
    ck_assert_uint_eq(used, 7);
}
END_TEST

START_TEST(an_empty_frame_is_a_frame)
{
    const uint8_t bytes[] = { 0, 0, 0, 0 };
    struct frame frame;
    size_t used;

    ck_assert_int_eq(frame_take(bytes, sizeof(bytes), 0, &frame, &used), FRAME_OK);

    ck_assert_uint_eq(frame.n, 0);
    ck_assert_uint_eq(used, 4);
}
END_TEST

START_TEST(an_incomplete_frame_asks_for_more)
{
    const uint8_t bytes[] = { 3, 0, 0, 0, 'a', 'b', 'c' };
    struct frame frame;
    size_t used;

    for (size_t n = 0; n < sizeof(bytes); n++) {
        ck_assert_int_eq(frame_take(bytes, n, 100, &frame, &used), FRAME_MORE);
        ck_assert_uint_eq(used, n < 4 ? 0 : sizeof(bytes));
    }
}
END_TEST

START_TEST(a_length_over_the_limit_is_refused_from_its_head)
{
    const uint8_t bytes[] = { 0xff, 0xff, 0xff, 0xff };
    struct frame frame;
    size_t used = 77;

    ck_assert_int_eq(frame_take(bytes, sizeof(bytes), 4096, &frame, &used), FRAME_TOO_LARGE);

    ck_assert_uint_eq(frame.n, 0xffffffffu);
    ck_assert_uint_eq(used, 77);
}
END_TEST

START_TEST(a_length_at_the_limit_passes_and_one_more_does_not)
{
    const uint8_t at[] = { 0, 16, 0, 0 };
    const uint8_t over[] = { 1, 16, 0, 0 };
    struct frame frame;
    size_t used;

    ck_assert_int_eq(frame_take(at, 4, 4096, &frame, &used), FRAME_MORE);
    ck_assert_int_eq(frame_take(over, 4, 4096, &frame, &used), FRAME_TOO_LARGE);
}
END_TEST

START_TEST(a_head_is_little_endian_and_reads_back)
{
    const uint8_t want[] = { 0x78, 0x56, 0x34, 0x12 };
    uint8_t head[FRAME_HEAD_BYTES];
    struct frame frame;
    size_t used;

    frame_head(head, 0x12345678);

    ck_assert_mem_eq(head, want, sizeof(want));
    ck_assert_int_eq(frame_take(head, sizeof(head), SIZE_MAX, &frame, &used), FRAME_MORE);
    ck_assert_uint_eq(used, 0x12345678u + 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("proto/frame");
    TCase *facts = tcase_create("facts");

    tcase_add_test(facts, a_whole_frame_points_into_the_bytes_given);
    tcase_add_test(facts, an_empty_frame_is_a_frame);
    tcase_add_test(facts, an_incomplete_frame_asks_for_more);
    tcase_add_test(facts, a_length_over_the_limit_is_refused_from_its_head);
    tcase_add_test(facts, a_length_at_the_limit_passes_and_one_more_does_not);
    tcase_add_test(facts, a_head_is_little_endian_and_reads_back);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
