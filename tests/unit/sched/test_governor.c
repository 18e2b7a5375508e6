/* What is known of the machine in, limits out: each reason alone, and which of them wins. */
#include "sched/governor.h"
#include "unit.h"

#define TICK_US 50000u

static struct governor governor;
static struct governor_input in;

static const struct governor_limits *device = &governor.limits[GOVERNOR_DEVICE];
static const struct governor_limits *cores = &governor.limits[GOVERNOR_CORES];

static void begin(const struct governor_policy *policy)
{
    governor_init(&governor, policy);
    in = (struct governor_input){ .now_us = 1000000 };
}

static void setup(void)
{
    const struct governor_policy none = { 0 };

    begin(&none);
}

/* Ticks with what stands in `in`; what is seen is seen anew each time. True: something was worth an event. */
static bool tick(uint32_t n)
{
    bool changed = false;

    for (uint32_t i = 0; i < n; i++) {
        in.now_us += TICK_US;
        if (in.graphics.sight == GOVERNOR_SEEN) {
            in.graphics.at_us = in.now_us;
        }
        if (in.power.sight == GOVERNOR_SEEN) {
            in.power.at_us = in.now_us;
        }
        for (uint32_t z = 0; z < in.n_zones; z++) {
            if (in.zones[z].sight == GOVERNOR_SEEN) {
                in.zones[z].at_us = in.now_us;
            }
        }
        changed |= governor_tick(&governor, &in);
    }
    return changed;
}

static void draw(uint32_t busy_permille)
{
    in.graphics.sight = GOVERNOR_SEEN;
    in.graphics.busy_permille = busy_permille;
}

static void heat_zone(uint32_t i, int32_t temp_mc, int32_t passive_mc, int32_t critical_mc)
{
    in.zones[i] = (struct governor_zone){
        .sight = GOVERNOR_SEEN, .temp_mc = temp_mc, .passive_mc = passive_mc, .critical_mc = critical_mc
    };
    in.n_zones = i + 1 > in.n_zones ? i + 1 : in.n_zones;
}

/* ---- nothing to protect */

START_TEST(a_machine_without_sensors_and_screen_is_ours)
{
    ck_assert(!tick(1));

    ck_assert_int_eq(device->mode, GOVERNOR_FULL);
    ck_assert_uint_eq(device->duty_permille, 1000);
    ck_assert_uint_eq(device->slice_us, 0);
    ck_assert_uint_eq(cores->duty_permille, 1000);
    ck_assert_uint_eq(cores->slice_us, 0);
    ck_assert_uint_eq(cores->kv_permille, 1000);
}
END_TEST

/* ---- graphics */

START_TEST(a_load_is_met_in_the_same_tick)
{
    draw(0);
    tick(2);
    draw(600);

    ck_assert(tick(1));

    ck_assert_int_eq(device->mode, GOVERNOR_SHARED);
    ck_assert_int_eq(device->cause, GOVERNOR_GRAPHICS);
    ck_assert_uint_eq(device->duty_permille, 300); /* 1 - 0.6 - a tenth */
    ck_assert_uint_eq(device->slice_us, 2000);
}
END_TEST

START_TEST(the_slice_is_half_of_what_a_frame_leaves)
{
    draw(850);

    tick(1);

    ck_assert_uint_eq(device->slice_us, 1250); /* 0.15 of 16.667 ms, half */
}
END_TEST

START_TEST(a_load_that_falls_is_believed_over_100_ms)
{
    draw(800);
    tick(1);
    draw(0);

    tick(1);
    ck_assert_uint_lt(device->duty_permille, 500);
    tick(9);
    ck_assert_uint_gt(device->duty_permille, 880);
}
END_TEST

START_TEST(a_load_at_half_the_clock_is_half_a_load)
{
    draw(800);
    in.graphics.cur_hz = 400000000;
    in.graphics.max_hz = 800000000;

    tick(1);

    ck_assert_uint_eq(device->duty_permille, 500);
}
END_TEST

