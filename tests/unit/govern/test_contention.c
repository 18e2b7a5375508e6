/* Contention: what waits of our own slices tell of others, at 60 Hz. */
#include "govern/contention.h"
#include "unit.h"

#define FRAME_US 16667.0
#define MS       1000u

static struct contention contention;
static uint64_t now_us;

static void setup(void)
{
    contention = (struct contention){ 0 };
    now_us = 1000000;
}

/* A slice after @pause_us, which waits and then works. */
static void slice(uint64_t pause_us, uint64_t waited_us, uint64_t held_us)
{
    now_us += pause_us + waited_us + held_us;
    contention_sample(&contention, FRAME_US, now_us, held_us, waited_us);
}

static double load(void)
{
    return contention_load(&contention, FRAME_US, now_us);
}

START_TEST(nothing_is_known_before_work)
{
    ck_assert_double_eq(load(), 0.0);
    ck_assert(!contention_is_known(&contention, FRAME_US, now_us));
}
END_TEST

/* Frames of 4 ms, one after each three slices of ours. */
START_TEST(without_pauses_the_share_is_that_of_the_waits)
{
    for (int i = 0; i < 100; i++) {
        slice(0, 4 * MS, 4 * MS);
        slice(0, 0, 4 * MS);
        slice(0, 0, 4 * MS);
    }

    ck_assert_double_ge(load(), 0.22);
    ck_assert_double_le(load(), 0.29);
}
END_TEST

/* Three of ten slices find the GPU busy for a moment more: others have it for 30 % of the time, in small pieces. */
START_TEST(rare_slices_count_how_often_they_find_the_gpu_busy)
{
    for (int i = 0; i < 200; i++) {
        slice(10 * MS, i % 10 < 3 ? 300 : 0, 100);
        if (i % 10 != 9) {
            continue;
        }
        ck_assert_double_le(load(), 0.5);
    }

    ck_assert_double_ge(load(), 0.1);
}
END_TEST

START_TEST(a_few_waits_tell_that_others_draw_again)
{
    for (int i = 0; i < 100; i++) {
        slice(0, 0, 3 * MS);
    }
    ck_assert_double_eq(load(), 0.0);

    for (int i = 0; i < 3; i++) {
        slice(2 * MS, 10 * MS, 2 * MS);
    }

    ck_assert_double_ge(load(), 0.25);
}
END_TEST

START_TEST(work_that_always_waits_has_next_to_nothing)
{
    for (int i = 0; i < 100; i++) {
        slice(10 * MS, 50 * MS, 1 * MS);
    }

    ck_assert_double_ge(load(), 0.9);
    ck_assert_double_le(load(), 1.0);
}
END_TEST

START_TEST(the_way_to_the_gpu_is_no_wait)
{
    for (int i = 0; i < 100; i++) {
        slice(1 * MS, 80, 2 * MS);
    }

    ck_assert_double_eq(load(), 0.0);
    ck_assert(contention_is_known(&contention, FRAME_US, now_us));
}
END_TEST

/* Submissions of 0.3 ms, each met somewhere: a third of the waits can't be told from the way. */
START_TEST(waits_that_are_too_short_are_made_up_for)
{
    for (int i = 0; i < 300; i++) {
        slice(2 * MS, i % 2 == 0 ? (uint64_t)(i / 2 % 15 + 1) * 20 : 0, 100);
    }

    ck_assert_double_ge(load(), 0.4);
    ck_assert_double_le(load(), 0.6);
}
END_TEST

START_TEST(what_is_not_looked_at_again_is_forgotten)
{
    for (int i = 0; i < 100; i++) {
        slice(0, 10 * MS, 2 * MS);
    }
    ck_assert_double_ge(load(), 0.7);

    now_us += 300 * MS;
    ck_assert_double_le(load(), 0.7);
    ck_assert(!contention_is_known(&contention, FRAME_US, now_us));
    now_us += 1000 * MS;
    ck_assert_double_le(load(), 0.01);
}
END_TEST

/* The day before was idle: the first slice of today stands for no more than a frame. */
START_TEST(a_long_pause_is_one_sample)
{
    slice(0, 0, 2 * MS);

    slice(86400u * MS * MS, 4 * MS, 2 * MS);

    ck_assert_double_le(load(), (FRAME_US + 4 * MS) / (FRAME_US + 6 * MS));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("govern-contention");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, setup, NULL);
    tcase_add_test(facts, nothing_is_known_before_work);
    tcase_add_test(facts, without_pauses_the_share_is_that_of_the_waits);
    tcase_add_test(facts, rare_slices_count_how_often_they_find_the_gpu_busy);
    tcase_add_test(facts, a_few_waits_tell_that_others_draw_again);
    tcase_add_test(facts, work_that_always_waits_has_next_to_nothing);
    tcase_add_test(facts, the_way_to_the_gpu_is_no_wait);
    tcase_add_test(facts, waits_that_are_too_short_are_made_up_for);
    tcase_add_test(facts, what_is_not_looked_at_again_is_forgotten);
    tcase_add_test(facts, a_long_pause_is_one_sample);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
