/* The governor in the hub: when it ticks, what a hint and a sleep do, what streams are told, who is charged. */
#include "base/clock.h"
#include "dispatch/governor_loop.h"
#include "house.h"
#include <string.h>

static struct house house;
static struct compositor compositor;
static struct compositor neighbour;

static void setup(void)
{
    compositor = (struct compositor){ 0 };
    neighbour = (struct compositor){ 0 };
    house_prepare(&house, "always do slow 5\n");
    /* No sensors: hints alone bound, and the cores with the device. */
    house.config.governor = (struct governor_policy){ .cores_share = true };
    house.config.energy = (struct energy_stated){ .active_mw = 6000, .idle_mw = 1000 };
    house_open(&house);
    house_until_ready(&house);
}

static void teardown(void)
{
    house_end(&house);
}

static void hint_by(struct compositor *speaker, uint32_t frame_us, uint32_t n_missed, uint32_t busy_us)
{
    Sotto__V1__GraphicsHint body = SOTTO__V1__GRAPHICS_HINT__INIT;

    if (frame_us) {
        body.opt_frame_budget_us_case = SOTTO__V1__GRAPHICS_HINT__OPT_FRAME_BUDGET_US_FRAME_BUDGET_US;
        body.frame_budget_us = frame_us;
    }
    body.missed_frames = n_missed;
    body.busy_for_us = busy_us;
    hub_hint(house.hub, speaker, &body);
}

static void hint(uint32_t frame_us, uint32_t n_missed, uint32_t busy_us)
{
    hint_by(&compositor, frame_us, n_missed, busy_us);
}

static const struct governor_limits *cores(void)
{
    return &house.hub->governor.limits[PROCESSOR_CPU];
}

static void ask(struct guest *guest, uint32_t first, uint32_t n_answer)
{
    guest_init(guest, first, 4, n_answer);
    guest_ask(&house, guest);
}

/* After the last work ticks go on for three seconds, which end at once here. */
static void grow_calm(void)
{
    house_run(&house, 60);
    ck_assert(house.hub->governing.ticks);
    ck_assert_uint_gt(house.hub->governing.calm_us, 0);
    house.hub->governing.calm_us = 1;
    house_run(&house, 100);
}

START_TEST(it_ticks_while_there_is_work_and_a_little_longer)
{
    struct guest guest;
    uint64_t n_ticks;

    house_run(&house, 120);
    ck_assert(!house.hub->governing.ticks);
    ask(&guest, 1, 30);
    guest_until_over(&house, &guest);
    grow_calm();

    n_ticks = house.hub->counts[HUB_TICKS];
    ck_assert_uint_ge(n_ticks, 2);
    ck_assert(!house.hub->governing.ticks);
    house_run(&house, 200);
    ck_assert_uint_eq(house.hub->counts[HUB_TICKS], n_ticks);
    guest_finish(&guest);
}
END_TEST

START_TEST(a_parked_stream_costs_no_tick)
{
    struct guest guest;

    guest_init(&guest, 1, 4, 10);
    guest.ask.opt_credit_case = SOTTO__V1__GENERATE__OPT_CREDIT_CREDIT;
    guest.ask.credit = 2;
    guest_ask(&house, &guest);
    guest_until_tokens(&house, &guest, 2);
    grow_calm();

    ck_assert(!house.hub->governing.ticks);
    stream_cancel(guest.stream);
    guest_until_over(&house, &guest);
    guest_finish(&guest);
}
END_TEST

START_TEST(time_held_is_counted_while_a_step_still_runs)
{
    struct guest guest;
    uint64_t held_us;

    ask(&guest, 1, 20);
    guest_until_over(&house, &guest);

    held_us = governing_held_us(house.hub, PROCESSOR_CPU, clock_mono_us());
    ck_assert_uint_ge(held_us, 20 * 5000);
    ck_assert_uint_eq(governing_held_us(house.hub, PROCESSOR_GPU, clock_mono_us()), 0);
    guest_finish(&guest);
}
END_TEST

