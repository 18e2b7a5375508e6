/* Credit, stalls, slots that are given up, and budgets: a client that does not read delays no other. */
#include "base/clock.h"
#include "hub_fixture.h"

static struct fixture fixture;

static void grant(struct client *client, uint32_t n)
{
    Sotto__V1__Credit credit = SOTTO__V1__CREDIT__INIT;

    credit.tokens = n;
    stream_credit(client->stream, &credit);
}

static void ask_with_credit(struct client *client, uint32_t first, uint32_t n_answer, uint32_t credit)
{
    client_init(client, first, 4, n_answer);
    client->generate.opt_credit_case = SOTTO__V1__GENERATE__OPT_CREDIT_CREDIT;
    client->generate.credit = credit;
    client_generate(&fixture, client);
}

static void setup(void)
{
    fixture_prepare(&fixture, "when 202 do slow 5\n");
    fixture.settings.n_sequences = 1;
    fixture_open(&fixture);
    fixture_until_ready(&fixture);
}

static void teardown(void)
{
    fixture_end(&fixture);
}

static bool is_parked(void *owner)
{
    return ((struct client *)owner)->stream->state == STREAM_PARKED;
}

static bool stands_still(void *owner)
{
    (void)owner;
    return hub_is_still(fixture.hub);
}

static bool was_accepted(void *owner)
{
    return ((struct client *)owner)->n_accepted > 0;
}

START_TEST(no_token_comes_without_credit)
{
    struct client client;

    ask_with_credit(&client, 1, 10, 3);
    client_until_tokens(&fixture, &client, 3);
    fixture_until(&fixture, is_parked, &client);
    fixture_run(&fixture, 50);
    ck_assert_uint_eq(client.n_tokens, 3);
    grant(&client, 2);
    client_until_tokens(&fixture, &client, 5);
    fixture_run(&fixture, 50);
    ck_assert_uint_eq(client.n_tokens, 5);
    grant(&client, 100);
    client_until_over(&fixture, &client);

    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 10);
    client_finish(&client);
}
END_TEST

START_TEST(without_any_credit_nothing_is_opened)
{
    struct client client;

    ask_with_credit(&client, 1, 4, 0);
    fixture_until(&fixture, was_accepted, &client);
    fixture_run(&fixture, 50);
    ck_assert_uint_eq(fixture_model(&fixture)->current->eq.n_taken, 0);
    grant(&client, 4);
    client_until_over(&fixture, &client);

    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 4);
    client_finish(&client);
}
END_TEST

START_TEST(credit_adds_up_to_a_ceiling_and_never_wraps)
{
    struct client client;

    ask_with_credit(&client, 202, 6, 2);
    grant(&client, UINT32_MAX);
    grant(&client, UINT32_MAX);
    ck_assert_uint_eq(client.stream->credit.n_tok, 1u << 31);
    client_until_over(&fixture, &client);

    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 6);
    client_finish(&client);
}
END_TEST

START_TEST(a_stalled_reader_stops_its_stream_and_goes_on_where_it_was)
{
    struct client client;
    uint32_t n;

    client_init(&client, 202, 4, 30);
    client_generate(&fixture, &client);
    client_until_tokens(&fixture, &client, 3);
    stream_park(client.stream, true);
    fixture_until(&fixture, stands_still, NULL);
    n = client.n_tokens;
    fixture_run(&fixture, 60);
    ck_assert_uint_eq(client.n_tokens, n);
    stream_park(client.stream, false);
    client_until_over(&fixture, &client);

    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 30);
    client_finish(&client);
}
END_TEST

START_TEST(a_parked_stream_gives_its_slot_up_and_is_rebuilt_with_the_same_tokens)
{
    struct client parked;
    struct client other;
    struct client undisturbed;

    client_init(&undisturbed, 1, 4, 12);
    client_generate(&fixture, &undisturbed);
    client_until_over(&fixture, &undisturbed);
    ask_with_credit(&parked, 1, 12, 5);
    client_until_tokens(&fixture, &parked, 5);
    client_init(&other, 2, 4, 10); /* there is one slot, and the parked one has it */
    client_generate(&fixture, &other);
    client_until_over(&fixture, &other);
    client_assert_done(&other, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 10);
    ck_assert_uint_eq(parked.n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_PREEMPTED], 1);
    ck_assert_int_eq(parked.stream->state, STREAM_WAITING);
    grant(&parked, 100);
    client_until_over(&fixture, &parked);

    client_assert_done(&parked, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 12);
    client_assert_same(&parked, &undisturbed);
    ck_assert_uint_eq(parked.n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_RESUMED], 1);
    ck_assert_uint_eq(parked.usage.rebuilds, 0);
    client_finish(&parked);
    client_finish(&other);
    client_finish(&undisturbed);
}
END_TEST

