/* What is admitted and what is refused, with a hub and fake engines: deadlines, the class gate, places in the queue. */
#include "base/clock.h"
#include "hub_fixture.h"
#include "proto/limit.h"

#define SLOW     201u /* a prompt with this id: each of its steps takes 40 ms longer */
#define PROMPT_N 4u

/* A busy machine may prevent a test from beginning in time; it is tried again and again for this long. */
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

/* ---- deadlines */

static void ask_by(struct client *client, uint32_t first, uint32_t n_answer, uint32_t first_ms, uint32_t finish_ms)
{
    client_init(client, first, PROMPT_N, n_answer);
    client->generate.opt_first_token_by_ms_case =
        first_ms ? SOTTO__V1__GENERATE__OPT_FIRST_TOKEN_BY_MS_FIRST_TOKEN_BY_MS : 0;
    client->generate.first_token_by_ms = first_ms;
    client->generate.opt_finish_by_ms_case = finish_ms ? SOTTO__V1__GENERATE__OPT_FINISH_BY_MS_FINISH_BY_MS : 0;
    client->generate.finish_by_ms = finish_ms;
    client_generate(&fixture, client);
}

START_TEST(a_deadline_that_can_be_met_is)
{
    struct client client;

    ask_by(&client, 202, 5, 60000, 90000);
    client_until_over(&fixture, &client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    client_finish(&client);
}
END_TEST

START_TEST(what_can_not_be_met_is_refused_with_both_times)
{
    struct client warm;
    struct client client;

    client_init(&warm, SLOW, PROMPT_N, 20);
    client_generate(&fixture, &warm);
    client_until_over(&fixture, &warm);   /* so that the cost of a step is known */
    ask_by(&client, SLOW, 500, 0, 10000); /* it would take 20 s */
    client_until_over(&fixture, &client);
    client_assert_failed(&client, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "within 10000 ms");
    client_assert_failed(&client, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "estimated for ");
    ck_assert_uint_eq(client.n_tokens, 0);
    client_finish(&warm);
    client_finish(&client);
}
END_TEST

START_TEST(what_is_gated_is_refused_with_the_reason)
{
    struct client client;

    fixture_limits(&fixture)->class_gate = PRIORITY_REALTIME;
    fixture_limits(&fixture)->cause = GOVERNOR_HEAT;
    ask_by(&client, 1, 4, 60000, 0);
    client_until_over(&fixture, &client);
    client_assert_failed(&client, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "heat");
    fixture_limits(&fixture)->class_gate = PRIORITY_BACKGROUND;
    client_finish(&client);
}
END_TEST

static bool has_begun_or_ended(void *owner)
{
    const struct client *client = owner;

    return client->n_tokens >= 2 || client->n_ends > 0;
}

/* Asks with 1.5 s to finish and pauses the machine until then. Returns false if the request had ended before the pause,
 * as may happen on a busy machine. */
static bool is_late(void)
{
    uint64_t from_us = clock_mono_us();
    struct client client;
    bool was_paused;

    ask_by(&client, 202, 30, 0, 1500);
    fixture_until(&fixture, has_begun_or_ended, &client);
    was_paused = client.n_ends == 0;
    fixture_limits(&fixture)->duty_permille = 0;
    events_poke(&fixture.hub->events);
    client_until_over(&fixture, &client);
    if (was_paused) {
        client_assert_failed(&client, SOTTO__V1__CODE__CODE_DEADLINE_EXCEEDED, "1500 ms");
        ck_assert_uint_ge(clock_mono_us() - from_us, 1500000);
    }
    fixture_limits(&fixture)->duty_permille = 1000;
    events_poke(&fixture.hub->events);
    fixture_until_idle(&fixture);
    client_finish(&client);
    return was_paused;
}

START_TEST(a_deadline_that_passes_unmet_ends_the_request)
{
    uint64_t until_us = clock_mono_us() + PATIENCE_US;

    while (!is_late()) {
        ck_assert_msg(clock_mono_us() < until_us, "for a minute no request has begun within its deadline");
    }
    ck_assert_uint_ge(fixture.hub->events.counts[COUNT_LATE], 1);
}
END_TEST

/* ---- the queue */

#define CROWD (LIMIT_WAITING + 8u)

struct crowd {
    struct client clients[3 * CROWD];
    uint32_t n;
    char sentence[DIAG_BYTES]; /* of the last refusal */
};

/* Makes @n more requests of the user @uid. Returns how many were taken in. */
static uint32_t crowd_in(struct crowd *crowd, uint32_t uid, uint32_t n, Sotto__V1__PriorityClass priority)
{
    uint32_t n_in = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct client *client = &crowd->clients[crowd->n++];
        struct diag diag = DIAG_INIT;
        uint32_t retry_ms = 0;
        struct grant grant = fixture.grant;
        int r;

        grant.uid = uid;
        client_init(client, 202, PROMPT_N, 1000);
        client->generate.priority = priority;
        r = hub_generate(fixture.hub, &client->generate, &grant, client->sink, client, &client->stream, &retry_ms,
                         &diag);
        n_in += r == 0;
        if (r) {
            ck_assert_int_eq(r, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED);
            ck_assert_uint_gt(retry_ms, 0);
            snprintf(crowd->sentence, sizeof(crowd->sentence), "%s", diag.text);
        }
    }
    return n_in;
}

