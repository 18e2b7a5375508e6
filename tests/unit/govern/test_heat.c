/* Heat and power: zones, trip points, blind zones, and the ceiling of watts. */
#include "fixture.h"
#include "unit.h"

/* Works for @seconds as much as the cores let it. */
static void work(uint32_t seconds)
{
    for (uint32_t i = 0; i < seconds * (1000000 / FIXTURE_TICK_US); i++) {
        bool runs = governor_lets_run(cores, PRIORITY_BACKGROUND);

        in.held_us[PROCESSOR_CPU] = runs ? (uint64_t)FIXTURE_TICK_US * cores->duty_permille / 1000 : 0;
        fixture_tick(1);
    }
}

/* ---- heat */

START_TEST(a_chip_at_its_passive_trip_does_nothing_for_us)
{
    fixture_heat(0, 95000, 95000, 110000);

    fixture_tick(1);

    ck_assert_int_eq(cores->mode, GOVERNOR_PAUSED);
    ck_assert_int_eq(cores->cause, GOVERNOR_TRIP);
    ck_assert_int_eq(device->mode, GOVERNOR_PAUSED);
}
END_TEST

START_TEST(near_the_critical_trip_only_realtime_works)
{
    const struct governor_policy policy = { .target_mc = 120000 };

    fixture_begin(&policy);
    fixture_heat(0, 60000, GOVERNOR_NO_TRIP, 110000);
    fixture_tick(1);
    fixture_heat(0, 100000, GOVERNOR_NO_TRIP, 110000);
    fixture_tick(1);

    ck_assert_int_eq(cores->class_gate, PRIORITY_REALTIME);
    ck_assert_uint_le(cores->duty_permille, 100);
    fixture_heat(0, 105000, GOVERNOR_NO_TRIP, 110000);
    fixture_tick(1);
    ck_assert_uint_eq(cores->duty_permille, 0);
}
END_TEST

START_TEST(the_critical_gate_opens_only_well_below)
{
    const struct governor_policy policy = { .target_mc = 120000 };

    fixture_begin(&policy);
    fixture_heat(0, 60000, GOVERNOR_NO_TRIP, 110000);
    fixture_tick(1);
    fixture_heat(0, 100000, GOVERNOR_NO_TRIP, 110000);
    fixture_tick(1);
    fixture_heat(0, 98000, GOVERNOR_NO_TRIP, 110000);
    fixture_tick(20);
    ck_assert_int_eq(cores->class_gate, PRIORITY_REALTIME);

    fixture_heat(0, 96000, GOVERNOR_NO_TRIP, 110000);
    work(60);
    ck_assert_int_lt(cores->class_gate, PRIORITY_REALTIME);
}
END_TEST

START_TEST(an_unset_trip_is_no_limit_and_frost_is_fine)
{
    fixture_heat(0, -30000, GOVERNOR_NO_TRIP, GOVERNOR_NO_TRIP);

    fixture_tick(10);

    ck_assert_uint_eq(cores->duty_permille, 1000);
}
END_TEST

START_TEST(the_zone_nearest_to_its_own_target_decides)
{
    fixture_heat(0, 80000, 105000, GOVERNOR_NO_TRIP); /* hotter, but far from its trip point */
    fixture_heat(1, 62000, 65000, GOVERNOR_NO_TRIP);

    fixture_tick(1);

    ck_assert_int_eq(cores->class_gate, PRIORITY_REALTIME);
    ck_assert_int_eq(cores->cause, GOVERNOR_HEAT);
}
END_TEST

START_TEST(above_its_target_a_chip_leaves_realtime_what_warms_it_by_a_degree_and_a_half)
{
    const double whole = governor.heat.thermostat.reaction.whole;

    fixture_heat(0, 94000, 95000, 110000);
    fixture_tick(100);

    ck_assert_int_eq(cores->mode, GOVERNOR_THIN);
    ck_assert_int_eq(cores->class_gate, PRIORITY_REALTIME);
    ck_assert_double_le(cores->duty_permille * whole, 1500.0);
    ck_assert_uint_ge(cores->duty_permille, 50);
}
END_TEST

START_TEST(a_chip_that_is_not_known_leaves_realtime_less)
{
    const struct governor_policy none = { 0 };

    governor_init(&governor, &none);
    fixture_heat(0, 94000, 95000, 110000);
    fixture_tick(100);

    ck_assert_int_eq(cores->class_gate, PRIORITY_REALTIME);
    ck_assert_uint_eq(cores->duty_permille, 7);
}
END_TEST

START_TEST(policy_may_leave_realtime_more_but_a_tenth_at_most_where_heat_is_not_seen_and_nothing_at_a_trip)
{
    const struct governor_policy policy = { .min_share_permille = 300 };

    fixture_begin(&policy);
    fixture_heat(0, 94000, 95000, 110000);
    fixture_tick(1);
    ck_assert_uint_eq(cores->duty_permille, 300);
    in.zones[0].sight = GOVERNOR_BLIND;
    fixture_tick(100);
    ck_assert_uint_eq(cores->duty_permille, 100);

    fixture_heat(0, 95000, 95000, 110000);
    fixture_tick(1);
    ck_assert_uint_eq(cores->duty_permille, 0);
}
END_TEST