START_TEST(a_parked_stream_can_be_cancelled)
{
    struct client client;

    ask_with_credit(&client, 1, 12, 5);
    client_until_tokens(&fixture, &client, 5);
    stream_cancel(client.stream);
    client_until_over(&fixture, &client);

    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_CANCELLED, 5);
    ck_assert_uint_eq(fixture_model(&fixture)->current->eq.n_taken, 0);
    client_finish(&client);
}
END_TEST

START_TEST(waiting_requests_have_places_and_a_cancelled_one_never_starts)
{
    struct client clients[4];

    for (size_t i = 0; i < 4; i++) {
        client_init(&clients[i], 202, 4, i == 0 ? 100 : 10);
        client_generate(&fixture, &clients[i]);
    }
    fixture_until(&fixture, was_accepted, &clients[3]);
    ck_assert_uint_eq(clients[0].queue_position, 0);
    ck_assert_uint_eq(clients[3].queue_position, 3);
    stream_cancel(clients[1].stream);
    stream_forget(clients[2].stream);
    client_until_over(&fixture, &clients[1]);
    ck_assert_uint_eq(clients[1].usage.generated_tokens, 0);
    client_until_over(&fixture, &clients[0]);
    client_until_over(&fixture, &clients[3]);

    client_assert_done(&clients[0], SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 100);
    client_assert_done(&clients[3], SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 10);
    ck_assert_uint_eq(clients[2].n_ends, 0);
    for (size_t i = 0; i < 4; i++) {
        client_finish(&clients[i]);
    }
}
END_TEST

START_TEST(a_spent_budget_throttles_a_running_stream_and_it_goes_on)
{
    struct account *account;
    struct client client;

    fixture.grant.tokens_a_minute = 6000; /* a token each 10 ms, once the minute is spent */
    client_init(&client, 202, 4, 20);
    client_generate(&fixture, &client);
    client_until_tokens(&fixture, &client, 2);
    ck_assert_int_eq(accounts_get(&fixture.hub->streams.queue.accounts, 1000, &account), 0);
    account_spend(account, 6000, 6000, clock_boot_us());
    client_until_over(&fixture, &client);

    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 20);
    ck_assert_uint_ge(client.n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_THROTTLED], 1);
    ck_assert_uint_ge(client.n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_RESUMED], 1);
    client_finish(&client);
}
END_TEST

/* Opens the fixture again: 8 slots and a pool of 4 pages of 16 tokens. */
static void begin_narrow(void)
{
    fixture_end(&fixture);
    fixture_prepare(&fixture, "always do slow 2\npages 4\ncontext 256\n");
    fixture.settings.n_sequences = 8;
    fixture_open(&fixture);
    fixture_until_ready(&fixture);
}

START_TEST(a_request_without_a_free_page_waits_until_one_is_given_back)
{
    struct client clients[6];

    begin_narrow();
    for (size_t i = 0; i < 6; i++) {
        client_init(&clients[i], (uint32_t)i + 1, 20, 20); /* three pages each: one at a time */
        client_generate(&fixture, &clients[i]);
    }
    for (size_t i = 0; i < 6; i++) {
        client_until_over(&fixture, &clients[i]);
        client_assert_done(&clients[i], SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 20);
        client_finish(&clients[i]);
    }

    ck_assert_uint_eq(fixture_model(&fixture)->current->eq.n_taken, 0);
}
END_TEST

static bool is_opening(void *owner)
{
    return ((struct client *)owner)->stream->job.state == JOB_OPENING;
}

START_TEST(a_request_refused_for_one_that_has_left_meanwhile_is_opened_again)
{
    struct client first;
    struct client second;

    begin_narrow();
    ask_with_credit(&first, 1, 40, 2);
    client_until_tokens(&fixture, &first, 2); /* parked, with its pages */
    client_init(&second, 2, 4, 40);
    client_generate(&fixture, &second);
    fixture_until(&fixture, is_opening, &second);
    stream_cancel(first.stream); /* the engine's refusal is on its way */
    client_until_over(&fixture, &second);

    client_assert_done(&second, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 40);
    client_finish(&first);
    client_finish(&second);
}
END_TEST