START_TEST(a_crowd_does_not_shut_the_door_to_higher_classes_nor_to_other_users)
{
    static struct crowd crowd;
    const Sotto__V1__PriorityClass low = SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND;
    const Sotto__V1__PriorityClass middle = SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE;
    const Sotto__V1__PriorityClass high = SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME;
    uint32_t n = 0;

    for (uint32_t i = 0; i < 4; i++) {
        n += crowd_in(&crowd, 2000 + i, LIMIT_WAITING_A_UID - 4, low);
    }
    ck_assert_uint_eq(n, LIMIT_WAITING - 3 * LIMIT_WAITING_KEPT + LIMIT_WAITING_FEW); /* the fourth's first ones */
    ck_assert_msg(strstr(crowd.sentence, "the queue is full"), "%s", crowd.sentence);
    ck_assert_uint_eq(crowd_in(&crowd, 2000, 1, low), 0);
    ck_assert_uint_eq(crowd_in(&crowd, 3000, 8, low), LIMIT_WAITING_FEW); /* another user's first ones */
    n += LIMIT_WAITING_FEW;
    n += crowd_in(&crowd, 3001, LIMIT_WAITING_A_UID - 4, middle);
    ck_assert_uint_eq(n, LIMIT_WAITING - 2 * LIMIT_WAITING_KEPT);
    n += crowd_in(&crowd, 3002, LIMIT_WAITING_A_UID - 4, high);
    ck_assert_uint_eq(n, LIMIT_WAITING - LIMIT_WAITING_KEPT);
    ck_assert_uint_eq(crowd_in(&crowd, 3003, 1, high), 1);
    for (uint32_t i = 0; i < crowd.n; i++) {
        if (crowd.clients[i].stream) {
            stream_cancel(crowd.clients[i].stream);
        }
    }
    fixture_until_idle(&fixture);
    for (uint32_t i = 0; i < crowd.n; i++) {
        client_finish(&crowd.clients[i]);
    }
}
END_TEST

START_TEST(the_length_of_an_answer_is_known_before_its_text_is_read)
{
    struct client client;

    client_init(&client, 202, PROMPT_N, 7);
    client_generate(&fixture, &client);
    ck_assert_int_eq(client.stream->job.state, JOB_HELD);
    ck_assert_uint_eq(client.stream->job.n_left, 7);
    client_until_over(&fixture, &client);

    client_finish(&client);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dispatch-admission");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, teardown);
    unit_add(tcase, a_deadline_that_can_be_met_is, what_can_not_be_met_is_refused_with_both_times,
             what_is_gated_is_refused_with_the_reason, a_deadline_that_passes_unmet_ends_the_request,
             a_crowd_does_not_shut_the_door_to_higher_classes_nor_to_other_users,
             the_length_of_an_answer_is_known_before_its_text_is_read);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
