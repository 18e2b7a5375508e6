/* Bytes in at the end, out at the front, and never more than the ceiling. */
#include "base/buf.h"
#include "failed_alloc.h"
#include "unit.h"
#include <string.h>

START_TEST(bytes_come_out_as_they_went_in)
{
    struct buf buf;

    buf_init(&buf, MEM_WIRE, 1000);
    ck_assert_int_eq(buf_append(&buf, "hello ", 6), BUF_OK);
    ck_assert_int_eq(buf_append(&buf, "world", 5), BUF_OK);
    buf_eat(&buf, 6);

    ck_assert_uint_eq(buf.n, 5);
    ck_assert_int_eq(memcmp(buf_data(&buf), "world", 5), 0);
    buf_finish(&buf);
}
END_TEST

START_TEST(ceiling_is_exact_and_refusal_changes_nothing)
{
    struct buf buf;

    buf_init(&buf, MEM_WIRE, 5);
    ck_assert_int_eq(buf_append(&buf, "hello", 5), BUF_OK);

    ck_assert_int_eq(buf_append(&buf, "!", 1), BUF_FULL);
    ck_assert_uint_eq(buf.n, 5);
    buf_eat(&buf, 1);
    ck_assert_int_eq(buf_append(&buf, "!", 1), BUF_OK);
    ck_assert_int_eq(memcmp(buf_data(&buf), "ello!", 5), 0);
    buf_finish(&buf);
}
END_TEST

START_TEST(huge_reserve_is_refused_not_wrapped)
{
    struct buf buf;
    uint8_t *room;

    buf_init(&buf, MEM_WIRE, SIZE_MAX / 4);
    buf_append(&buf, "x", 1);

    ck_assert_int_eq(buf_reserve(&buf, SIZE_MAX, &room), BUF_FULL);
    buf_finish(&buf);
}
END_TEST

START_TEST(long_use_behaves_as_a_queue)
{
    struct buf buf;
    uint32_t in = 0;
    uint32_t out = 0;

    buf_init(&buf, MEM_WIRE, 700);
    for (uint32_t turn = 0; turn < 20000; turn++) {
        if (turn % 7 < 4) {
            in += buf_append(&buf, &in, sizeof(in)) == BUF_OK;
        } else if (buf.n > 0) {
            ck_assert_int_eq(memcmp(buf_data(&buf), &out, sizeof(out)), 0);
            buf_eat(&buf, sizeof(out));
            out++;
        }
        ck_assert_uint_le(buf.n, 700);
        ck_assert_uint_eq(buf.n, (in - out) * sizeof(in));
    }
    buf_finish(&buf);
}
END_TEST

START_TEST(reserved_room_is_committed_by_grew)
{
    struct buf buf;
    uint8_t *room;

    buf_init(&buf, MEM_WIRE, 100);
    ck_assert_int_eq(buf_reserve(&buf, 10, &room), BUF_OK);
    memcpy(room, "abc", 3);
    ck_assert_uint_eq(buf.n, 0);
    buf_grew(&buf, 3);

    ck_assert_int_eq(memcmp(buf_data(&buf), "abc", 3), 0);
    buf_finish(&buf);
}
END_TEST

START_TEST(large_buffer_gives_its_memory_back_when_empty)
{
    struct buf buf;
    uint8_t *room;

    buf_init(&buf, MEM_WIRE, 1 << 20);
    buf_reserve(&buf, 100000, &room);
    memset(room, 0, 100000);
    buf_grew(&buf, 100000);
    buf_eat(&buf, 100000);

    ck_assert_uint_eq(buf.cap, 0);
    ck_assert_int_eq(buf_append(&buf, "x", 1), BUF_OK);
    buf_finish(&buf);
}
END_TEST

START_TEST(nothing_is_appended_at_no_cost)
{
    struct buf buf;

    buf_init(&buf, MEM_WIRE, 0);

    ck_assert_int_eq(buf_append(&buf, NULL, 0), BUF_OK);
    ck_assert_ptr_nonnull(buf_data(&buf));
}
END_TEST

static int fill(void *data)
{
    struct buf buf;
    int r = 0;

    buf_init(&buf, MEM_WIRE, 100000);
    for (int i = 0; i < 1000 && r == 0; i++) {
        r = buf_append(&buf, "0123456789", 10);
    }
    buf_finish(&buf);
    return r;
}

START_TEST(failed_growth_leaks_nothing)
{
    for_each_failed_alloc(fill, NULL);
}
END_TEST

START_TEST(failed_growth_keeps_the_bytes)
{
    struct buf buf;
    char large[1000] = "";

    buf_init(&buf, MEM_WIRE, 100000);
    buf_append(&buf, "hello", 5);
    mem_fail_nth(0);

    ck_assert_int_eq(buf_append(&buf, large, sizeof(large)), -ENOMEM);
    ck_assert_uint_eq(buf.n, 5);
    ck_assert_int_eq(memcmp(buf_data(&buf), "hello", 5), 0);
    buf_finish(&buf);
}
END_TEST

int main(void)
{
    return unit_facts("buf", bytes_come_out_as_they_went_in, ceiling_is_exact_and_refusal_changes_nothing,
                      huge_reserve_is_refused_not_wrapped, long_use_behaves_as_a_queue,
                      reserved_room_is_committed_by_grew, large_buffer_gives_its_memory_back_when_empty,
                      nothing_is_appended_at_no_cost, failed_growth_leaks_nothing, failed_growth_keeps_the_bytes);
}