START_TEST(a_share_that_may_not_be_seen_counts_as_busy)
{
    draw(300);
    in.graphics.blind_permille = 400;

    tick(1);

    ck_assert_uint_le(device->duty_permille, 200);
    ck_assert_uint_ge(device->duty_permille, 199);
}
END_TEST

START_TEST(a_screen_that_stands_still_leaves_longer_slices_and_no_pause)
{
    draw(0);

    tick(1);

    ck_assert_int_eq(device->mode, GOVERNOR_FULL);
    ck_assert_uint_eq(device->duty_permille, 1000);
    ck_assert_uint_eq(device->slice_us, 20000);
}
END_TEST

START_TEST(no_policy_makes_a_slice_longer_than_a_fifth_of_a_hang)
{
    const struct governor_policy policy = { .idle_slice_us = 900000, .max_slice_us = 900000 };

    begin(&policy);
    draw(0);
    tick(1);

    ck_assert_uint_eq(device->slice_us, 100000);
}
END_TEST

START_TEST(graphics_leave_the_cores_alone)
{
    draw(900);

    tick(1);

    ck_assert_uint_eq(cores->duty_permille, 1000);
    ck_assert_uint_eq(cores->slice_us, 0);
}
END_TEST

START_TEST(cores_that_share_the_memory_are_bound_as_the_device)
{
    const struct governor_policy policy = { .cores_share = true };

    begin(&policy);
    draw(600);
    tick(1);

    ck_assert_uint_eq(cores->duty_permille, 300);
    ck_assert_uint_eq(cores->slice_us, 2000);
}
END_TEST

START_TEST(a_full_screen_leaves_nothing)
{
    draw(950);

    tick(1);

    ck_assert_int_eq(device->mode, GOVERNOR_PAUSED);
    ck_assert_uint_eq(device->duty_permille, 0);
}
END_TEST

START_TEST(a_least_share_is_for_realtime_alone)
{
    const struct governor_policy policy = { .min_share_permille = 80 };

    begin(&policy);
    draw(940);
    tick(1);

    ck_assert_int_eq(device->mode, GOVERNOR_THIN);
    ck_assert_uint_eq(device->duty_permille, 80);
    ck_assert_int_eq(device->class_gate, SCHED_REALTIME);
}
END_TEST

START_TEST(after_200_ms_without_room_the_cores_take_over)
{
    draw(1000);

    tick(4);
    ck_assert_int_eq(device->mode, GOVERNOR_PAUSED);
    tick(1);

    ck_assert_int_eq(device->mode, GOVERNOR_CPU);
}
END_TEST

START_TEST(cores_that_are_too_hot_do_not_take_over)
{
    draw(1000);
    heat_zone(0, 96000, 95000, 110000);

    tick(40);

    ck_assert_int_eq(device->mode, GOVERNOR_PAUSED);
}
END_TEST

START_TEST(where_no_load_is_told_our_own_delay_tells)
{
    in.delay_permille = 2500;

    tick(1);

    ck_assert_uint_eq(device->duty_permille, 300); /* 1 - 1/2.5 = 0.6 are others' */
}
END_TEST

START_TEST(a_little_delay_is_no_load)
{
    in.delay_permille = 1200;

    tick(1);

    ck_assert_uint_eq(device->duty_permille, 1000);
}
END_TEST

START_TEST(a_load_not_seen_any_more_is_busy_after_its_grace)
{
    draw(100);
    tick(2);
    in.graphics.sight = GOVERNOR_BLIND;

    tick(15);
    ck_assert_uint_gt(device->duty_permille, 700);
    tick(10);

    ck_assert_uint_eq(device->duty_permille, 0);
    ck_assert_int_eq(device->cause, GOVERNOR_BLIND_GRAPHICS);
}
END_TEST

