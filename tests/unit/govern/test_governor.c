/* From what is known of the machine to limits: each cause alone, and which of them wins. */
#include "fixture.h"
#include "unit.h"

/* ---- nothing to protect */

START_TEST(a_machine_without_sensors_and_screen_is_ours)
{
    ck_assert(!fixture_tick(1));

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
    fixture_draw(0);
    fixture_tick(2);
    fixture_draw(600);

    ck_assert(fixture_tick(1));

    ck_assert_int_eq(device->mode, GOVERNOR_SHARED);
    ck_assert_int_eq(device->cause, GOVERNOR_GRAPHICS);
    ck_assert_uint_eq(device->duty_permille, 150); /* half of 1 - 0.6 - a tenth */
    ck_assert_uint_eq(device->slice_us, 375);
}
END_TEST

START_TEST(six_slices_fit_into_what_a_frame_leaves)
{
    fixture_draw(850);

    fixture_tick(1);

    ck_assert_uint_eq(device->slice_us, 416); /* 0.15 of 16.667 ms */
}
END_TEST

START_TEST(beside_a_new_load_slice_and_duty_are_whole_after_300_ms)
{
    fixture_draw(0);
    fixture_tick(2);
    fixture_draw(400);
    fixture_tick(5); /* 200 ms after the first of them */
    ck_assert_uint_eq(device->slice_us, 500);

    fixture_tick(2);

    ck_assert_uint_eq(device->slice_us, 750);
    ck_assert_uint_eq(device->duty_permille, 500);
}
END_TEST

START_TEST(a_load_that_wavers_is_not_new)
{
    fixture_draw(400);
    fixture_tick(2);
    fixture_draw(480);

    fixture_tick(1);

    ck_assert_uint_eq(device->slice_us, 750);
}
END_TEST

/* At 30 Hz a reading of 50 ms has one frame or two. */
START_TEST(a_reading_with_a_frame_more_is_not_a_new_load)
{
    fixture_draw(540);
    fixture_tick(10);
    for (int i = 0; i < 10; i++) {
        fixture_draw(270);
        fixture_tick(1);
        fixture_draw(540);
        fixture_tick(1);
        ck_assert_uint_eq(device->slice_us, 750);
        ck_assert_uint_eq(device->duty_permille, 360);
    }
}
END_TEST

START_TEST(a_load_that_falls_is_believed_over_100_ms)
{
    fixture_draw(800);
    fixture_tick(1);
    fixture_draw(0);

    fixture_tick(1);
    ck_assert_uint_lt(device->duty_permille, 500);
    fixture_tick(9);
    ck_assert_uint_gt(device->duty_permille, 880);
}
END_TEST

START_TEST(at_half_the_clock_a_frame_takes_twice_its_time)
{
    fixture_draw(300);
    in.graphics.cur_hz = 800000000;
    in.graphics.max_hz = 800000000;
    fixture_tick(1);
    in.graphics.cur_hz = 400000000;
    in.graphics.busy_permille = 600;

    fixture_tick(1);

    ck_assert_uint_eq(device->duty_permille, 300);
}
END_TEST

START_TEST(a_share_that_may_not_be_seen_counts_as_busy)
{
    fixture_draw(300);
    in.graphics.blind_permille = 400;

    fixture_tick(1);

    ck_assert_uint_le(device->duty_permille, 200);
    ck_assert_uint_ge(device->duty_permille, 199);
}
END_TEST

START_TEST(an_unchanging_screen_leaves_longer_slices_and_no_pause)
{
    fixture_draw(0);

    fixture_tick(1);

    ck_assert_int_eq(device->mode, GOVERNOR_FULL);
    ck_assert_uint_eq(device->duty_permille, 1000);
    ck_assert_uint_eq(device->slice_us, 20000);
}
END_TEST

START_TEST(no_policy_makes_a_slice_longer_than_a_fifth_of_a_hang)
{
    const struct governor_policy policy = { .idle_slice_us = 900000, .max_slice_us = 900000 };

    fixture_begin(&policy);
    fixture_draw(0);
    fixture_tick(1);

    ck_assert_uint_eq(device->slice_us, 100000);
}
END_TEST

START_TEST(graphics_leave_the_cores_alone)
{
    fixture_draw(900);

    fixture_tick(1);

    ck_assert_uint_eq(cores->duty_permille, 1000);
    ck_assert_uint_eq(cores->slice_us, 0);
}
END_TEST