START_TEST(busy_for_stops_work_at_once_and_for_so_long)
{
    struct guest guest;
    uint32_t n;

    ask(&guest, 1, 60);
    guest_until_tokens(&house, &guest, 3);
    hint(0, 0, 1500000);
    house_run(&house, 60);
    n = guest.n_tokens;
    house_run(&house, 300);

    ck_assert_uint_eq(guest.n_tokens, n);
    ck_assert_uint_eq(cores()->duty_permille, 0);
    ck_assert(house_had(&house, "mode-changed"));
    guest_until_over(&house, &guest);
    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 60);
    hub_hint_ends(house.hub, &compositor);
    guest_finish(&guest);
}
END_TEST

START_TEST(who_is_held_back_is_told_and_told_when_that_is_over)
{
    struct guest guest;

    ask(&guest, 1, 400);
    guest_until_tokens(&house, &guest, 3);
    hint(0, 0, 1200000);
    guest_until_tokens(&house, &guest, 100);
    hub_hint_ends(house.hub, &compositor);
    guest_until_over(&house, &guest);

    ck_assert_uint_ge(guest.n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_THROTTLED], 1);
    ck_assert_uint_ge(guest.n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_RESUMED], 1);
    ck_assert_uint_le(guest.n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_THROTTLED], 4);
    guest_finish(&guest);
}
END_TEST

START_TEST(one_compositor_does_not_end_what_another_has_asked_for)
{
    struct guest guest;

    hint(16667, 0, 60000000);
    hint_by(&neighbour, 16667, 0, 0);
    ask(&guest, 1, 5);
    house_run(&house, 100);
    ck_assert_uint_eq(guest.n_tokens, 0);
    hub_hint_ends(house.hub, &neighbour);
    house_run(&house, 100);
    ck_assert_uint_eq(guest.n_tokens, 0);
    ck_assert_uint_gt(cores()->busy_until_us, clock_mono_us() + 50000000);

    hub_hint_ends(house.hub, &compositor);

    guest_until_over(&house, &guest);
    ck_assert_uint_eq(cores()->busy_until_us, 0);
    guest_finish(&guest);
}
END_TEST

START_TEST(hints_are_void_when_their_compositor_is_gone)
{
    struct guest guest;

    hint(16667, 0, 60000000);
    ask(&guest, 1, 5);
    house_run(&house, 100);
    ck_assert_uint_eq(guest.n_tokens, 0);

    hub_hint_ends(house.hub, &compositor);

    guest_until_over(&house, &guest);
    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    guest_finish(&guest);
}
END_TEST

START_TEST(asleep_all_stands_still_and_awake_the_answer_goes_on)
{
    struct guest plain;
    struct guest guest;
    uint32_t n;

    ask(&plain, 1, 40);
    guest_until_over(&house, &plain);
    ask(&guest, 1, 40);
    guest_until_tokens(&house, &guest, 3);
    hub_sleep(house.hub);
    house_run(&house, 100);
    ck_assert(hub_is_still(house.hub));
    n = guest.n_tokens;
    house_run(&house, 100);
    ck_assert_uint_eq(guest.n_tokens, n);

    hub_wake(house.hub);

    guest_until_over(&house, &guest);
    guest_assert_same(&plain, &guest);
    guest_finish(&plain);
    guest_finish(&guest);
}
END_TEST

START_TEST(who_comes_while_asleep_waits)
{
    struct guest guest;

    hub_sleep(house.hub);
    ask(&guest, 1, 3);
    house_run(&house, 100);
    ck_assert_uint_eq(guest.n_tokens, 0);

    hub_wake(house.hub);
    guest_until_over(&house, &guest);

    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 3);
    guest_finish(&guest);
}
END_TEST

/* ---- energy */

START_TEST(stated_watts_are_charged_and_marked_as_estimated)
{
    struct guest guest;

    ask(&guest, 1, 20);
    guest_until_over(&house, &guest);

    ck_assert_int_eq(guest.usage.energy_source, SOTTO__V1__ENERGY_SOURCE__ENERGY_ESTIMATED);
    ck_assert_uint_ge(guest.usage.energy_uj, 20 * 5000 * 5); /* 5 W for at least 5 ms a token */
    guest_finish(&guest);
}
END_TEST

START_TEST(two_of_one_step_share_its_energy)
{
    struct guest one;
    struct guest two;
    uint64_t held_us;

    ask(&one, 1, 30);
    ask(&two, 2, 30);
    guest_until_over(&house, &one);
    guest_until_over(&house, &two);

    held_us = governing_held_us(house.hub, PROCESSOR_CPU, clock_mono_us());
    ck_assert_uint_le(one.usage.energy_uj + two.usage.energy_uj, held_us * 5 + 100);
    ck_assert_uint_ge(one.usage.energy_uj + two.usage.energy_uj, held_us * 5 * 8 / 10);
    guest_finish(&one);
    guest_finish(&two);
}
END_TEST