START_TEST(a_load_that_hangs_is_as_one_not_seen)
{
    draw(100);
    tick(2);

    for (int i = 0; i < 30; i++) {
        in.now_us += TICK_US; /* seen, but of old */
        governor_tick(&governor, &in);
    }

    ck_assert_int_eq(device->cause, GOVERNOR_BLIND_GRAPHICS);
}
END_TEST

START_TEST(a_desk_trusts_what_it_does_not_see)
{
    const struct governor_policy policy = { .trusts_blind = true };

    begin(&policy);
    in.graphics.sight = GOVERNOR_BLIND;
    in.zones[0] = (struct governor_zone){ .sight = GOVERNOR_BLIND,
                                          .passive_mc = GOVERNOR_NO_TRIP,
                                          .critical_mc = GOVERNOR_NO_TRIP };
    in.n_zones = 1;
    tick(100);

    ck_assert_uint_eq(device->duty_permille, 1000);
    ck_assert_uint_eq(cores->duty_permille, 1000);
}
END_TEST

/* ---- hints */

START_TEST(a_missed_frame_halves_slice_and_duty_at_once)
{
    draw(500);
    in.hint.at_us = in.now_us;
    tick(1);
    in.hint.n_missed = 1;
    tick(1);
    in.hint.n_missed = 0;

    ck_assert_uint_eq(device->slice_us, 1000);
    ck_assert_uint_eq(device->duty_permille, 200);
    tick(10);
    ck_assert_int_eq(device->cause, GOVERNOR_HINT);
}
END_TEST

START_TEST(courage_comes_back_slowly)
{
    draw(500);
    in.hint.at_us = in.now_us;
    in.hint.n_missed = 8;
    tick(1);
    in.hint.n_missed = 0;

    tick(20);
    ck_assert_uint_lt(device->slice_us, 600);
    tick(1200);
    ck_assert_uint_eq(device->slice_us, 2000);
}
END_TEST

START_TEST(busy_until_holds_until_then)
{
    in.hint.at_us = in.now_us;
    in.hint.busy_until_us = in.now_us + 1000000;

    tick(1);
    ck_assert_uint_eq(device->duty_permille, 0);
    tick(45);
    ck_assert_uint_eq(device->duty_permille, 1000);
}
END_TEST

START_TEST(a_compositor_that_speaks_is_never_kept_waiting_for_more_than_half_a_frame)
{
    in.hint.at_us = in.now_us;
    in.hint.frame_us = 11111;
    draw(0);

    tick(30);

    ck_assert_uint_eq(device->slice_us, 5555);
}
END_TEST

/* ---- heat */

START_TEST(a_chip_at_its_passive_trip_does_nothing_for_us)
{
    heat_zone(0, 95000, 95000, 110000);

    tick(1);

    ck_assert_int_eq(cores->mode, GOVERNOR_PAUSED);
    ck_assert_int_eq(cores->cause, GOVERNOR_TRIP);
    ck_assert_int_eq(device->mode, GOVERNOR_PAUSED);
}
END_TEST

START_TEST(near_the_critical_trip_only_realtime_works)
{
    const struct governor_policy policy = { .target_mc = 120000 };

    begin(&policy);
    heat_zone(0, 60000, GOVERNOR_NO_TRIP, 110000);
    tick(1);
    heat_zone(0, 100000, GOVERNOR_NO_TRIP, 110000);
    tick(1);

    ck_assert_int_eq(cores->class_gate, SCHED_REALTIME);
    ck_assert_uint_le(cores->duty_permille, 100);
    heat_zone(0, 105000, GOVERNOR_NO_TRIP, 110000);
    tick(1);
    ck_assert_uint_eq(cores->duty_permille, 0);
}
END_TEST