START_TEST(what_never_fits_is_refused_with_numbers_and_others_go_on)
{
    struct client large[2];
    struct client small;

    begin_narrow();
    client_init(&large[0], 1, 40, 100);
    client_init(&large[1], 1, 40, 100);
    client_init(&small, 1, 4, 5);
    client_generate(&fixture, &large[0]);
    client_generate(&fixture, &large[1]);
    client_generate(&fixture, &small);
    for (size_t i = 0; i < 2; i++) {
        client_until_over(&fixture, &large[i]);
        client_assert_failed(&large[i], SOTTO__V1__CODE__CODE_OUT_OF_RANGE, "4 in all");
        client_finish(&large[i]);
    }
    client_until_over(&fixture, &small);

    client_assert_done(&small, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    client_finish(&small);
}
END_TEST

START_TEST(two_requests_without_a_page_in_an_empty_pool_both_fail)
{
    struct client clients[2];

    fixture_end(&fixture);
    fixture_begin(&fixture, "when 200 at open do refuse no-pages\n");
    for (size_t i = 0; i < 2; i++) {
        client_init(&clients[i], 200, 4, 5);
        client_generate(&fixture, &clients[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        client_until_over(&fixture, &clients[i]);
        client_assert_failed(&clients[i], SOTTO__V1__CODE__CODE_OUT_OF_RANGE, "pages");
        client_finish(&clients[i]);
    }
}
END_TEST

START_TEST(a_higher_class_gets_a_slot_before_earlier_requests)
{
    struct client first;
    struct client low;
    struct client high;

    client_init(&first, 202, 4, 10);
    client_init(&low, 202, 4, 10);
    client_init(&high, 202, 4, 10);
    low.generate.priority = SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND;
    high.generate.priority = SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME;
    client_generate(&fixture, &first);
    client_generate(&fixture, &low);
    client_until_tokens(&fixture, &first, 1);
    client_generate(&fixture, &high);
    client_until_over(&fixture, &high);
    ck_assert_uint_eq(low.n_tokens, 0);
    client_until_over(&fixture, &low);

    client_assert_done(&low, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 10);
    client_finish(&first);
    client_finish(&low);
    client_finish(&high);
}
END_TEST

START_TEST(an_engine_that_refuses_a_token_fails_its_request_alone)
{
    struct client guilty;
    struct client other;

    fixture_end(&fixture);
    fixture_begin(&fixture, "when 200 at open do refuse bad-token\n");
    client_init(&guilty, 200, 4, 5);
    client_init(&other, 1, 4, 5);
    client_generate(&fixture, &guilty);
    client_generate(&fixture, &other);
    client_until_over(&fixture, &guilty);
    client_until_over(&fixture, &other);

    client_assert_failed(&guilty, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, "does not take");
    client_assert_done(&other, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    client_finish(&guilty);
    client_finish(&other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream-credit");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, no_token_comes_without_credit);
    tcase_add_test(tcase, without_any_credit_nothing_is_opened);
    tcase_add_test(tcase, credit_adds_up_to_a_ceiling_and_never_wraps);
    tcase_add_test(tcase, a_stalled_reader_stops_its_stream_and_goes_on_where_it_was);
    tcase_add_test(tcase, a_parked_stream_gives_its_slot_up_and_is_rebuilt_with_the_same_tokens);
    tcase_add_test(tcase, a_parked_stream_can_be_cancelled);
    tcase_add_test(tcase, waiting_requests_have_places_and_a_cancelled_one_never_starts);
    tcase_add_test(tcase, a_spent_budget_throttles_a_running_stream_and_it_goes_on);
    tcase_add_test(tcase, a_request_without_a_free_page_waits_until_one_is_given_back);
    tcase_add_test(tcase, a_request_refused_for_one_that_has_left_meanwhile_is_opened_again);
    tcase_add_test(tcase, what_never_fits_is_refused_with_numbers_and_others_go_on);
    tcase_add_test(tcase, two_requests_without_a_page_in_an_empty_pool_both_fail);
    tcase_add_test(tcase, a_higher_class_gets_a_slot_before_earlier_requests);
    tcase_add_test(tcase, an_engine_that_refuses_a_token_fails_its_request_alone);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
