/* Credit, stalls, seats that are given up, and budgets: who does not read is in nobody's way. */
#include "base/clock.h"
#include "house.h"

static struct house house;

static void grant(struct guest *guest, uint32_t n)
{
    Sotto__V1__Credit credit = SOTTO__V1__CREDIT__INIT;

    credit.tokens = n;
    stream_credit(guest->stream, &credit);
}

static void ask_with_credit(struct guest *guest, uint32_t first, uint32_t n_answer, uint32_t credit)
{
    guest_init(guest, first, 4, n_answer);
    guest->ask.opt_credit_case = SOTTO__V1__GENERATE__OPT_CREDIT_CREDIT;
    guest->ask.credit = credit;
    guest_ask(&house, guest);
}

static void setup(void)
{
    house_prepare(&house, "when 202 do slow 5\n");
    house.settings.n_sequences = 1;
    house_open(&house);
    house_until_ready(&house);
}

static void teardown(void)
{
    house_end(&house);
}

START_TEST(no_token_comes_without_credit)
{
    struct guest guest;

    ask_with_credit(&guest, 1, 10, 3);
    guest_until_tokens(&house, &guest, 3);
    house_run(&house, 50);
    ck_assert_uint_eq(guest.n_tokens, 3);
    ck_assert_int_eq(guest.stream->state, STREAM_PARKED);
    grant(&guest, 2);
    guest_until_tokens(&house, &guest, 5);
    house_run(&house, 50);
    ck_assert_uint_eq(guest.n_tokens, 5);
    grant(&guest, 100);
    guest_until_over(&house, &guest);

    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 10);
    guest_finish(&guest);
}
END_TEST

START_TEST(without_any_credit_nothing_is_opened)
{
    struct guest guest;

    ask_with_credit(&guest, 1, 4, 0);
    house_run(&house, 50);
    ck_assert_uint_eq(guest.n_accepted, 1);
    ck_assert_uint_eq(house_model(&house)->current->eq.n_taken, 0);
    grant(&guest, 4);
    guest_until_over(&house, &guest);

    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 4);
    guest_finish(&guest);
}
END_TEST

START_TEST(credit_adds_up_to_a_ceiling_and_never_wraps)
{
    struct guest guest;

    ask_with_credit(&guest, 202, 6, 2);
    grant(&guest, UINT32_MAX);
    grant(&guest, UINT32_MAX);
    ck_assert_uint_eq(guest.stream->credit, 1u << 31);
    guest_until_over(&house, &guest);

    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 6);
    guest_finish(&guest);
}
END_TEST

START_TEST(a_stalled_reader_stops_its_stream_and_goes_on_where_it_was)
{
    struct guest guest;
    uint32_t n;

    guest_init(&guest, 202, 4, 30);
    guest_ask(&house, &guest);
    guest_until_tokens(&house, &guest, 3);
    stream_park(guest.stream, true);
    house_run(&house, 30);
    n = guest.n_tokens;
    house_run(&house, 60);
    ck_assert_uint_le(guest.n_tokens, n + 1); /* on a busy machine the step that was under way may end late */
    stream_park(guest.stream, false);
    guest_until_over(&house, &guest);

    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 30);
    guest_finish(&guest);
}
END_TEST

START_TEST(a_parked_stream_gives_its_seat_up_and_is_rebuilt_with_the_same_tokens)
{
    struct guest parked;
    struct guest other;
    struct guest undisturbed;

    guest_init(&undisturbed, 1, 4, 12);
    guest_ask(&house, &undisturbed);
    guest_until_over(&house, &undisturbed);
    ask_with_credit(&parked, 1, 12, 5);
    guest_until_tokens(&house, &parked, 5);
    guest_init(&other, 2, 4, 10); /* there is one seat, and the parked one has it */
    guest_ask(&house, &other);
    guest_until_over(&house, &other);
    guest_assert_done(&other, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 10);
    ck_assert_uint_eq(parked.n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_PREEMPTED], 1);
    ck_assert_int_eq(parked.stream->state, STREAM_WAITING);
    grant(&parked, 100);
    guest_until_over(&house, &parked);

    guest_assert_done(&parked, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 12);
    guest_assert_same(&parked, &undisturbed);
    ck_assert_uint_eq(parked.n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_RESUMED], 1);
    ck_assert_uint_eq(parked.usage.rebuilds, 0);
    guest_finish(&parked);
    guest_finish(&other);
    guest_finish(&undisturbed);
}
END_TEST