START_TEST(the_critical_gate_opens_only_well_below)
{
    const struct governor_policy policy = { .target_mc = 120000 };

    begin(&policy);
    heat_zone(0, 60000, GOVERNOR_NO_TRIP, 110000);
    tick(1);
    heat_zone(0, 100000, GOVERNOR_NO_TRIP, 110000);
    tick(1);
    heat_zone(0, 98000, GOVERNOR_NO_TRIP, 110000);
    tick(20);
    ck_assert_int_eq(cores->class_gate, SCHED_REALTIME);

    heat_zone(0, 96000, GOVERNOR_NO_TRIP, 110000);
    tick(20);
    ck_assert_int_lt(cores->class_gate, SCHED_REALTIME);
}
END_TEST

START_TEST(an_unset_trip_is_no_limit_and_frost_is_fine)
{
    heat_zone(0, -30000, GOVERNOR_NO_TRIP, GOVERNOR_NO_TRIP);

    tick(10);

    ck_assert_uint_eq(cores->duty_permille, 1000);
}
END_TEST

START_TEST(the_zone_nearest_to_its_own_target_decides)
{
    heat_zone(0, 80000, 105000, GOVERNOR_NO_TRIP); /* hotter, and far from its trip */
    heat_zone(1, 62000, 65000, GOVERNOR_NO_TRIP);

    tick(1);

    ck_assert_uint_eq(cores->duty_permille, 0);
    ck_assert_int_eq(cores->cause, GOVERNOR_HEAT);
}
END_TEST

START_TEST(a_policy_cannot_aim_at_the_trip)
{
    const struct governor_policy policy = { .target_mc = 200000 };

    begin(&policy);
    heat_zone(0, 94000, 95000, GOVERNOR_NO_TRIP);
    tick(1);

    ck_assert_uint_eq(cores->duty_permille, 0);
}
END_TEST

START_TEST(a_zone_that_vanishes_is_hot_after_its_grace)
{
    heat_zone(0, 50000, 95000, 110000);
    tick(5);
    in.zones[0].sight = GOVERNOR_BLIND;

    tick(50);
    ck_assert_uint_eq(cores->duty_permille, 1000);
    tick(20);

    ck_assert_uint_le(cores->duty_permille, 100);
    ck_assert_int_eq(cores->cause, GOVERNOR_BLIND_HEAT);
}
END_TEST

START_TEST(nonsense_is_as_not_seen)
{
    heat_zone(0, 50000, 95000, 110000);
    tick(5);
    in.zones[0].temp_mc = -650788984;

    tick(50);
    ck_assert_uint_eq(cores->duty_permille, 1000);
    tick(20);
    ck_assert_int_eq(cores->cause, GOVERNOR_BLIND_HEAT);
}
END_TEST

START_TEST(a_zone_that_comes_back_is_believed)
{
    heat_zone(0, 50000, 95000, 110000);
    in.zones[0].sight = GOVERNOR_BLIND;
    tick(100);
    in.zones[0].sight = GOVERNOR_SEEN;

    tick(11);

    ck_assert_uint_eq(cores->duty_permille, 1000);
    ck_assert_int_eq(cores->mode, GOVERNOR_FULL);
}
END_TEST

START_TEST(pauses_are_short_however_small_the_share)
{
    const struct governor_policy policy = { .power_mw = 1000 };

    begin(&policy);
    in.power.sight = GOVERNOR_SEEN;
    in.power.mw = 3000;
    tick(40);

    ck_assert_uint_gt(cores->duty_permille, 0);
    ck_assert_uint_lt(cores->duty_permille, 500);
    ck_assert_uint_le(cores->slice_us * (1000 - cores->duty_permille) / cores->duty_permille, 200000);
}
END_TEST

/* ---- power */

/* A chip of 2 W that takes @ours_mw more at a full share. */
static void run_meter(uint32_t n, double others_mw, double ours_mw)
{
    in.power.sight = GOVERNOR_SEEN;
    for (uint32_t i = 0; i < n; i++) {
        double used = cores->duty_permille / 1000.0;

        in.held_us[GOVERNOR_CORES] = (uint64_t)(used * TICK_US);
        in.power.mw = (uint32_t)(others_mw + ours_mw * used);
        tick(1);
    }
}