START_TEST(a_budget_of_joules_refuses_with_a_time)
{
    struct guest guest;
    struct guest second;

    house.grant.energy_a_minute = 1;
    ask(&guest, 1, 100); /* 2.5 J */
    guest_until_tokens(&house, &guest, 10);
    house_run(&house, 600);
    guest_init(&second, 2, 4, 3);

    guest_refused(&house, &second, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "joules a minute");

    stream_cancel(guest.stream);
    guest_until_over(&house, &guest);
    guest_finish(&guest);
    guest_finish(&second);
}
END_TEST

START_TEST(a_budget_of_joules_pauses_who_runs)
{
    struct guest guest;
    uint32_t n;

    house.grant.energy_a_minute = 1;
    ask(&guest, 1, 400);
    guest_until_tokens(&house, &guest, 10); /* 0.25 J and more */
    house_run(&house, 600);
    n = guest.n_tokens;
    house_run(&house, 200);

    ck_assert_uint_lt(n, 60);
    ck_assert_uint_le(guest.n_tokens, n + 2);
    stream_cancel(guest.stream);
    guest_until_over(&house, &guest);
    guest_finish(&guest);
}
END_TEST

START_TEST(status_tells_both_places_and_the_account)
{
    Sotto__V1__StatusReport report = SOTTO__V1__STATUS_REPORT__INIT;
    struct arena arena;
    struct guest guest;

    ask(&guest, 1, 10);
    guest_until_over(&house, &guest);
    arena_init(&arena, MEM_MISC, 1u << 20);

    ck_assert_int_eq(governing_report(house.hub, &house.grant, &arena, &report), 0);

    ck_assert_uint_eq(report.n_governor, 2);
    ck_assert_str_eq(report.governor[1]->place, "cores");
    ck_assert_str_eq(report.governor[1]->mode, "full");
    ck_assert_uint_eq(report.n_accounts, 1);
    ck_assert_uint_eq(report.accounts[0]->tokens, 13); /* rows: the last token is not computed again */
    ck_assert_uint_gt(report.accounts[0]->energy_uj, 0);
    arena_finish(&arena);
    guest_finish(&guest);
}
END_TEST

START_TEST(strangers_do_not_see_each_others_accounts)
{
    Sotto__V1__StatusReport report = SOTTO__V1__STATUS_REPORT__INIT;
    struct grant other = { .uid = house.grant.uid + 1 };
    struct arena arena;
    struct guest guest;

    ask(&guest, 1, 3);
    guest_until_over(&house, &guest);
    arena_init(&arena, MEM_MISC, 1u << 20);

    governing_report(house.hub, &other, &arena, &report);

    ck_assert_uint_eq(report.n_accounts, 0);
    arena_finish(&arena);
    guest_finish(&guest);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("governing");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, setup, teardown);
    tcase_set_timeout(facts, 30);
    tcase_add_test(facts, it_ticks_while_there_is_work_and_a_little_longer);
    tcase_add_test(facts, a_parked_stream_costs_no_tick);
    tcase_add_test(facts, time_held_is_counted_while_a_step_still_runs);
    tcase_add_test(facts, busy_for_stops_work_at_once_and_for_so_long);
    tcase_add_test(facts, who_is_held_back_is_told_and_told_when_that_is_over);
    tcase_add_test(facts, one_compositor_does_not_end_what_another_has_asked_for);
    tcase_add_test(facts, hints_are_void_when_their_compositor_is_gone);
    tcase_add_test(facts, asleep_all_stands_still_and_awake_the_answer_goes_on);
    tcase_add_test(facts, who_comes_while_asleep_waits);
    tcase_add_test(facts, stated_watts_are_charged_and_marked_as_estimated);
    tcase_add_test(facts, two_of_one_step_share_its_energy);
    tcase_add_test(facts, a_budget_of_joules_refuses_with_a_time);
    tcase_add_test(facts, a_budget_of_joules_pauses_who_runs);
    tcase_add_test(facts, status_tells_both_places_and_the_account);
    tcase_add_test(facts, strangers_do_not_see_each_others_accounts);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
