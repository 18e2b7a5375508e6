/* A GPU that reports no load: what our own waiting does to slices and duty. */
#include "fixture.h"
#include "unit.h"

/* Works for @n ticks in slices of 2 ms, of which each waited for @waited_us. */
static void work(uint32_t n, uint32_t waited_us)
{
    in.graphics.sight = GOVERNOR_UNTOLD;
    for (uint32_t i = 0; i < n; i++) {
        for (uint64_t at_us = 2000 + waited_us; at_us < FIXTURE_TICK_US; at_us += 2000 + waited_us) {
            governor_on_slice(&governor, in.now_us + at_us, 2000, waited_us);
        }
        fixture_tick(1);
    }
}

START_TEST(a_load_that_is_not_told_is_neither_idle_nor_lost_before_our_work_shows_it)
{
    in.graphics.sight = GOVERNOR_UNTOLD;

    fixture_tick(100);

    ck_assert_uint_le(device->slice_us, 750);
    ck_assert_uint_ge(device->slice_us, 375);
    ck_assert_uint_eq(device->duty_permille, 900);
    ck_assert_int_eq(device->cause, GOVERNOR_CONTENTION);
}
END_TEST

START_TEST(work_that_never_waits_has_the_gpu_for_itself_in_slices_that_any_frame_has_room_for)
{
    work(40, 0);

    ck_assert_uint_eq(device->slice_us, 1666);
    ck_assert_uint_eq(device->duty_permille, 1000);
    ck_assert_int_eq(device->cause, GOVERNOR_FREE);
}
END_TEST

START_TEST(slices_differ_from_tick_to_tick_so_that_pauses_fall_into_no_step)
{
    uint32_t first;
    uint32_t second;

    in.graphics.sight = GOVERNOR_UNTOLD;
    fixture_tick(1);
    first = device->slice_us;
    fixture_tick(1);
    second = device->slice_us;
    fixture_tick(1);

    ck_assert_uint_ne(first, second);
    ck_assert_uint_ne(first, device->slice_us);
    ck_assert_uint_ne(second, device->slice_us);
    ck_assert_uint_eq(first + second + device->slice_us, 750 + 562 + 375);
}
END_TEST

START_TEST(work_that_waits_leaves_the_time_that_others_had)
{
    work(40, 0);

    work(10, 3000); /* three fifths are others' */

    ck_assert_uint_ge(device->duty_permille, 290);
    ck_assert_uint_le(device->duty_permille, 420);
    ck_assert_uint_le(device->slice_us, 750);
    ck_assert_int_eq(device->cause, GOVERNOR_CONTENTION);
}
END_TEST

START_TEST(the_first_slice_that_waits_makes_the_next_ones_short)
{
    work(40, 0);

    governor_on_slice(&governor, in.now_us + 20000, 2000, 12000);
    fixture_tick(1);

    ck_assert_uint_le(device->slice_us, 750);
    ck_assert_uint_le(device->duty_permille, 850);
    ck_assert_int_eq(device->cause, GOVERNOR_CONTENTION);
}
END_TEST

START_TEST(after_a_full_screen_a_slice_looks_again)
{
    work(10, 18000);
    ck_assert_uint_lt(device->duty_permille, 100);

    fixture_tick(40);

    ck_assert_uint_gt(device->duty_permille, 500);
    ck_assert_uint_ge(device->slice_us, 375);
}
END_TEST

START_TEST(a_hint_holds_where_no_load_is_told)
{
    work(40, 0);
    in.hint.at_us = in.now_us;
    in.hint.busy_until_us = in.now_us + 1000000;

    fixture_tick(1);

    ck_assert_uint_eq(device->duty_permille, 0);
    ck_assert_int_eq(device->cause, GOVERNOR_HINT);
}
END_TEST

START_TEST(waiting_shows_nothing_where_there_is_no_gpu)
{
    work(40, 3000);
    in.graphics.sight = GOVERNOR_NONE;

    fixture_tick(40);

    ck_assert_uint_eq(device->duty_permille, 1000);
    ck_assert_uint_eq(device->slice_us, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("untold");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, fixture_setup, NULL);
    tcase_add_test(facts, a_load_that_is_not_told_is_neither_idle_nor_lost_before_our_work_shows_it);
    tcase_add_test(facts, work_that_never_waits_has_the_gpu_for_itself_in_slices_that_any_frame_has_room_for);
    tcase_add_test(facts, slices_differ_from_tick_to_tick_so_that_pauses_fall_into_no_step);
    tcase_add_test(facts, work_that_waits_leaves_the_time_that_others_had);
    tcase_add_test(facts, the_first_slice_that_waits_makes_the_next_ones_short);
    tcase_add_test(facts, after_a_full_screen_a_slice_looks_again);
    tcase_add_test(facts, a_hint_holds_where_no_load_is_told);
    tcase_add_test(facts, waiting_shows_nothing_where_there_is_no_gpu);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
