/* A first warm-up shows what the chip is: exact curves of one pole. */
#include "govern/reaction.h"
#include "unit.h"
#include <math.h>

/* Warms up a chip of @whole degrees and @lag_s from @below degrees below the aim, with a delay of @late_s. */
static struct reaction warm_up(double below, double whole, double lag_s, double late_s)
{
    struct reaction reaction = { 0 };

    reaction_begin(&reaction, -below);
    for (int i = 1; i < 400; i++) {
        double t = i * 0.05 - late_s;
        double rise = t > 0.0 ? whole * (1.0 - exp(-t / lag_s)) : 0.0;

        if (rise >= below) {
            reaction_end(&reaction);
            break;
        }
        reaction_watch(&reaction, rise - below, 1.0, 0.05);
    }
    return reaction;
}

START_TEST(gain_and_lag_are_found_however_late_the_sensor_is)
{
    for (double lag_s = 4.0; lag_s <= 64.0; lag_s *= 2.0) {
        struct reaction reaction = warm_up(50.0, 80.0, lag_s, 2.0);
        struct reaction_gains gains;

        reaction_settle(&reaction, 50.0, 50.0 / 80.0);
        gains = reaction_gains(&reaction, 0.1);

        ck_assert(reaction.is_known);
        ck_assert_double_eq_tol(reaction.whole, 80.0, 0.01);
        ck_assert_double_eq_tol(gains.lag_s, lag_s, 0.1 * lag_s);
        ck_assert_double_eq_tol(gains.soon, 80.0 * (1.0 - exp(-REACTION_HORIZON_S / lag_s)), 6.0);
    }
}
END_TEST

START_TEST(a_fast_chip_gets_less_of_the_proportional_part_than_a_slow_one)
{
    struct reaction fast = warm_up(50.0, 80.0, 1.0, 2.0);
    struct reaction slow = warm_up(50.0, 80.0, 30.0, 2.0);

    reaction_settle(&fast, 50.0, 50.0 / 80.0);
    reaction_settle(&slow, 50.0, 50.0 / 80.0);

    ck_assert_double_gt(reaction_gains(&slow, 0.5).proportional, 5.0 * reaction_gains(&fast, 0.5).proportional);
    ck_assert_double_lt(80.0 * reaction_gains(&fast, 0.5).proportional, 0.5); /* of the loop */
}
END_TEST

START_TEST(a_hot_start_teaches_nothing_and_gains_stay_relative)
{
    struct reaction reaction = warm_up(5.0, 80.0, 10.0, 1.0);

    reaction_settle(&reaction, 30.0, 0.5);

    ck_assert(!reaction.is_known);
    ck_assert_double_eq_tol(reaction_gains(&reaction, 0.4).integral, 2.0 * reaction_gains(&reaction, 0.2).integral,
                            1e-9);
}
END_TEST

START_TEST(it_is_learnt_once)
{
    struct reaction reaction = warm_up(50.0, 80.0, 10.0, 1.0);

    reaction_settle(&reaction, 50.0, 0.625);
    reaction_begin(&reaction, -30.0);
    reaction_settle(&reaction, 30.0, 0.1);

    ck_assert_double_eq_tol(reaction.whole, 80.0, 0.01);
}
END_TEST

START_TEST(a_start_on_a_warm_chip_after_a_pause_leaves_the_first_curve_what_it_was)
{
    struct reaction reaction = warm_up(28.0, 80.0, 5.0, 2.0);

    reaction_begin(&reaction, -12.0);
    for (double t = 0.0; t < 12.0; t += 0.05) {
        reaction_watch(&reaction, t / 10.0 - 12.0, 0.15, 0.05);
    }
    reaction_settle(&reaction, 28.0, 28.0 / 80.0);

    ck_assert(reaction.is_known);
    ck_assert_double_eq_tol(reaction_gains(&reaction, 0.35).lag_s, 5.0, 1.0);
}
END_TEST

