/* Steps that wait, stand still and go on, with fake engines: no token of any answer changes. */
#include "base/clock.h"
#include "hub_fixture.h"
#include <signal.h>

#define SLOW     201u /* a prompt with this id: each of its steps takes 40 ms longer */
#define PROMPT_N 4u

/* Facts about quickness are looked for again and again, until the machine lets one be quick, for this long. */
#define PATIENCE_US 60000000u

static struct fixture fixture;

static void setup(void)
{
    fixture_begin(&fixture, "when 201 do slow 40\nwhen 202 do slow 3\n");
}

static void teardown(void)
{
    fixture_end(&fixture);
}

static void ask(struct client *client, uint32_t first, uint32_t n_answer, Sotto__V1__PriorityClass priority)
{
    client_init(client, first, PROMPT_N, n_answer);
    client->generate.priority = priority;
    client_generate(&fixture, client);
}

static void ask_alone(struct client *client, uint32_t first, uint32_t n_answer)
{
    ask(client, first, n_answer, SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE);
    client_until_over(&fixture, client);
    client_assert_done(client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, n_answer);
}

static uint32_t n_standing(void)
{
    uint32_t n = 0;

    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        n += fixture.hub->streams.dispatch.steps[i].state == DISPATCH_SUSPENDED;
    }
    return n;
}

static bool is_still(void *owner)
{
    (void)owner;
    events_poke(&fixture.hub->events); /* as the governor's tick would */
    return hub_is_still(fixture.hub);
}

/* Lets the class gate suspend a step. If it has closed between two steps, it opens for a moment and closes again. */
static void close_gate_on_a_step(enum priority class_gate)
{
    for (;;) {
        fixture_limits(&fixture)->class_gate = class_gate;
        fixture_until(&fixture, is_still, NULL);
        if (n_standing() > 0) {
            return;
        }
        fixture_limits(&fixture)->class_gate = PRIORITY_BACKGROUND;
        events_poke(&fixture.hub->events);
        fixture_run(&fixture, 5);
    }
}

/* Lets a request of realtime pass one of background within a step, and compares both with @alone. Returns how long the
 * first token of the former took. */
static uint64_t pass_us(const struct client *alone)
{
    struct client low;
    struct client high;
    uint64_t from_us;
    uint64_t first_us;

    ask(&low, SLOW, 6, SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND);
    client_until_tokens(&fixture, &low, 2);
    fixture_run(&fixture, 10); /* within a step */
    from_us = clock_mono_us();
    ask(&high, 1, 4, SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME);
    client_until_tokens(&fixture, &high, 1);
    first_us = clock_mono_us() - from_us;
    client_until_over(&fixture, &high);
    client_until_over(&fixture, &low);

    client_assert_same(&low, &alone[0]);
    client_assert_same(&high, &alone[1]);
    client_finish(&low);
    client_finish(&high);
    return first_us;
}

START_TEST(realtime_passes_a_background_step_and_neither_changes_a_token)
{
    uint64_t until_us = clock_mono_us() + PATIENCE_US;
    struct client alone[2];

    ask_alone(&alone[0], SLOW, 6);
    ask_alone(&alone[1], 1, 4);
    while (pass_us(alone) >= 25000) { /* a step of the other takes 40 ms */
        ck_assert_msg(clock_mono_us() < until_us, "for a minute it has never passed a step");
    }

    ck_assert_uint_ge(fixture.hub->events.counts[COUNT_SUSPENDS], 1);
    client_finish(&alone[0]);
    client_finish(&alone[1]);
}
END_TEST

/* Lets 20 requests of realtime pass one of background, which must give the same as @alone. */
static void pass_often(const struct client *alone)
{
    struct client low;

    ask(&low, SLOW, 24, SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND);
    client_until_tokens(&fixture, &low, 1);
    for (uint32_t i = 0; i < 20; i++) {
        struct client high;

        fixture_run(&fixture, 5);
        ask(&high, 1 + i, 2, SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME);
        client_until_over(&fixture, &high);
        client_finish(&high);
    }
    client_until_over(&fixture, &low);

    client_assert_same(&low, alone);
    client_finish(&low);
}

START_TEST(twenty_requests_that_pass_do_not_change_the_one_that_waits)
{
    uint64_t until_us = clock_mono_us() + PATIENCE_US;
    uint64_t n_before;
    struct client alone;

    ask_alone(&alone, SLOW, 24);
    do { /* on a busy machine steps may end before the requests come that should pass them */
        ck_assert_msg(clock_mono_us() < until_us, "for a minute never 15 of 20 have passed a step");
        n_before = fixture.hub->events.counts[COUNT_SUSPENDS];
        pass_often(&alone);
    } while (fixture.hub->events.counts[COUNT_SUSPENDS] - n_before < 15);

    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_PREEMPTIONS], 0);
    client_finish(&alone);
}
END_TEST