START_TEST(cores_that_share_the_memory_are_bound_as_the_device)
{
    const struct governor_policy policy = { .cores_share = true };

    fixture_begin(&policy);
    fixture_draw(600);
    fixture_tick(1);

    ck_assert_uint_eq(cores->duty_permille, 300);
    ck_assert_uint_eq(cores->slice_us, 750);
}
END_TEST

START_TEST(a_full_screen_leaves_nothing)
{
    fixture_draw(950);

    fixture_tick(1);

    ck_assert_int_eq(device->mode, GOVERNOR_PAUSED);
    ck_assert_uint_eq(device->duty_permille, 0);
}
END_TEST

START_TEST(a_least_share_is_for_realtime_alone)
{
    const struct governor_policy policy = { .min_share_permille = 80 };

    fixture_begin(&policy);
    fixture_draw(940);
    fixture_tick(1);

    ck_assert_int_eq(device->mode, GOVERNOR_THIN);
    ck_assert_uint_eq(device->duty_permille, 80);
    ck_assert_int_eq(device->class_gate, PRIORITY_REALTIME);
}
END_TEST

START_TEST(after_200_ms_without_room_the_cores_take_over)
{
    fixture_draw(1000);

    fixture_tick(4);
    ck_assert_int_eq(device->mode, GOVERNOR_PAUSED);
    fixture_tick(1);

    ck_assert_int_eq(device->mode, GOVERNOR_CPU);
}
END_TEST

START_TEST(cores_that_are_too_hot_do_not_take_over)
{
    fixture_draw(1000);
    fixture_heat(0, 96000, 95000, 110000);

    fixture_tick(40);

    ck_assert_int_eq(device->mode, GOVERNOR_PAUSED);
}
END_TEST

/* ---- a load that is lost */

START_TEST(a_lost_load_counts_as_busy_after_its_grace)
{
    fixture_draw(100);
    fixture_tick(2);
    in.graphics.sight = GOVERNOR_BLIND;

    fixture_tick(15);
    ck_assert_uint_gt(device->duty_permille, 700);
    fixture_tick(10);

    ck_assert_uint_eq(device->duty_permille, 0);
    ck_assert_int_eq(device->cause, GOVERNOR_BLIND_GRAPHICS);
}
END_TEST

START_TEST(within_its_grace_the_last_load_holds)
{
    fixture_draw(600);
    fixture_tick(2);
    in.graphics.sight = GOVERNOR_BLIND;
    in.graphics.busy_permille = 0;

    fixture_tick(15);

    ck_assert_uint_eq(device->duty_permille, 300);
}
END_TEST

START_TEST(a_load_that_is_on_the_way_is_neither_idle_nor_lost)
{
    in.graphics.sight = GOVERNOR_EARLY;
    in.graphics.at_us = in.now_us;

    fixture_tick(1);
    ck_assert_uint_eq(device->slice_us, 750);
    fixture_tick(50); /* longer than the grace time of a lost load */

    ck_assert_uint_eq(device->slice_us, 750);
    ck_assert_uint_eq(device->duty_permille, 900);
    ck_assert_int_eq(device->cause, GOVERNOR_GRAPHICS);
}
END_TEST

START_TEST(what_does_not_come_is_lost)
{
    in.graphics.sight = GOVERNOR_EARLY;
    in.graphics.at_us = in.now_us;
    fixture_tick(50);
    in.graphics.sight = GOVERNOR_BLIND;

    fixture_tick(1);

    ck_assert_int_eq(device->cause, GOVERNOR_BLIND_GRAPHICS);
    ck_assert_uint_eq(device->duty_permille, 0);
}
END_TEST

START_TEST(a_load_that_was_never_read_is_not_idle_for_its_grace)
{
    in.graphics.sight = GOVERNOR_BLIND;
    in.graphics.at_us = in.now_us;

    fixture_tick(2);

    ck_assert_uint_eq(device->slice_us, 750);
    ck_assert_uint_lt(device->duty_permille, 1000);
}
END_TEST

START_TEST(a_load_that_hangs_is_as_one_not_seen)
{
    fixture_draw(100);
    fixture_tick(2);

    for (int i = 0; i < 30; i++) {
        in.now_us += FIXTURE_TICK_US; /* seen, but long ago */
        governor_tick(&governor, &in);
    }

    ck_assert_int_eq(device->cause, GOVERNOR_BLIND_GRAPHICS);
}
END_TEST

START_TEST(a_desk_trusts_what_it_does_not_see)
{
    const struct governor_policy policy = { .trusts_blind = true };

    fixture_begin(&policy);
    in.graphics.sight = GOVERNOR_BLIND;
    in.zones[0] = (struct governor_zone){ .sight = GOVERNOR_BLIND,
                                          .passive_mc = GOVERNOR_NO_TRIP,
                                          .critical_mc = GOVERNOR_NO_TRIP };
    in.n_zones = 1;
    fixture_tick(100);

    ck_assert_uint_eq(device->duty_permille, 1000);
    ck_assert_uint_eq(cores->duty_permille, 1000);
}
END_TEST