START_TEST(a_parked_stream_can_be_cancelled)
{
    struct guest guest;

    ask_with_credit(&guest, 1, 12, 5);
    guest_until_tokens(&house, &guest, 5);
    stream_cancel(guest.stream);
    guest_until_over(&house, &guest);

    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_CANCELLED, 5);
    ck_assert_uint_eq(house_model(&house)->current->eq.n_taken, 0);
    guest_finish(&guest);
}
END_TEST

START_TEST(waiting_requests_have_places_and_a_cancelled_one_never_starts)
{
    struct guest guests[4];

    for (size_t i = 0; i < 4; i++) {
        guest_init(&guests[i], 202, 4, 10);
        guest_ask(&house, &guests[i]);
    }
    guest_until_tokens(&house, &guests[0], 1);
    ck_assert_uint_eq(guests[0].place, 0);
    ck_assert_uint_eq(guests[3].place, 3);
    stream_cancel(guests[1].stream);
    stream_forget(guests[2].stream);
    guest_until_over(&house, &guests[1]);
    ck_assert_uint_eq(guests[1].usage.generated_tokens, 0);
    guest_until_over(&house, &guests[0]);
    guest_until_over(&house, &guests[3]);

    guest_assert_done(&guests[0], SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 10);
    guest_assert_done(&guests[3], SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 10);
    ck_assert_uint_eq(guests[2].n_ends, 0);
    for (size_t i = 0; i < 4; i++) {
        guest_finish(&guests[i]);
    }
}
END_TEST

START_TEST(a_spent_budget_throttles_a_running_stream_and_it_goes_on)
{
    struct account *account;
    struct guest guest;

    house.grant.tokens_a_minute = 6000; /* a token each 10 ms, once the minute is spent */
    guest_init(&guest, 202, 4, 20);
    guest_ask(&house, &guest);
    guest_until_tokens(&house, &guest, 2);
    ck_assert_int_eq(accounts_get(&house.hub->queue.accounts, 1000, &account), 0);
    account_spend(account, 6000, 6000, clock_boot_us());
    guest_until_over(&house, &guest);

    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 20);
    ck_assert_uint_ge(guest.n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_THROTTLED], 1);
    ck_assert_uint_ge(guest.n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_RESUMED], 1);
    guest_finish(&guest);
}
END_TEST

/* Opens the house anew: 8 seats and a pool of 4 pages of 16 tokens. */
static void begin_narrow(void)
{
    house_end(&house);
    house_prepare(&house, "always do slow 2\npages 4\ncontext 256\n");
    house.settings.n_sequences = 8;
    house_open(&house);
    house_until_ready(&house);
}

START_TEST(who_finds_no_page_waits_until_one_is_given_back)
{
    struct guest guests[6];

    begin_narrow();
    for (size_t i = 0; i < 6; i++) {
        guest_init(&guests[i], (uint32_t)i + 1, 20, 20); /* three pages each: one at a time */
        guest_ask(&house, &guests[i]);
    }
    for (size_t i = 0; i < 6; i++) {
        guest_until_over(&house, &guests[i]);
        guest_assert_done(&guests[i], SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 20);
        guest_finish(&guests[i]);
    }

    ck_assert_uint_eq(house_model(&house)->current->eq.n_taken, 0);
}
END_TEST

static bool is_opening(void *owner)
{
    return ((struct guest *)owner)->stream->job.state == JOB_OPENING;
}

START_TEST(who_is_refused_for_the_sake_of_one_that_has_left_meanwhile_is_opened_again)
{
    struct guest first;
    struct guest second;

    begin_narrow();
    ask_with_credit(&first, 1, 40, 2);
    guest_until_tokens(&house, &first, 2); /* parked, with its pages */
    guest_init(&second, 2, 4, 40);
    guest_ask(&house, &second);
    house_until(&house, is_opening, &second);
    stream_cancel(first.stream); /* the engine's refusal is on its way */
    guest_until_over(&house, &second);

    guest_assert_done(&second, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 40);
    guest_finish(&first);
    guest_finish(&second);
}
END_TEST

