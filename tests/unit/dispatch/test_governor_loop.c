/* The governor in the hub: when it ticks, what a hint and a sleep do, what streams are notified of, which requests are
 * charged. */
#include "base/clock.h"
#include "dispatch/governor_loop.h"
#include "hub_fixture.h"
#include <string.h>

static struct fixture fixture;
static struct compositor compositor;
static struct compositor neighbour;

static void setup(void)
{
    compositor = (struct compositor){ 0 };
    neighbour = (struct compositor){ 0 };
    fixture_prepare(&fixture, "always do slow 5\n");
    /* There are no sensors: hints alone bound, and the CPU with the GPU. */
    fixture.config.governor = (struct governor_policy){ .cores_share = true };
    fixture.config.energy = (struct energy_stated){ .active_mw = 6000, .idle_mw = 1000 };
    fixture_open(&fixture);
    fixture_until_ready(&fixture);
}

static void teardown(void)
{
    fixture_end(&fixture);
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
    hub_hint(fixture.hub, speaker, &body);
}

static void hint(uint32_t frame_us, uint32_t n_missed, uint32_t busy_us)
{
    hint_by(&compositor, frame_us, n_missed, busy_us);
}

static const struct governor_limits *cores(void)
{
    return &fixture.hub->governor_loop.governor.limits[PROCESSOR_CPU];
}

static void ask(struct client *client, uint32_t first, uint32_t n_answer)
{
    client_init(client, first, 4, n_answer);
    client_generate(&fixture, client);
}

static bool is_calm(void *owner)
{
    (void)owner;
    return fixture.hub->governor_loop.calm_us > 0;
}

static bool is_without_ticks(void *owner)
{
    (void)owner;
    return !fixture.hub->governor_loop.ticks;
}

/* After the last work ticks go on for three seconds, which end at once here. */
static void grow_calm(void)
{
    fixture_until(&fixture, is_calm, NULL);
    fixture.hub->governor_loop.calm_us = 1;
    fixture_until(&fixture, is_without_ticks, NULL);
}

START_TEST(it_ticks_while_there_is_work_and_a_little_longer)
{
    struct client client;
    uint64_t n_ticks;

    fixture_until(&fixture, is_without_ticks, NULL);
    ask(&client, 1, 30);
    client_until_over(&fixture, &client);
    grow_calm();

    n_ticks = fixture.hub->events.counts[COUNT_TICKS];
    ck_assert_uint_ge(n_ticks, 2);
    ck_assert(!fixture.hub->governor_loop.ticks);
    fixture_run(&fixture, 200);
    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_TICKS], n_ticks);
    client_finish(&client);
}
END_TEST

START_TEST(a_parked_stream_costs_no_tick)
{
    struct client client;

    client_init(&client, 1, 4, 10);
    client.generate.opt_credit_case = SOTTO__V1__GENERATE__OPT_CREDIT_CREDIT;
    client.generate.credit = 2;
    client_generate(&fixture, &client);
    client_until_tokens(&fixture, &client, 2);
    grow_calm();

    ck_assert(!fixture.hub->governor_loop.ticks);
    stream_cancel(client.stream);
    client_until_over(&fixture, &client);
    client_finish(&client);
}
END_TEST

START_TEST(time_held_is_counted_while_a_step_still_runs)
{
    struct client client;
    uint64_t held_us;

    ask(&client, 1, 20);
    client_until_over(&fixture, &client);

    held_us = governor_loop_held_us(&fixture.hub->governor_loop, PROCESSOR_CPU, clock_mono_us());
    ck_assert_uint_ge(held_us, 20 * 5000);
    ck_assert_uint_eq(governor_loop_held_us(&fixture.hub->governor_loop, PROCESSOR_GPU, clock_mono_us()), 0);
    client_finish(&client);
}
END_TEST

/* Each token waits 20 ms and works for 5: what is held, and what the cost model learns from, leaves out the waits. */
START_TEST(waits_are_neither_held_nor_learnt)
{
    struct client client;
    uint64_t from_us;
    uint64_t worked_us;

    fixture_end(&fixture);
    fixture_prepare(&fixture, "always do wait 20\nalways do slow 5\n");
    fixture_open(&fixture);
    fixture_until_ready(&fixture);
    from_us = clock_mono_us();
    ask(&client, 1, 10);
    client_until_over(&fixture, &client);
    worked_us = clock_mono_us() - from_us - 10 * 20000;

    ck_assert_uint_le(governor_loop_held_us(&fixture.hub->governor_loop, PROCESSOR_CPU, clock_mono_us()), worked_us);
    ck_assert_uint_ge(fixture.hub->streams.dispatch.ended_held_us, 10 * 5000);
    ck_assert_uint_le(fixture.hub->streams.dispatch.ended_held_us, worked_us);
    client_finish(&client);
}
END_TEST

static bool stands_still(void *owner)
{
    (void)owner;
    return hub_is_still(fixture.hub);
}

static bool is_paused(void *owner)
{
    return cores()->duty_permille == 0 && stands_still(owner);
}