/* ---- hints */

START_TEST(a_missed_frame_halves_slice_and_duty_at_once)
{
    fixture_draw(500);
    in.hint.at_us = in.now_us;
    fixture_tick(1);
    in.hint.n_missed = 1;
    fixture_tick(1);
    in.hint.n_missed = 0;

    ck_assert_uint_eq(device->slice_us, 375);
    ck_assert_uint_eq(device->duty_permille, 200);
    fixture_tick(10);
    ck_assert_int_eq(device->cause, GOVERNOR_HINT);
}
END_TEST

START_TEST(missed_frames_keep_slices_short_when_nothing_is_read)
{
    in.hint.at_us = in.now_us;
    in.hint.n_missed = 10;
    fixture_tick(1);
    in.hint.n_missed = 0;

    fixture_tick(100); /* 5 s: half of the time constant */

    ck_assert_uint_lt(device->slice_us, 5000);
    fixture_tick(1200);
    ck_assert_uint_eq(device->slice_us, 8333);
}
END_TEST

START_TEST(courage_recovers_slowly)
{
    fixture_draw(500);
    in.hint.at_us = in.now_us;
    in.hint.n_missed = 8;
    fixture_tick(1);
    in.hint.n_missed = 0;

    fixture_tick(20);
    ck_assert_uint_lt(device->slice_us, 255);
    fixture_tick(1200);
    ck_assert_uint_eq(device->slice_us, 750);
}
END_TEST

START_TEST(missed_frames_are_remembered_while_nothing_is_drawn)
{
    in.hint.at_us = in.now_us;
    in.hint.n_missed = 10;
    fixture_draw(0);
    fixture_tick(1);
    in.hint.n_missed = 0;

    fixture_tick(100);

    ck_assert_uint_eq(device->slice_us, 3910); /* of half a frame: 1 - 7/8 after half a time constant */
}
END_TEST

/* 20 ticks a second. */
START_TEST(busy_until_holds_until_then_and_what_comes_behind_it_is_not_trusted_at_once)
{
    in.hint.at_us = in.now_us;
    in.hint.busy_until_us = in.now_us + 1000000;

    fixture_tick(1);
    ck_assert_uint_eq(device->duty_permille, 0);
    fixture_tick(21);
    ck_assert_uint_lt(device->duty_permille, 100);
    fixture_tick(19);
    ck_assert_uint_gt(device->duty_permille, 300);
    ck_assert_uint_lt(device->duty_permille, 600);
    fixture_tick(22);
    ck_assert_uint_eq(device->duty_permille, 1000);
}
END_TEST

START_TEST(a_compositor_that_leaves_early_ends_its_busy_time)
{
    in.hint.at_us = in.now_us;
    in.hint.busy_until_us = in.now_us + 60000000;
    fixture_tick(20);
    in.hint.busy_until_us = 0;
    fixture_tick(42); /* as after a busy time that has ended */
    ck_assert_uint_eq(device->duty_permille, 1000);
}
END_TEST

START_TEST(a_compositor_that_speaks_is_never_kept_waiting_for_more_than_half_a_frame)
{
    in.hint.at_us = in.now_us;
    in.hint.frame_us = 11111;
    fixture_draw(0);

    fixture_tick(30);

    ck_assert_uint_eq(device->slice_us, 5555);
}
END_TEST

/* ---- memory, sleep, modes */

START_TEST(pressure_takes_pages_at_once_and_gives_them_back_in_steps)
{
    in.pressure_permille = 600;
    ck_assert(fixture_tick(1));
    ck_assert_uint_eq(cores->kv_permille, 250);
    ck_assert_uint_eq(cores->n_rows, 32);
    ck_assert_int_eq(cores->cause, GOVERNOR_PRESSURE);

    in.pressure_permille = 0;
    fixture_tick(100);
    ck_assert_uint_eq(cores->kv_permille, 250);
    fixture_tick(102);
    ck_assert_uint_eq(cores->kv_permille, 500);
    fixture_tick(410);
    ck_assert_uint_eq(cores->kv_permille, 1000);
    ck_assert_uint_eq(cores->n_rows, 0);
    ck_assert_int_eq(cores->cause, GOVERNOR_FREE);
}
END_TEST