START_TEST(slices_and_rests_change_no_token_and_hold_the_duty)
{
    struct client alone;
    struct client sliced;
    uint64_t from_us;
    uint64_t held_us;

    ask_alone(&alone, SLOW, 4);
    fixture_limits(&fixture)->slice_us = 2000;
    fixture_limits(&fixture)->duty_permille = 250;
    from_us = clock_mono_us();
    held_us = governor_loop_held_us(&fixture.hub->governor_loop, PROCESSOR_CPU, from_us);
    ask(&sliced, SLOW, 4, SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE);
    client_until_over(&fixture, &sliced);

    client_assert_same(&sliced, &alone);
    held_us = governor_loop_held_us(&fixture.hub->governor_loop, PROCESSOR_CPU, clock_mono_us()) - held_us;
    ck_assert_uint_ge(held_us, 4 * 40000);
    ck_assert_uint_ge(clock_mono_us() - from_us, 3 * held_us);
    client_finish(&alone);
    client_finish(&sliced);
}
END_TEST

START_TEST(a_gate_lets_a_step_stand_still_and_go_on)
{
    struct client alone;
    struct client low;
    struct client high;
    uint32_t n;

    ask_alone(&alone, SLOW, 5);
    ask(&low, SLOW, 5, SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND);
    client_until_tokens(&fixture, &low, 2);
    fixture_run(&fixture, 5);
    close_gate_on_a_step(PRIORITY_INTERACTIVE);
    n = low.n_tokens;
    ask(&high, 1, 8, SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE);
    client_until_over(&fixture, &high);
    client_assert_done(&high, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 8);
    fixture_run(&fixture, 100);
    ck_assert_uint_eq(low.n_tokens, n);
    fixture_limits(&fixture)->class_gate = PRIORITY_BACKGROUND;
    events_poke(&fixture.hub->events);
    client_until_over(&fixture, &low);

    client_assert_same(&low, &alone);
    client_finish(&alone);
    client_finish(&low);
    client_finish(&high);
}
END_TEST

START_TEST(a_suspended_request_that_is_cancelled_ends_and_gives_all_back)
{
    struct client low;

    ask(&low, SLOW, 50, SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND);
    client_until_tokens(&fixture, &low, 1);
    close_gate_on_a_step(PRIORITY_REALTIME);
    stream_cancel(low.stream);
    client_until_over(&fixture, &low);
    ck_assert_int_eq(low.reason, SOTTO__V1__FINISH_REASON__FINISH_CANCELLED);
    fixture_until_idle(&fixture); /* it passed the class gate to end */
    client_finish(&low);
}
END_TEST

START_TEST(an_engine_lost_while_a_step_stands_still_changes_no_token)
{
    struct client alone;
    struct client low;

    ask_alone(&alone, SLOW, 5);
    ask(&low, SLOW, 5, SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND);
    client_until_tokens(&fixture, &low, 2);
    close_gate_on_a_step(PRIORITY_REALTIME);
    fixture_kill_engine(&fixture, SIGABRT);
    fixture_until_ready(&fixture);
    ck_assert(low.stream->mark.suspect); /* its step had begun */
    fixture_limits(&fixture)->class_gate = PRIORITY_BACKGROUND;
    events_poke(&fixture.hub->events);
    client_until_over(&fixture, &low);

    client_assert_same(&low, &alone);
    ck_assert_uint_eq(low.n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_REBUILDING], 1);
    client_finish(&alone);
    client_finish(&low);
}
END_TEST

START_TEST(steps_wait_behind_steps_and_a_stop_wastes_the_last)
{
    uint64_t until_us = clock_mono_us() + PATIENCE_US;
    struct client alone;
    struct client stopped;
    char stop[8];

    ask_alone(&alone, 202, 20);
    while (fixture.hub->streams.dispatch.n_pipelined < 15) {
        client_finish(&alone);
        ask_alone(&alone, 202, 20); /* again: on a busy machine a step may end before the next one comes */
        ck_assert_msg(clock_mono_us() < until_us, "for a minute steps have not waited behind steps");
    }
    /* Stops at a text of the answer's middle, which ends the same answer there. */
    snprintf(stop, sizeof(stop), "%.4s", alone.text + alone.n_text / 2);
    client_init(&stopped, 202, PROMPT_N, 20);
    stopped.generate.stop = &(ProtobufCBinaryData){ .data = (uint8_t *)stop, .len = strlen(stop) };
    stopped.generate.n_stop = 1;
    client_generate(&fixture, &stopped);
    client_until_over(&fixture, &stopped);
    fixture_until_idle(&fixture);

    ck_assert_int_eq(stopped.reason, SOTTO__V1__FINISH_REASON__FINISH_STOP);
    ck_assert_mem_eq(stopped.text, alone.text, stopped.n_text);
    client_finish(&alone);
    client_finish(&stopped);
}
END_TEST