START_TEST(the_ceiling_of_power_is_held)
{
    const struct governor_policy policy = { .power_mw = 5000 };

    begin(&policy);
    run_meter(400, 2000, 6000);

    ck_assert_uint_ge(cores->duty_permille, 480);
    ck_assert_uint_le(cores->duty_permille, 520);
    ck_assert_int_eq(cores->cause, GOVERNOR_POWER);
}
END_TEST

START_TEST(a_meter_that_is_gone_leaves_half)
{
    const struct governor_policy policy = { .power_mw = 5000 };

    begin(&policy);
    run_meter(400, 2000, 6000);
    in.power.sight = GOVERNOR_BLIND;
    tick(70);

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

        in.now_us += TICK_US;
        in.power.at_us = in.now_us;
        in.power.mw = (uint32_t)(1500.0 + 4000.0 * watts.used);
        watts_tick(&watts, &policy, &in, 0.05, used, &bound);
    }

    ck_assert_double_gt(watts.ours_mw, 3400.0);
    ck_assert_double_lt(watts.ours_mw, 4600.0);
}
END_TEST

/* ---- memory, sleep, modes */

START_TEST(pressure_takes_pages_at_once_and_gives_them_back_in_steps)
{
    in.pressure_permille = 600;
    ck_assert(tick(1));
    ck_assert_uint_eq(cores->kv_permille, 250);
    ck_assert_uint_eq(cores->n_rows, 32);
    ck_assert_int_eq(cores->cause, GOVERNOR_PRESSURE);

    in.pressure_permille = 0;
    tick(100);
    ck_assert_uint_eq(cores->kv_permille, 250);
    tick(102);
    ck_assert_uint_eq(cores->kv_permille, 500);
    tick(410);
    ck_assert_uint_eq(cores->kv_permille, 1000);
    ck_assert_uint_eq(cores->n_rows, 0);
    ck_assert_int_eq(cores->cause, GOVERNOR_FREE);
}
END_TEST

START_TEST(asleep_nothing_runs_and_awake_all_does_at_once)
{
    tick(1);
    in.is_asleep = true;
    tick(1);
    ck_assert_int_eq(cores->mode, GOVERNOR_PAUSED);
    ck_assert_int_eq(cores->cause, GOVERNOR_SLEEP);

    in.is_asleep = false;
    tick(1);

    ck_assert_int_eq(cores->mode, GOVERNOR_FULL);
    ck_assert_uint_eq(cores->duty_permille, 1000);
}
END_TEST

START_TEST(the_tightest_reason_names_the_cause)
{
    draw(500); /* 400 are left */
    heat_zone(0, 92000, 95000, 110000);

    tick(1);

    ck_assert_int_eq(device->cause, GOVERNOR_HEAT);
    ck_assert_uint_eq(device->duty_permille, 0);
}
END_TEST

START_TEST(a_freer_mode_waits_for_its_dwell)
{
    uint64_t n_changes;

    draw(950);
    tick(1);
    n_changes = governor.n_changes;
    for (int i = 0; i < 8; i++) { /* 400 ms of a load that flaps */
        draw(i % 2 ? 950 : 0);
        tick(1);
    }

    ck_assert_uint_eq(governor.n_changes, n_changes);
}
END_TEST

START_TEST(a_change_is_told_once)
{
    draw(500);

    ck_assert(tick(1));
    ck_assert(!tick(20));
}
END_TEST

START_TEST(modes_and_causes_have_words)
{
    ck_assert_str_eq(governor_mode_name(GOVERNOR_SHARED), "shared");
    ck_assert_str_eq(governor_cause_name(GOVERNOR_BLIND_HEAT), "blind-heat");
}
END_TEST