START_TEST(busy_for_stops_work_at_once)
{
    struct client client;
    uint32_t n;

    ask(&client, 1, 60);
    client_until_tokens(&fixture, &client, 3);
    hint(0, 0, 60000000);
    fixture_until(&fixture, is_paused, NULL);
    n = client.n_tokens;
    fixture_run(&fixture, 300);

    ck_assert_uint_eq(client.n_tokens, n);
    ck_assert_uint_eq(cores()->duty_permille, 0);
    ck_assert(fixture_had(&fixture, "mode-changed"));
    hub_hint_ends(fixture.hub, &compositor);
    client_until_over(&fixture, &client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 60);
    client_finish(&client);
}
END_TEST

START_TEST(busy_for_ends_by_itself_and_not_before_its_time)
{
    struct client client;
    uint64_t told_us = clock_mono_us();

    hint(0, 0, 300000);
    ask(&client, 1, 60);
    client_until_tokens(&fixture, &client, 1);

    ck_assert_uint_ge(clock_mono_us(), told_us + 300000);
    client_until_over(&fixture, &client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 60);
    hub_hint_ends(fixture.hub, &compositor);
    client_finish(&client);
}
END_TEST

START_TEST(a_throttled_stream_is_notified_and_notified_when_that_is_over)
{
    struct client client;

    ask(&client, 1, 400);
    client_until_tokens(&fixture, &client, 3);
    hint(0, 0, 1200000);
    client_until_tokens(&fixture, &client, 100);
    hub_hint_ends(fixture.hub, &compositor);
    client_until_over(&fixture, &client);

    ck_assert_uint_ge(client.n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_THROTTLED], 1);
    ck_assert_uint_ge(client.n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_RESUMED], 1);
    ck_assert_uint_le(client.n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_THROTTLED], 4);
    client_finish(&client);
}
END_TEST

START_TEST(one_compositor_does_not_end_what_another_has_asked_for)
{
    struct client client;
    uint64_t told_us = clock_mono_us();

    hint(16667, 0, 60000000);
    hint_by(&neighbour, 16667, 0, 0);
    ask(&client, 1, 5);
    fixture_run(&fixture, 100);
    ck_assert_uint_eq(client.n_tokens, 0);
    hub_hint_ends(fixture.hub, &neighbour);
    fixture_run(&fixture, 100);
    ck_assert_uint_eq(client.n_tokens, 0);
    ck_assert_uint_ge(cores()->busy_until_us, told_us + 60000000);

    hub_hint_ends(fixture.hub, &compositor);

    client_until_over(&fixture, &client);
    ck_assert_uint_eq(cores()->busy_until_us, 0);
    client_finish(&client);
}
END_TEST

START_TEST(hints_are_void_when_their_compositor_is_gone)
{
    struct client client;

    hint(16667, 0, 60000000);
    ask(&client, 1, 5);
    fixture_run(&fixture, 100);
    ck_assert_uint_eq(client.n_tokens, 0);

    hub_hint_ends(fixture.hub, &compositor);

    client_until_over(&fixture, &client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    client_finish(&client);
}
END_TEST

START_TEST(asleep_all_stands_still_and_awake_the_answer_goes_on)
{
    struct client plain;
    struct client client;
    uint32_t n;

    ask(&plain, 1, 40);
    client_until_over(&fixture, &plain);
    ask(&client, 1, 40);
    client_until_tokens(&fixture, &client, 3);
    hub_sleep(fixture.hub);
    fixture_until(&fixture, stands_still, NULL);
    n = client.n_tokens;
    fixture_run(&fixture, 100);
    ck_assert_uint_eq(client.n_tokens, n);

    hub_wake(fixture.hub);

    client_until_over(&fixture, &client);
    client_assert_same(&plain, &client);
    client_finish(&plain);
    client_finish(&client);
}
END_TEST

START_TEST(a_request_during_sleep_waits)
{
    struct client client;

    hub_sleep(fixture.hub);
    ask(&client, 1, 3);
    fixture_run(&fixture, 100);
    ck_assert_uint_eq(client.n_tokens, 0);

    hub_wake(fixture.hub);
    client_until_over(&fixture, &client);

    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 3);
    client_finish(&client);
}
END_TEST

/* ---- energy */

START_TEST(stated_watts_are_charged_and_marked_as_estimated)
{
    struct client client;

    ask(&client, 1, 20);
    client_until_over(&fixture, &client);

    ck_assert_int_eq(client.usage.energy_source, SOTTO__V1__ENERGY_SOURCE__ENERGY_ESTIMATED);
    ck_assert_uint_ge(client.usage.energy_uj, 20 * 5000 * 5); /* 5 W for at least 5 ms a token */
    client_finish(&client);
}
END_TEST