START_TEST(what_never_fits_is_refused_with_numbers_and_others_go_on)
{
    struct guest large[2];
    struct guest small;

    begin_narrow();
    guest_init(&large[0], 1, 40, 100);
    guest_init(&large[1], 1, 40, 100);
    guest_init(&small, 1, 4, 5);
    guest_ask(&house, &large[0]);
    guest_ask(&house, &large[1]);
    guest_ask(&house, &small);
    for (size_t i = 0; i < 2; i++) {
        guest_until_over(&house, &large[i]);
        guest_assert_failed(&large[i], SOTTO__V1__CODE__CODE_OUT_OF_RANGE, "4 in all");
        guest_finish(&large[i]);
    }
    guest_until_over(&house, &small);

    guest_assert_done(&small, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    guest_finish(&small);
}
END_TEST

START_TEST(two_who_find_no_page_in_an_empty_pool_are_both_told)
{
    struct guest guests[2];

    house_end(&house);
    house_begin(&house, "when 200 at open do refuse no-pages\n");
    for (size_t i = 0; i < 2; i++) {
        guest_init(&guests[i], 200, 4, 5);
        guest_ask(&house, &guests[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        guest_until_over(&house, &guests[i]);
        guest_assert_failed(&guests[i], SOTTO__V1__CODE__CODE_OUT_OF_RANGE, "pages");
        guest_finish(&guests[i]);
    }
}
END_TEST

START_TEST(a_higher_class_is_seated_before_who_came_earlier)
{
    struct guest first;
    struct guest low;
    struct guest high;

    guest_init(&first, 202, 4, 10);
    guest_init(&low, 202, 4, 10);
    guest_init(&high, 202, 4, 10);
    low.ask.priority = SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND;
    high.ask.priority = SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME;
    guest_ask(&house, &first);
    guest_ask(&house, &low);
    guest_until_tokens(&house, &first, 1);
    guest_ask(&house, &high);
    guest_until_over(&house, &high);
    ck_assert_uint_eq(low.n_tokens, 0);
    guest_until_over(&house, &low);

    guest_assert_done(&low, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 10);
    guest_finish(&first);
    guest_finish(&low);
    guest_finish(&high);
}
END_TEST

START_TEST(an_engine_that_refuses_a_token_fails_its_request_alone)
{
    struct guest guilty;
    struct guest other;

    house_end(&house);
    house_begin(&house, "when 200 at open do refuse bad-token\n");
    guest_init(&guilty, 200, 4, 5);
    guest_init(&other, 1, 4, 5);
    guest_ask(&house, &guilty);
    guest_ask(&house, &other);
    guest_until_over(&house, &guilty);
    guest_until_over(&house, &other);

    guest_assert_failed(&guilty, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, "does not take");
    guest_assert_done(&other, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    guest_finish(&guilty);
    guest_finish(&other);
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
    tcase_add_test(tcase, a_parked_stream_gives_its_seat_up_and_is_rebuilt_with_the_same_tokens);
    tcase_add_test(tcase, a_parked_stream_can_be_cancelled);
    tcase_add_test(tcase, waiting_requests_have_places_and_a_cancelled_one_never_starts);
    tcase_add_test(tcase, a_spent_budget_throttles_a_running_stream_and_it_goes_on);
    tcase_add_test(tcase, who_finds_no_page_waits_until_one_is_given_back);
    tcase_add_test(tcase, who_is_refused_for_the_sake_of_one_that_has_left_meanwhile_is_opened_again);
    tcase_add_test(tcase, what_never_fits_is_refused_with_numbers_and_others_go_on);
    tcase_add_test(tcase, two_who_find_no_page_in_an_empty_pool_are_both_told);
    tcase_add_test(tcase, a_higher_class_is_seated_before_who_came_earlier);
    tcase_add_test(tcase, an_engine_that_refuses_a_token_fails_its_request_alone);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