static void add_graphics(Suite *suite)
{
    TCase *facts = tcase_create("graphics");

    tcase_add_checked_fixture(facts, setup, NULL);
    tcase_add_test(facts, a_machine_without_sensors_and_screen_is_ours);
    tcase_add_test(facts, a_load_is_met_in_the_same_tick);
    tcase_add_test(facts, the_slice_is_half_of_what_a_frame_leaves);
    tcase_add_test(facts, a_load_that_falls_is_believed_over_100_ms);
    tcase_add_test(facts, a_load_at_half_the_clock_is_half_a_load);
    tcase_add_test(facts, a_share_that_may_not_be_seen_counts_as_busy);
    tcase_add_test(facts, a_screen_that_stands_still_leaves_longer_slices_and_no_pause);
    tcase_add_test(facts, no_policy_makes_a_slice_longer_than_a_fifth_of_a_hang);
    tcase_add_test(facts, graphics_leave_the_cores_alone);
    tcase_add_test(facts, cores_that_share_the_memory_are_bound_as_the_device);
    tcase_add_test(facts, a_full_screen_leaves_nothing);
    tcase_add_test(facts, a_least_share_is_for_realtime_alone);
    tcase_add_test(facts, after_200_ms_without_room_the_cores_take_over);
    tcase_add_test(facts, cores_that_are_too_hot_do_not_take_over);
    tcase_add_test(facts, where_no_load_is_told_our_own_delay_tells);
    tcase_add_test(facts, a_little_delay_is_no_load);
    tcase_add_test(facts, a_load_not_seen_any_more_is_busy_after_its_grace);
    tcase_add_test(facts, a_load_that_hangs_is_as_one_not_seen);
    tcase_add_test(facts, a_desk_trusts_what_it_does_not_see);
    tcase_add_test(facts, a_missed_frame_halves_slice_and_duty_at_once);
    tcase_add_test(facts, courage_comes_back_slowly);
    tcase_add_test(facts, busy_until_holds_until_then);
    tcase_add_test(facts, a_compositor_that_speaks_is_never_kept_waiting_for_more_than_half_a_frame);
    suite_add_tcase(suite, facts);
}

static void add_heat(Suite *suite)
{
    TCase *facts = tcase_create("heat");

    tcase_add_checked_fixture(facts, setup, NULL);
    tcase_add_test(facts, a_chip_at_its_passive_trip_does_nothing_for_us);
    tcase_add_test(facts, near_the_critical_trip_only_realtime_works);
    tcase_add_test(facts, the_critical_gate_opens_only_well_below);
    tcase_add_test(facts, an_unset_trip_is_no_limit_and_frost_is_fine);
    tcase_add_test(facts, the_zone_nearest_to_its_own_target_decides);
    tcase_add_test(facts, a_policy_cannot_aim_at_the_trip);
    tcase_add_test(facts, a_zone_that_vanishes_is_hot_after_its_grace);
    tcase_add_test(facts, nonsense_is_as_not_seen);
    tcase_add_test(facts, a_zone_that_comes_back_is_believed);
    tcase_add_test(facts, pauses_are_short_however_small_the_share);
    tcase_add_test(facts, the_ceiling_of_power_is_held);
    tcase_add_test(facts, a_meter_that_is_gone_leaves_half);
    tcase_add_test(facts, the_watts_of_a_share_are_found_from_how_the_meter_follows);
    suite_add_tcase(suite, facts);
}

int main(void)
{
    Suite *suite = suite_create("governor");
    TCase *facts = tcase_create("modes");

    add_graphics(suite);
    add_heat(suite);
    tcase_add_checked_fixture(facts, setup, NULL);
    tcase_add_test(facts, pressure_takes_pages_at_once_and_gives_them_back_in_steps);
    tcase_add_test(facts, asleep_nothing_runs_and_awake_all_does_at_once);
    tcase_add_test(facts, the_tightest_reason_names_the_cause);
    tcase_add_test(facts, a_freer_mode_waits_for_its_dwell);
    tcase_add_test(facts, a_change_is_told_once);
    tcase_add_test(facts, modes_and_causes_have_words);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
