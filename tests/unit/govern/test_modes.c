/* Modes and gates over time: what dwells, what is reported, and what is displayed. */
#include "fixture.h"
#include "unit.h"

START_TEST(the_display_shows_what_holds_now)
{
    struct governor_limits shown;
    uint64_t since_us;

    fixture_heat(0, 50000, 95000, 105000);
    fixture_draw(500);
    fixture_tick(30);
    governor_show(&governor, PROCESSOR_GPU, &shown, &since_us);
    ck_assert_int_eq(shown.mode, GOVERNOR_SHARED);
    ck_assert_int_eq(shown.cause, GOVERNOR_GRAPHICS);
    fixture_draw(0);
    fixture_tick(30); /* an unchanging screen: nothing bounds, but too young to be reported */
    for (int i = 0; i < 10 && device->duty_permille < 1000; i++) {
        fixture_tick(1);
    }
    ck_assert_uint_eq(device->duty_permille, 1000);

    governor_show(&governor, PROCESSOR_GPU, &shown, &since_us);

    ck_assert_int_eq(shown.mode, GOVERNOR_FULL);
    ck_assert_int_eq(shown.cause, GOVERNOR_FREE);
    ck_assert_uint_ge(since_us, in.now_us - 500000);
}
END_TEST

START_TEST(a_pause_that_is_over_is_not_shown_any_more)
{
    struct governor_limits shown;
    uint64_t since_us;

    fixture_draw(1000);
    fixture_tick(1);
    fixture_draw(100);
    fixture_tick(4); /* 200 ms: the mode dwells, and work goes on */
    ck_assert_int_eq(device->mode, GOVERNOR_PAUSED);

    governor_show(&governor, PROCESSOR_GPU, &shown, &since_us);

    ck_assert_int_eq(shown.mode, GOVERNOR_SHARED);
    ck_assert_int_eq(shown.cause, GOVERNOR_GRAPHICS);
    ck_assert_uint_gt(shown.duty_permille, 0);
    ck_assert_uint_ge(since_us, in.now_us - 200000);
}
END_TEST

START_TEST(the_reported_mode_and_cause_fit)
{
    fixture_draw(950);
    fixture_tick(20);
    fixture_draw(0);

    for (int i = 0; i < 60; i++) { /* the bound has gone, and the mode dwells */
        fixture_tick(1);
        ck_assert(device->mode == GOVERNOR_FULL || device->cause != GOVERNOR_FREE);
    }
    ck_assert_int_eq(device->mode, GOVERNOR_FULL);
}
END_TEST

START_TEST(a_gate_does_not_flap_with_the_load)
{
    uint32_t n_open = 0;

    for (int i = 0; i < 100; i++) { /* 49 and 60 permille are left alternately */
        fixture_draw(i % 2 ? 840 : 851);
        fixture_tick(1);
        n_open += i > 0 && device->class_gate == PRIORITY_BACKGROUND;
    }

    ck_assert_uint_eq(n_open, 0);
}
END_TEST

START_TEST(a_gate_opens_when_it_has_not_been_wanted_for_a_dwell)
{
    fixture_draw(860);
    fixture_tick(1);
    ck_assert_int_eq(device->class_gate, PRIORITY_REALTIME);
    fixture_draw(840); /* 60 permille are left */

    fixture_tick(5);
    ck_assert_int_eq(device->class_gate, PRIORITY_REALTIME);
    fixture_tick(15);

    ck_assert_int_eq(device->class_gate, PRIORITY_BACKGROUND);
}
END_TEST

START_TEST(a_gate_opens_at_once_when_there_is_room)
{
    fixture_draw(860);
    fixture_tick(1);
    fixture_draw(100);

    fixture_tick(2); /* the load falls over 100 ms */

    ck_assert_int_eq(device->class_gate, PRIORITY_BACKGROUND);
}
END_TEST

START_TEST(a_freer_mode_waits_for_its_dwell)
{
    uint64_t n_changes;

    fixture_draw(950);
    fixture_tick(1);
    n_changes = governor.n_changes;
    for (int i = 0; i < 8; i++) { /* 400 ms of a load that flaps */
        fixture_draw(i % 2 ? 950 : 0);
        fixture_tick(1);
    }

    ck_assert_uint_eq(governor.n_changes, n_changes);
}
END_TEST

START_TEST(a_change_is_reported_once)
{
    fixture_draw(500);

    ck_assert(fixture_tick(1));
    ck_assert(!fixture_tick(20));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("modes");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, fixture_setup, NULL);
    tcase_add_test(facts, the_display_shows_what_holds_now);
    tcase_add_test(facts, a_pause_that_is_over_is_not_shown_any_more);
    tcase_add_test(facts, the_reported_mode_and_cause_fit);
    tcase_add_test(facts, a_gate_does_not_flap_with_the_load);
    tcase_add_test(facts, a_gate_opens_when_it_has_not_been_wanted_for_a_dwell);
    tcase_add_test(facts, a_gate_opens_at_once_when_there_is_room);
    tcase_add_test(facts, a_freer_mode_waits_for_its_dwell);
    tcase_add_test(facts, a_change_is_reported_once);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