START_TEST(a_warm_up_that_a_pause_ends_early_is_repeated)
{
    struct reaction reaction = { 0 };

    reaction_begin(&reaction, -50.0);
    reaction_watch(&reaction, -49.0, 1.0, 1.0);
    reaction_begin(&reaction, -45.0);

    ck_assert(reaction.is_watched);
    ck_assert_double_eq_tol(reaction.first, -45.0, 1e-9);
}
END_TEST

START_TEST(work_that_takes_little_of_the_time_is_no_step)
{
    struct reaction reaction = { 0 };

    reaction_begin(&reaction, -28.0);
    for (double t = 0.0; t < 12.0; t += 0.05) {
        reaction_watch(&reaction, t / 10.0 - 28.0, 0.05, 0.05);
    }
    reaction_settle(&reaction, 28.0, 0.3);

    ck_assert(!reaction.is_known);
}
END_TEST

/* Begins @below degrees below the aim with gains that were kept, and warms up at the full share. */
static struct reaction warm_up_again(double kept, double whole)
{
    struct reaction reaction = { 0 };

    reaction_keep(&reaction, kept, 10.0);
    reaction_begin(&reaction, -50.0);
    for (double t = 0.05; t < 9.0; t += 0.05) {
        reaction_watch(&reaction, whole * (1.0 - exp(-t / 10.0)) - 50.0, 1.0, 0.05);
    }
    return reaction;
}

START_TEST(kept_gains_hold_with_a_margin_until_this_run_has_its_own)
{
    struct reaction reaction = warm_up_again(60.0, 60.0);

    ck_assert(reaction.is_known);
    ck_assert_double_gt(reaction.whole, 1.2 * 60.0);

    reaction_settle(&reaction, 50.0, 50.0 / 60.0);

    ck_assert(reaction.is_known && !reaction.is_kept);
    ck_assert_double_eq_tol(reaction.whole, 60.0, 0.01);
}
END_TEST

START_TEST(kept_gains_of_a_cooler_chip_are_forgotten_and_this_one_is_learnt)
{
    struct reaction reaction = warm_up_again(30.0, 60.0);

    ck_assert(!reaction.is_known);

    reaction_settle(&reaction, 50.0, 50.0 / 60.0);

    ck_assert_double_eq_tol(reaction.whole, 60.0, 0.01);
    ck_assert_double_eq_tol(reaction.lag_s, 10.0, 1.0);
}
END_TEST

START_TEST(kept_gains_are_forgotten_when_the_first_warm_up_has_to_be_cut)
{
    struct reaction reaction = { 0 };

    reaction_keep(&reaction, 60.0, 10.0);
    reaction_begin(&reaction, -50.0);
    reaction_watch(&reaction, -10.0, 1.0, 1.0);
    reaction_end(&reaction);

    ck_assert(!reaction.is_known);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reaction");
    TCase *facts = tcase_create("facts");

    tcase_add_test(facts, gain_and_lag_are_found_however_late_the_sensor_is);
    tcase_add_test(facts, a_fast_chip_gets_less_of_the_proportional_part_than_a_slow_one);
    tcase_add_test(facts, a_hot_start_teaches_nothing_and_gains_stay_relative);
    tcase_add_test(facts, it_is_learnt_once);
    tcase_add_test(facts, a_start_on_a_warm_chip_after_a_pause_leaves_the_first_curve_what_it_was);
    tcase_add_test(facts, a_warm_up_that_a_pause_ends_early_is_repeated);
    tcase_add_test(facts, work_that_takes_little_of_the_time_is_no_step);
    tcase_add_test(facts, kept_gains_hold_with_a_margin_until_this_run_has_its_own);
    tcase_add_test(facts, kept_gains_of_a_cooler_chip_are_forgotten_and_this_one_is_learnt);
    tcase_add_test(facts, kept_gains_are_forgotten_when_the_first_warm_up_has_to_be_cut);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
