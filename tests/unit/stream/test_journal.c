/* A journal can be read back by its descriptor alone; a torn or altered record is not believed. */
#include "base/buf.h"
#include "failed_alloc.h"
#include "stream/journal.h"
#include "unit.h"
#include <fcntl.h>

static struct account account;
static struct journal journal;
static const uint32_t prompt[3] = { 1, 70000, 3 };

static void setup(void)
{
    account = (struct account){ .uid = 1 };
    ck_assert_int_eq(journal_open(&journal, &account), 0);
    ck_assert_int_eq(journal_request(&journal, "sampler", 7), 0);
    ck_assert_int_eq(journal_prompt(&journal, prompt, 3), 0);
    ck_assert_int_eq(journal_numerics(&journal, "1/cpu"), 0);
    ck_assert_int_eq(journal_token(&journal, 42), 0);
    ck_assert_int_eq(journal_token(&journal, 43), 0);
    ck_assert_int_eq(journal_delivered(&journal, 1, 5), 0);
    ck_assert_int_eq(journal_finish(&journal, 3, 0), 0);
}

static void teardown(void)
{
    journal_close(&journal);
}

START_TEST(every_record_comes_back_in_order)
{
    static const enum journal_kind kinds[] = { JOURNAL_REQUEST, JOURNAL_PROMPT,    JOURNAL_NUMERICS, JOURNAL_TOKENS,
                                               JOURNAL_TOKENS,  JOURNAL_DELIVERED, JOURNAL_FINISH };
    struct journal_record record;
    struct buf room;
    uint64_t at = 0;

    buf_init(&room, MEM_STREAM, 1 << 20);
    for (size_t i = 0; i < 7; i++) {
        ck_assert_int_eq(journal_read(journal.fd, &at, &room, &record), JOURNAL_OK);
        ck_assert_int_eq(record.kind, kinds[i]);
    }

    ck_assert_int_eq(journal_read(journal.fd, &at, &room, &record), JOURNAL_END);
    ck_assert_uint_eq(at, journal.n_bytes);
    buf_finish(&room);
}
END_TEST

START_TEST(what_is_known_is_prompt_then_answer)
{
    struct ids ids = { 0 };

    ck_assert_int_eq(journal_known(&journal, &ids), 0);

    ck_assert_uint_eq(ids.n, 5);
    ck_assert_uint_eq(ids.ids[1], 70000);
    ck_assert_uint_eq(ids.ids[3], 42);
    ck_assert_uint_eq(ids.ids[4], 43);
    ids_finish(&ids);
}
END_TEST

START_TEST(what_slid_away_is_known_no_more)
{
    struct ids ids = { 0 };

    ck_assert_int_eq(journal_slide(&journal, 1, 2), 0);
    ck_assert_int_eq(journal_token(&journal, 44), 0);
    ck_assert_int_eq(journal_slide(&journal, 0, 1), 0);
    ck_assert_int_eq(journal_known(&journal, &ids), 0);

    ck_assert_uint_eq(journal.n_slid, 3);
    ck_assert_uint_eq(ids.n, 3);
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(ids.ids[i], 42 + i);
    }
    ids_finish(&ids);
}
END_TEST

START_TEST(a_slide_over_more_than_there_is_is_not_believed)
{
    static const uint32_t slides[][2] = { { 5, 1 }, { 6, 0 }, { 0, 6 }, { UINT32_MAX, UINT32_MAX } };

    ck_assert_int_eq(journal_slide(&journal, slides[_i][0], slides[_i][1]), 0);

    struct ids ids = { 0 };
    ck_assert_int_eq(journal_known(&journal, &ids), JOURNAL_TORN);
    ids_finish(&ids);
}
END_TEST