START_TEST(two_of_one_step_share_its_energy)
{
    struct client one;
    struct client two;
    uint64_t held_us;

    ask(&one, 1, 30);
    ask(&two, 2, 30);
    client_until_over(&fixture, &one);
    client_until_over(&fixture, &two);

    held_us = governor_loop_held_us(&fixture.hub->governor_loop, PROCESSOR_CPU, clock_mono_us());
    ck_assert_uint_le(one.usage.energy_uj + two.usage.energy_uj, held_us * 5 + 100);
    ck_assert_uint_ge(one.usage.energy_uj + two.usage.energy_uj, held_us * 5 * 8 / 10);
    client_finish(&one);
    client_finish(&two);
}
END_TEST

static bool has_spent_a_joule(void *owner)
{
    return ((struct client *)owner)->stream->usage.energy_uj >= 1000000;
}

START_TEST(a_budget_of_joules_refuses_with_a_time)
{
    struct client client;
    struct client second;

    fixture.grant.energy_a_minute = 1;
    ask(&client, 1, 100); /* 2.5 J */
    fixture_until(&fixture, has_spent_a_joule, &client);
    client_init(&second, 2, 4, 3);

    client_refused(&fixture, &second, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "joules a minute");

    stream_cancel(client.stream);
    client_until_over(&fixture, &client);
    client_finish(&client);
    client_finish(&second);
}
END_TEST

START_TEST(a_budget_of_joules_pauses_the_running_request)
{
    struct client client;
    uint64_t from_us;
    uint32_t n;

    fixture.grant.energy_a_minute = 1;
    ask(&client, 1, 400); /* 0.025 J and more a token */
    fixture_until(&fixture, has_spent_a_joule, &client);
    from_us = clock_mono_us();
    n = client.n_tokens;
    fixture_run(&fixture, 200);

    /* Two steps may have been under way, and each second allows 1/60 J more. */
    ck_assert_uint_le(client.n_tokens, n + 2 + (clock_mono_us() - from_us) / 1000000);
    stream_cancel(client.stream);
    client_until_over(&fixture, &client);
    client_finish(&client);
}
END_TEST

START_TEST(status_tells_both_places_and_the_account)
{
    Sotto__V1__StatusReport report = SOTTO__V1__STATUS_REPORT__INIT;
    struct arena arena;
    struct client client;

    ask(&client, 1, 10);
    client_until_over(&fixture, &client);
    arena_init(&arena, MEM_MISC, 1u << 20);

    ck_assert_int_eq(hub_governor_fill(fixture.hub, &fixture.grant, &arena, &report), 0);

    ck_assert_uint_eq(report.n_governor, 2);
    ck_assert_str_eq(report.governor[1]->processor, "cores");
    ck_assert_str_eq(report.governor[1]->mode, "full");
    ck_assert_uint_eq(report.n_accounts, 1);
    ck_assert_uint_eq(report.accounts[0]->tokens, 13); /* rows: the last token is not computed again */
    ck_assert_uint_gt(report.accounts[0]->energy_uj, 0);
    arena_finish(&arena);
    client_finish(&client);
}
END_TEST

START_TEST(strangers_do_not_see_each_others_accounts)
{
    Sotto__V1__StatusReport report = SOTTO__V1__STATUS_REPORT__INIT;
    struct grant other = { .uid = fixture.grant.uid + 1 };
    struct arena arena;
    struct client client;

    ask(&client, 1, 3);
    client_until_over(&fixture, &client);
    arena_init(&arena, MEM_MISC, 1u << 20);

    hub_governor_fill(fixture.hub, &other, &arena, &report);

    ck_assert_uint_eq(report.n_accounts, 0);
    arena_finish(&arena);
    client_finish(&client);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dispatch-governor-loop");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, setup, teardown);
    tcase_set_timeout(facts, 30);
    tcase_add_test(facts, it_ticks_while_there_is_work_and_a_little_longer);
    tcase_add_test(facts, a_parked_stream_costs_no_tick);
    tcase_add_test(facts, time_held_is_counted_while_a_step_still_runs);
    tcase_add_test(facts, waits_are_neither_held_nor_learnt);
    tcase_add_test(facts, busy_for_stops_work_at_once);
    tcase_add_test(facts, busy_for_ends_by_itself_and_not_before_its_time);
    tcase_add_test(facts, a_throttled_stream_is_notified_and_notified_when_that_is_over);
    tcase_add_test(facts, one_compositor_does_not_end_what_another_has_asked_for);
    tcase_add_test(facts, hints_are_void_when_their_compositor_is_gone);
    tcase_add_test(facts, asleep_all_stands_still_and_awake_the_answer_goes_on);
    tcase_add_test(facts, a_request_during_sleep_waits);
    tcase_add_test(facts, stated_watts_are_charged_and_marked_as_estimated);
    tcase_add_test(facts, two_of_one_step_share_its_energy);
    tcase_add_test(facts, a_budget_of_joules_refuses_with_a_time);
    tcase_add_test(facts, a_budget_of_joules_pauses_the_running_request);
    tcase_add_test(facts, status_tells_both_places_and_the_account);
    tcase_add_test(facts, strangers_do_not_see_each_others_accounts);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