START_TEST(after_a_hot_start_all_work_comes_back_though_nothing_is_known_of_the_chip)
{
    const struct governor_policy none = { 0 };

    governor_init(&governor, &none);
    fixture_heat(0, 100000, 95000, 110000);
    fixture_tick(20 * 60);
    fixture_heat(0, 80000, 95000, 110000);
    work(30);

    ck_assert_int_eq(cores->class_gate, PRIORITY_BACKGROUND);
    ck_assert_uint_gt(cores->duty_permille, 50);
}
END_TEST

START_TEST(a_policy_cannot_aim_at_the_trip)
{
    const struct governor_policy policy = { .target_mc = 200000 };

    fixture_begin(&policy);
    fixture_heat(0, 94000, 95000, GOVERNOR_NO_TRIP);
    fixture_tick(1);

    ck_assert_int_eq(cores->class_gate, PRIORITY_REALTIME);
}
END_TEST

START_TEST(a_zone_that_vanishes_is_hot_after_its_grace)
{
    fixture_heat(0, 50000, 95000, 110000);
    fixture_tick(5);
    in.zones[0].sight = GOVERNOR_BLIND;

    fixture_tick(50);
    ck_assert_uint_eq(cores->duty_permille, 1000);
    fixture_tick(20);

    ck_assert_uint_le(cores->duty_permille, 100);
    ck_assert_int_eq(cores->cause, GOVERNOR_BLIND_HEAT);
}
END_TEST

START_TEST(a_zone_that_vanishes_in_a_first_approach_leaves_all_classes_half_of_the_share)
{
    const struct governor_policy none = { 0 };

    governor_init(&governor, &none);
    fixture_heat(0, 45000, 66000, 110000);
    fixture_tick(5);
    in.zones[0].sight = GOVERNOR_BLIND;

    fixture_tick(100);

    ck_assert_int_eq(cores->cause, GOVERNOR_BLIND_HEAT);
    ck_assert_int_eq(cores->class_gate, PRIORITY_BACKGROUND);
    ck_assert_uint_le(cores->duty_permille, 100);
}
END_TEST

START_TEST(nonsense_is_as_not_seen)
{
    fixture_heat(0, 50000, 95000, 110000);
    fixture_tick(5);
    in.zones[0].temp_mc = -650788984;

    fixture_tick(50);
    ck_assert_uint_eq(cores->duty_permille, 1000);
    fixture_tick(20);
    ck_assert_int_eq(cores->cause, GOVERNOR_BLIND_HEAT);
}
END_TEST

START_TEST(a_zone_that_is_read_again_is_believed)
{
    fixture_heat(0, 50000, 95000, 110000);
    in.zones[0].sight = GOVERNOR_BLIND;
    fixture_tick(100);
    in.zones[0].sight = GOVERNOR_SEEN;

    fixture_tick(22);

    ck_assert_uint_eq(cores->duty_permille, 1000);
    ck_assert_int_eq(cores->mode, GOVERNOR_FULL);
}
END_TEST

static void throttle(enum governor_sight sight, uint32_t state, uint32_t most)
{
    in.throttle.sight = sight;
    in.throttle.state = state;
    in.throttle.most = most;
    fixture_tick(1);
}

START_TEST(a_gpu_that_the_kernel_slows_down_has_less_for_us_with_each_state)
{
    fixture_heat(0, 50000, 95000, 110000);
    throttle(GOVERNOR_SEEN, 0, 4);
    ck_assert_uint_eq(cores->duty_permille, 1000);

    throttle(GOVERNOR_SEEN, 1, 4);
    ck_assert_uint_eq(device->duty_permille, 375);
    ck_assert_uint_eq(cores->duty_permille, 375);
    ck_assert_int_eq(cores->cause, GOVERNOR_TRIP);
    throttle(GOVERNOR_SEEN, 3, 4);
    ck_assert_uint_eq(device->duty_permille, 125);
    throttle(GOVERNOR_SEEN, 4, 4);
    ck_assert_int_eq(device->mode, GOVERNOR_PAUSED);
    throttle(GOVERNOR_SEEN, 0, 4);
    ck_assert_uint_eq(device->duty_permille, 1000);
}
END_TEST

START_TEST(a_state_of_unknown_depth_is_in_the_middle_and_one_beyond_the_deepest_is_the_deepest)
{
    throttle(GOVERNOR_SEEN, UINT32_MAX, 0);
    ck_assert_uint_eq(device->duty_permille, 250);
    throttle(GOVERNOR_SEEN, UINT32_MAX, 3);
    ck_assert_uint_eq(device->duty_permille, 0);
}
END_TEST

START_TEST(a_throttle_that_is_not_seen_any_more_holds_save_at_a_desk)
{
    const struct governor_policy desk = { .trusts_blind = true };

    throttle(GOVERNOR_SEEN, 1, 2);
    throttle(GOVERNOR_BLIND, 1, 2);
    fixture_tick(200);
    ck_assert_uint_eq(device->duty_permille, 250);

    governor_configure(&governor, &desk);
    fixture_tick(1);
    ck_assert_uint_eq(device->duty_permille, 1000);
}
END_TEST