START_TEST(a_flipped_bit_anywhere_is_noticed)
{
    struct ids ids = { 0 };

    for (uint64_t at = 0; at < journal.n_bytes; at++) {
        uint8_t byte;

        ck_assert_int_eq(pread(journal.fd, &byte, 1, (off_t)at), 1);
        byte ^= 4;
        ck_assert_int_eq(pwrite(journal.fd, &byte, 1, (off_t)at), 1);
        ids.n = 0;
        /* Padding has no meaning, so a change in it is not found. */
        if (journal_known(&journal, &ids) == 0) {
            ck_assert_uint_eq(ids.n, 5);
            ck_assert_uint_eq(ids.ids[1], 70000);
        }
        byte ^= 4;
        ck_assert_int_eq(pwrite(journal.fd, &byte, 1, (off_t)at), 1);
    }
    ids_finish(&ids);
}
END_TEST

START_TEST(a_torn_end_leaves_what_stands_before_it)
{
    struct journal_record record;
    struct buf room;
    uint64_t at = 0;
    uint32_t n = 0;
    int r;

    buf_init(&room, MEM_STREAM, 1 << 20);
    ck_assert_int_eq(ftruncate(journal.fd, (off_t)journal.n_bytes - 3), 0);
    while ((r = journal_read(journal.fd, &at, &room, &record)) == JOURNAL_OK) {
        n++;
    }

    ck_assert_int_eq(r, JOURNAL_TORN);
    ck_assert_uint_eq(n, 6);
    buf_finish(&room);
}
END_TEST

START_TEST(a_later_version_is_foreign)
{
    struct journal_record record;
    struct buf room;
    uint64_t at = 0;
    uint8_t version = 9;

    buf_init(&room, MEM_STREAM, 1 << 20);
    ck_assert_int_eq(pwrite(journal.fd, &version, 1, 4), 1);

    ck_assert_int_eq(journal_read(journal.fd, &at, &room, &record), JOURNAL_FOREIGN);
    buf_finish(&room);
}
END_TEST

START_TEST(its_bytes_are_charged_and_given_back)
{
    struct mem_account before;
    struct mem_account after;

    ck_assert_uint_eq(account.bytes, journal.n_bytes);
    mem_read(MEM_STREAM, &before);
    journal_close(&journal);
    mem_read(MEM_STREAM, &after);

    ck_assert_uint_eq(account.bytes, 0);
    ck_assert_uint_lt(after.bytes, before.bytes);
    ck_assert_uint_eq(after.bytes, 0);
}
END_TEST

static int write_and_read(void *data)
{
    struct journal one = { .fd = -1 };
    struct ids ids = { 0 };
    int r;

    (void)data;
    r = journal_open(&one, &account);
    r = r ? r : journal_request(&one, "sampler", 7);
    r = r ? r : journal_prompt(&one, prompt, 3);
    r = r ? r : journal_token(&one, 42);
    r = r ? r : journal_known(&one, &ids);
    ids_finish(&ids);
    journal_close(&one);
    return r;
}

START_TEST(any_allocation_may_fail_and_nothing_is_lost)
{
    uint64_t before = account.bytes;

    for_each_failed_alloc(write_and_read, NULL);

    ck_assert_uint_eq(account.bytes, before);
}
END_TEST

START_TEST(no_child_inherits_it)
{
    ck_assert(fcntl(journal.fd, F_GETFD) & FD_CLOEXEC);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream-journal");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, every_record_comes_back_in_order);
    tcase_add_test(tcase, what_is_known_is_prompt_then_answer);
    tcase_add_test(tcase, what_slid_away_is_known_no_more);
    tcase_add_loop_test(tcase, a_slide_over_more_than_there_is_is_not_believed, 0, 4);
    tcase_add_test(tcase, a_flipped_bit_anywhere_is_noticed);
    tcase_add_test(tcase, a_torn_end_leaves_what_stands_before_it);
    tcase_add_test(tcase, a_later_version_is_foreign);
    tcase_add_test(tcase, its_bytes_are_charged_and_given_back);
    tcase_add_test(tcase, any_allocation_may_fail_and_nothing_is_lost);
    tcase_add_test(tcase, no_child_inherits_it);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