START_TEST(credit_is_never_overrun_by_a_step_that_waits)
{
    Sotto__V1__Credit credit = SOTTO__V1__CREDIT__INIT;
    struct client client;

    client_init(&client, 202, PROMPT_N, 12);
    client.generate.opt_credit_case = SOTTO__V1__GENERATE__OPT_CREDIT_CREDIT;
    client.generate.credit = 3;
    client_generate(&fixture, &client);
    for (uint32_t n = 3; n < 12; n += 3) {
        client_until_tokens(&fixture, &client, n);
        fixture_run(&fixture, 30);
        ck_assert_uint_eq(client.n_tokens, n);
        credit.tokens = 3;
        stream_credit(client.stream, &credit);
    }
    client_until_over(&fixture, &client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 12);
    client_finish(&client);
}
END_TEST

/* ---- beside the watchdog */

#define STEP_FLOOR_MS 4000u

static void watched_setup(void)
{
    fixture_prepare(&fixture, "when 201 do slow 40\n");
    fixture.config.step_floor_ms = STEP_FLOOR_MS;
    fixture_open(&fixture);
    fixture_until_ready(&fixture);
}

START_TEST(a_paused_machine_stops_within_a_step)
{
    struct client alone;
    struct client client;

    ask_alone(&alone, SLOW, 4);
    ask(&client, SLOW, 4, SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME);
    client_until_tokens(&fixture, &client, 1);
    fixture_limits(&fixture)->duty_permille = 0;
    fixture_until(&fixture, is_still, NULL);
    fixture_run(&fixture, STEP_FLOOR_MS + 500); /* what stands still is not awaited by the watchdog */
    ck_assert_uint_eq(client.n_ends, 0);
    fixture_limits(&fixture)->duty_permille = 1000;
    events_poke(&fixture.hub->events);
    client_until_over(&fixture, &client);

    client_assert_same(&client, &alone);
    ck_assert_uint_eq(client.n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_REBUILDING], 0);
    client_finish(&alone);
    client_finish(&client);
}
END_TEST

/* ---- where all places are taken */

#define FEW 4u

static void few_setup(void)
{
    fixture_prepare(&fixture, "when 201 do slow 40\n");
    fixture.settings.n_sequences = FEW;
    fixture_open(&fixture);
    fixture_until_ready(&fixture);
}

static uint32_t n_tokens_of(const struct client *clients)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < FEW; i++) {
        n += clients[i].n_tokens;
    }
    return n;
}

/* Lets a request of realtime pass those of background that have all slots. Returns the tokens that these got before its
 * first one. */
static uint32_t n_waited_for(void)
{
    struct client low[FEW];
    struct client high;
    uint32_t n;

    for (uint32_t i = 0; i < FEW; i++) {
        ask(&low[i], SLOW, 6, SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND);
    }
    for (uint32_t i = 0; i < FEW; i++) {
        client_until_tokens(&fixture, &low[i], 2); /* a step of 160 ms has just begun */
    }
    n = n_tokens_of(low);
    ask(&high, 1, 4, SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME);
    client_until_tokens(&fixture, &high, 1);
    n = n_tokens_of(low) - n;
    client_until_over(&fixture, &high);

    client_assert_done(&high, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 4);
    client_finish(&high);
    for (uint32_t i = 0; i < FEW; i++) {
        client_until_over(&fixture, &low[i]);
        client_assert_done(&low[i], SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 6);
        client_finish(&low[i]);
    }
    return n;
}

START_TEST(realtime_waits_for_no_step_of_the_requests_that_have_all_slots)
{
    uint64_t until_us = clock_mono_us() + PATIENCE_US;

    while (n_waited_for() > 0) {
        ck_assert_msg(clock_mono_us() < until_us, "for a minute it has always waited for a step");
    }
    ck_assert_uint_ge(fixture.hub->events.counts[COUNT_PREEMPTIONS], 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dispatch-dispatcher");
    TCase *tcase = tcase_create("all");
    TCase *watched = tcase_create("watchdog");
    TCase *few = tcase_create("few places");

    tcase_add_checked_fixture(tcase, setup, teardown);
    unit_add(tcase, realtime_passes_a_background_step_and_neither_changes_a_token,
             twenty_requests_that_pass_do_not_change_the_one_that_waits,
             slices_and_rests_change_no_token_and_hold_the_duty, a_gate_lets_a_step_stand_still_and_go_on,
             a_suspended_request_that_is_cancelled_ends_and_gives_all_back,
             an_engine_lost_while_a_step_stands_still_changes_no_token,
             steps_wait_behind_steps_and_a_stop_wastes_the_last, credit_is_never_overrun_by_a_step_that_waits);
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(watched, watched_setup, teardown);
    tcase_add_test(watched, a_paused_machine_stops_within_a_step);
    suite_add_tcase(suite, watched);
    tcase_add_checked_fixture(few, few_setup, teardown);
    tcase_add_test(few, realtime_waits_for_no_step_of_the_requests_that_have_all_slots);
    suite_add_tcase(suite, few);
    return unit_run(suite);
}
