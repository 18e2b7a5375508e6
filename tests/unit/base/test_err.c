/* The trail of a fault, and outcomes that no caller handled. */
#include "base/err.h"
#include "unit.h"
#include <errno.h>
#include <string.h>

START_TEST(new_fault_is_returned_unchanged)
{
    ck_assert_int_eq(err_born(-EIO, "a.c", 1), -EIO);
}
END_TEST

START_TEST(trail_names_places_oldest_first_without_folders)
{
    char text[100];

    err_born(-EIO, "../daemon/stream/stream.c", 210);
    err_passed(-EIO, "conn.c", 77);

    ck_assert_str_eq(err_trail(text, sizeof(text)), "stream.c:210 < conn.c:77");
}
END_TEST

START_TEST(new_fault_starts_a_new_trail)
{
    char text[100];

    err_born(-EIO, "old.c", 1);
    err_born(-ENOMEM, "new.c", 2);

    ck_assert_str_eq(err_trail(text, sizeof(text)), "new.c:2");
}
END_TEST

START_TEST(success_passes_without_a_trace)
{
    char text[100];

    err_born(-EIO, "old.c", 1);

    ck_assert_int_eq(err_passed(0, "new.c", 2), 0);
    ck_assert_str_eq(err_trail(text, sizeof(text)), "old.c:1");
}
END_TEST

START_TEST(forgotten_outcome_becomes_a_fault_that_says_where)
{
    char text[100];

    ck_assert_int_eq(err_passed(3, "caller.c", 9), -ENOTRECOVERABLE);
    ck_assert_str_eq(err_trail(text, sizeof(text)), "caller.c:9");
}
END_TEST

START_TEST(pass_returns_outcomes_unchanged_and_traces_faults)
{
    int outcome = 3;
    int fault = -EIO;
    char text[100];

    err_born(-EIO, "birth.c", 1);

    ck_assert_int_eq(err_pass(outcome), 3);
    ck_assert_str_eq(err_trail(text, sizeof(text)), "birth.c:1");
    ck_assert_int_eq(err_pass(fault), -EIO);
    ck_assert_ptr_nonnull(strstr(err_trail(text, sizeof(text)), "birth.c:1 < test_err.c:"));
}
END_TEST

START_TEST(fault_of_a_library_starts_where_it_was_first_seen)
{
    char text[100];

    err_born(-EIO, "old.c", 1);

    ck_assert_int_eq(err_passed(-EPIPE, "uv.c", 5), -EPIPE);
    ck_assert_str_eq(err_trail(text, sizeof(text)), "uv.c:5");
}
END_TEST

START_TEST(long_trail_keeps_its_birthplace_and_the_newest)
{
    char text[1000];

    err_born(-EIO, "birth.c", 1);
    for (int i = 0; i < 100; i++) {
        err_passed(-EIO, "way.c", i);
    }
    err_trail(text, sizeof(text));

    ck_assert_ptr_eq(strstr(text, "birth.c:1"), text);
    ck_assert_ptr_nonnull(strstr(text, "way.c:99"));
}
END_TEST

START_TEST(trail_is_cut_to_the_room_it_gets)
{
    char text[8];

    err_born(-EIO, "stream.c", 210);

    ck_assert_str_eq(err_trail(text, sizeof(text)), "stream.");
}
END_TEST

int main(void)
{
    return unit_facts("err", new_fault_is_returned_unchanged, trail_names_places_oldest_first_without_folders,
                      new_fault_starts_a_new_trail, success_passes_without_a_trace,
                      forgotten_outcome_becomes_a_fault_that_says_where,
                      pass_returns_outcomes_unchanged_and_traces_faults,
                      fault_of_a_library_starts_where_it_was_first_seen, long_trail_keeps_its_birthplace_and_the_newest,
                      trail_is_cut_to_the_room_it_gets);
}