START_TEST(pauses_are_short_however_small_the_share)
{
    const struct governor_policy policy = { .power_mw = 1000 };

    fixture_begin(&policy);
    in.power.sight = GOVERNOR_SEEN;
    in.power.mw = 3000;
    fixture_tick(40);

    ck_assert_uint_gt(cores->duty_permille, 0);
    ck_assert_uint_lt(cores->duty_permille, 500);
    ck_assert_uint_le(cores->slice_us * (1000 - cores->duty_permille) / cores->duty_permille, 200000);
}
END_TEST

/* ---- power */

/* Runs a chip of 2 W that takes @ours_mw more at a full share. */
static void run_meter(uint32_t n, double others_mw, double ours_mw)
{
    in.power.sight = GOVERNOR_SEEN;
    for (uint32_t i = 0; i < n; i++) {
        double used = cores->duty_permille / 1000.0;

        in.held_us[PROCESSOR_CPU] = (uint64_t)(used * FIXTURE_TICK_US);
        in.power.mw = (uint32_t)(others_mw + ours_mw * used);
        fixture_tick(1);
    }
}

START_TEST(the_ceiling_of_power_is_held)
{
    const struct governor_policy policy = { .power_mw = 5000 };

    fixture_begin(&policy);
    run_meter(400, 2000, 6000);

    ck_assert_uint_ge(cores->duty_permille, 480);
    ck_assert_uint_le(cores->duty_permille, 520);
    ck_assert_int_eq(cores->cause, GOVERNOR_POWER);
}
END_TEST

START_TEST(a_meter_that_is_gone_leaves_half)
{
    const struct governor_policy policy = { .power_mw = 5000 };

    fixture_begin(&policy);
    run_meter(400, 2000, 6000);
    in.power.sight = GOVERNOR_BLIND;
    fixture_tick(70);

    ck_assert_uint_ge(cores->duty_permille, 240);
    ck_assert_uint_le(cores->duty_permille, 260);
}
END_TEST

START_TEST(the_watts_of_a_share_are_found_from_how_the_meter_follows)
{
    struct watts watts;
    struct governor_bound bound;
    const struct governor_policy policy = { 0 };

    watts_init(&watts);
    in.power.sight = GOVERNOR_SEEN;
    for (uint32_t i = 0; i < 400; i++) {
        double used = i / 40 % 2 ? 0.9 : 0.1;

        in.now_us += FIXTURE_TICK_US;
        in.power.at_us = in.now_us;
        in.power.mw = (uint32_t)(1500.0 + 4000.0 * watts.used);
        watts_tick(&watts, &policy, &in, 0.05, used, &bound);
    }

    ck_assert_double_gt(watts.ours_mw, 3400.0);
    ck_assert_double_lt(watts.ours_mw, 4600.0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("heat");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, fixture_setup, NULL);
    tcase_add_test(facts, a_chip_at_its_passive_trip_does_nothing_for_us);
    tcase_add_test(facts, near_the_critical_trip_only_realtime_works);
    tcase_add_test(facts, the_critical_gate_opens_only_well_below);
    tcase_add_test(facts, an_unset_trip_is_no_limit_and_frost_is_fine);
    tcase_add_test(facts, the_zone_nearest_to_its_own_target_decides);
    tcase_add_test(facts, a_policy_cannot_aim_at_the_trip);
    tcase_add_test(facts, above_its_target_a_chip_leaves_realtime_what_warms_it_by_a_degree_and_a_half);
    tcase_add_test(facts, a_chip_that_is_not_known_leaves_realtime_less);
    tcase_add_test(facts,
                   policy_may_leave_realtime_more_but_a_tenth_at_most_where_heat_is_not_seen_and_nothing_at_a_trip);
    tcase_add_test(facts, after_a_hot_start_all_work_comes_back_though_nothing_is_known_of_the_chip);
    tcase_add_test(facts, a_zone_that_vanishes_is_hot_after_its_grace);
    tcase_add_test(facts, a_zone_that_vanishes_in_a_first_approach_leaves_all_classes_half_of_the_share);
    tcase_add_test(facts, nonsense_is_as_not_seen);
    tcase_add_test(facts, a_zone_that_is_read_again_is_believed);
    tcase_add_test(facts, pauses_are_short_however_small_the_share);
    tcase_add_test(facts, the_ceiling_of_power_is_held);
    tcase_add_test(facts, a_meter_that_is_gone_leaves_half);
    tcase_add_test(facts, the_watts_of_a_share_are_found_from_how_the_meter_follows);
    tcase_add_test(facts, a_gpu_that_the_kernel_slows_down_has_less_for_us_with_each_state);
    tcase_add_test(facts, a_state_of_unknown_depth_is_in_the_middle_and_one_beyond_the_deepest_is_the_deepest);
    tcase_add_test(facts, a_throttle_that_is_not_seen_any_more_holds_save_at_a_desk);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