START_TEST(asleep_nothing_runs_and_awake_all_does_at_once)
{
    fixture_tick(1);
    in.is_asleep = true;
    fixture_tick(1);
    ck_assert_int_eq(cores->mode, GOVERNOR_PAUSED);
    ck_assert_int_eq(cores->cause, GOVERNOR_SLEEP);

    in.is_asleep = false;
    fixture_tick(1);

    ck_assert_int_eq(cores->mode, GOVERNOR_FULL);
    ck_assert_uint_eq(cores->duty_permille, 1000);
}
END_TEST

START_TEST(the_tightest_reason_names_the_cause)
{
    fixture_draw(500); /* 400 are left */
    fixture_heat(0, 92000, 95000, 110000);

    fixture_tick(1);

    ck_assert_int_eq(device->cause, GOVERNOR_HEAT);
    ck_assert_uint_le(device->duty_permille, 50);
}
END_TEST

START_TEST(modes_and_causes_have_names)
{
    ck_assert_str_eq(governor_mode_name(GOVERNOR_SHARED), "shared");
    ck_assert_str_eq(governor_cause_name(GOVERNOR_BLIND_HEAT), "blind-heat");
}
END_TEST

static void add_graphics(Suite *suite)
{
    TCase *facts = tcase_create("graphics");

    tcase_add_checked_fixture(facts, fixture_setup, NULL);
    tcase_add_test(facts, a_machine_without_sensors_and_screen_is_ours);
    tcase_add_test(facts, a_load_is_met_in_the_same_tick);
    tcase_add_test(facts, six_slices_fit_into_what_a_frame_leaves);
    tcase_add_test(facts, beside_a_new_load_slice_and_duty_are_whole_after_300_ms);
    tcase_add_test(facts, a_load_that_wavers_is_not_new);
    tcase_add_test(facts, a_reading_with_a_frame_more_is_not_a_new_load);
    tcase_add_test(facts, a_load_that_falls_is_believed_over_100_ms);
    tcase_add_test(facts, at_half_the_clock_a_frame_takes_twice_its_time);
    tcase_add_test(facts, a_share_that_may_not_be_seen_counts_as_busy);
    tcase_add_test(facts, an_unchanging_screen_leaves_longer_slices_and_no_pause);
    tcase_add_test(facts, no_policy_makes_a_slice_longer_than_a_fifth_of_a_hang);
    tcase_add_test(facts, graphics_leave_the_cores_alone);
    tcase_add_test(facts, cores_that_share_the_memory_are_bound_as_the_device);
    tcase_add_test(facts, a_full_screen_leaves_nothing);
    tcase_add_test(facts, a_least_share_is_for_realtime_alone);
    tcase_add_test(facts, after_200_ms_without_room_the_cores_take_over);
    tcase_add_test(facts, cores_that_are_too_hot_do_not_take_over);
    tcase_add_test(facts, a_lost_load_counts_as_busy_after_its_grace);
    tcase_add_test(facts, within_its_grace_the_last_load_holds);
    tcase_add_test(facts, a_load_that_is_on_the_way_is_neither_idle_nor_lost);
    tcase_add_test(facts, what_does_not_come_is_lost);
    tcase_add_test(facts, a_load_that_was_never_read_is_not_idle_for_its_grace);
    tcase_add_test(facts, a_load_that_hangs_is_as_one_not_seen);
    tcase_add_test(facts, a_desk_trusts_what_it_does_not_see);
    tcase_add_test(facts, a_missed_frame_halves_slice_and_duty_at_once);
    tcase_add_test(facts, missed_frames_keep_slices_short_when_nothing_is_read);
    tcase_add_test(facts, courage_recovers_slowly);
    tcase_add_test(facts, missed_frames_are_remembered_while_nothing_is_drawn);
    tcase_add_test(facts, a_compositor_that_leaves_early_ends_its_busy_time);
    tcase_add_test(facts, busy_until_holds_until_then_and_what_comes_behind_it_is_not_trusted_at_once);
    tcase_add_test(facts, a_compositor_that_speaks_is_never_kept_waiting_for_more_than_half_a_frame);
    suite_add_tcase(suite, facts);
}

int main(void)
{
    Suite *suite = suite_create("governor");
    TCase *facts = tcase_create("modes");

    add_graphics(suite);
    tcase_add_checked_fixture(facts, fixture_setup, NULL);
    tcase_add_test(facts, pressure_takes_pages_at_once_and_gives_them_back_in_steps);
    tcase_add_test(facts, asleep_nothing_runs_and_awake_all_does_at_once);
    tcase_add_test(facts, the_tightest_reason_names_the_cause);
    tcase_add_test(facts, modes_and_causes_have_names);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
