/*
 * A full context that slides: what follows is a function of the tokens that stayed. The fake engine's token is a hash
 * of all tokens before it, so one token more or less is another answer.
 */
#include "hub_fixture.h"
#include <signal.h>
#include <string.h>

#define N_CONTEXT 64u

static struct fixture fixture;

static void setup(void)
{
    fixture_begin(&fixture, "context 64\n");
}

static void teardown(void)
{
    fixture_end(&fixture);
}

static void init_sliding(struct client *client, uint32_t n_prompt, uint32_t n_keep, uint32_t n_answer)
{
    client_init(client, 1, n_prompt, n_answer);
    client->generate.on_full = SOTTO__V1__ON_FULL__ON_FULL_SLIDE;
    client->generate.opt_keep_tokens_case = SOTTO__V1__GENERATE__OPT_KEEP_TOKENS_KEEP_TOKENS;
    client->generate.keep_tokens = n_keep;
}

static void run(struct client *client)
{
    client_generate(&fixture, client);
    client_until_over(&fixture, client);
}

/* Gives @client a prompt of the tokens that stay of @before's prompt and first @n_answer tokens. */
static void ask_with_the_rest(struct client *client, const struct client *before, uint32_t n_answer, uint32_t n_keep)
{
    static uint32_t known[2 * N_CONTEXT];
    uint32_t n_prompt = (uint32_t)before->ids.n_ids;
    uint32_t n_known = n_prompt + n_answer;
    uint32_t n_late = (n_known - n_keep) / 2;

    ck_assert_uint_eq(n_known, N_CONTEXT);
    memcpy(known, before->ids.ids, n_prompt * sizeof(*known));
    memcpy(known + n_prompt, before->tokens, n_answer * sizeof(*known));
    memmove(known + n_keep, known + n_known - n_late, n_late * sizeof(*known));
    client_init(client, 1, n_keep + n_late, N_CONTEXT - n_keep - n_late);
    memcpy(client->ids.ids, known, (n_keep + n_late) * sizeof(*known));
}

static const uint32_t keeps[] = { 0, 1, 4, 31, 32 };

START_TEST(an_answer_goes_on_as_if_what_stayed_were_the_prompt)
{
    uint32_t n_keep = keeps[_i];
    struct client client;
    struct client fresh;

    init_sliding(&client, 40, n_keep, 90);
    run(&client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 90);
    ask_with_the_rest(&fresh, &client, N_CONTEXT - 40, n_keep);
    run(&fresh);

    client_assert_done(&fresh, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, N_CONTEXT - (uint32_t)fresh.ids.n_ids);
    ck_assert_mem_eq(fresh.tokens, client.tokens + N_CONTEXT - 40, fresh.n_tokens * sizeof(*fresh.tokens));
    ck_assert_uint_ge(client.n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_SLID], 2);
    ck_assert_uint_eq(client.n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_SLID], fixture.hub->events.counts[COUNT_SLIDES]);
    ck_assert_uint_eq(client.usage.prompt_tokens, 40);
    ck_assert_uint_eq(client.usage.generated_tokens, 90);
    client_finish(&client);
    client_finish(&fresh);
}
END_TEST

static void cancel_on_delta(void *owner, const Sotto__V1__Delta *delta)
{
    struct client *client = owner;

    client->n_tokens += (uint32_t)delta->n_tokens;
    stream_cancel(client->stream);
}

START_TEST(an_answer_cancelled_by_the_token_that_fills_the_context_does_not_slide)
{
    struct stream_sink acting = client_sink;
    struct client client;

    acting.on_delta = cancel_on_delta;
    init_sliding(&client, N_CONTEXT - 1, 4, 5);
    client.sink = &acting;
    run(&client);

    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_CANCELLED, 1);
    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_SLIDES], 0);
    client_finish(&client);
}
END_TEST

START_TEST(a_lost_engine_changes_no_token_of_an_answer_that_slides)
{
    struct client calm;
    struct client shaken;

    init_sliding(&calm, 40, 4, 90);
    run(&calm);
    init_sliding(&shaken, 40, 4, 90);
    client_generate(&fixture, &shaken);
    for (uint32_t n = 10; n <= 70; n += 30) { /* before the first slide, behind it, and behind the second */
        client_until_tokens(&fixture, &shaken, n);
        kill((pid_t)fixture_pid(&fixture), SIGKILL);
    }
    client_until_over(&fixture, &shaken);

    client_assert_same(&calm, &shaken);
    ck_assert_uint_gt(shaken.usage.rebuilds, 0);
    client_finish(&calm);
    client_finish(&shaken);
}
END_TEST

START_TEST(a_sliding_answer_and_one_beside_it_have_the_tokens_of_each_alone)
{
    struct client alone[2];
    struct client both[2];

    for (int i = 0; i < 2; i++) {
        init_sliding(&alone[i], i == 0 ? 63 : 20, 4, i == 0 ? 90 : 30);
        run(&alone[i]);
        init_sliding(&both[i], i == 0 ? 63 : 20, 4, i == 0 ? 90 : 30);
        client_generate(&fixture, &both[i]);
    }
    for (int i = 0; i < 2; i++) {
        client_until_over(&fixture, &both[i]);
        client_assert_same(&alone[i], &both[i]);
        client_finish(&alone[i]);
        client_finish(&both[i]);
    }
}
END_TEST

START_TEST(a_credit_given_token_by_token_changes_nothing)
{
    const Sotto__V1__Credit one = { PROTOBUF_C_MESSAGE_INIT(&sotto__v1__credit__descriptor), .tokens = 1 };
    struct client free;
    struct client rationed;

    init_sliding(&free, 60, 4, 50);
    run(&free);
    init_sliding(&rationed, 60, 4, 50);
    rationed.generate.opt_credit_case = SOTTO__V1__GENERATE__OPT_CREDIT_CREDIT;
    rationed.generate.credit = 1;
    client_generate(&fixture, &rationed);
    for (uint32_t n = 1; n < 50; n++) {
        client_until_tokens(&fixture, &rationed, n);
        stream_credit(rationed.stream, &one);
    }
    client_until_over(&fixture, &rationed);

    client_assert_same(&free, &rationed);
    client_finish(&free);
    client_finish(&rationed);
}
END_TEST

START_TEST(a_part_to_keep_that_is_too_large_is_refused_with_both_numbers)
{
    static const uint32_t too_many[] = { 33, 60, 64, 70, 4000000000u };

    for (size_t i = 0; i < COUNTOF(too_many); i++) {
        struct client client;
        char number[16];

        snprintf(number, sizeof(number), "%u", too_many[i]);
        init_sliding(&client, 5, too_many[i], 20);
        run(&client);

        client_assert_failed(&client, SOTTO__V1__CODE__CODE_OUT_OF_RANGE, number);
        client_assert_failed(&client, SOTTO__V1__CODE__CODE_OUT_OF_RANGE, "context 64");
        client_finish(&client);
    }
}
END_TEST

START_TEST(a_prompt_that_does_not_fit_is_refused_though_it_might_slide)
{
    struct client client;

    init_sliding(&client, 64, 4, 20);
    run(&client);

    client_assert_failed(&client, SOTTO__V1__CODE__CODE_OUT_OF_RANGE, "64");
    client_finish(&client);
}
END_TEST

START_TEST(the_first_four_tokens_stay_unless_told_otherwise)
{
    struct client told;
    struct client untold;

    init_sliding(&told, 40, 4, 60);
    run(&told);
    init_sliding(&untold, 40, 0, 60);
    untold.generate.opt_keep_tokens_case = SOTTO__V1__GENERATE__OPT_KEEP_TOKENS__NOT_SET;
    run(&untold);

    client_assert_same(&told, &untold);
    client_finish(&told);
    client_finish(&untold);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream-slide");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, an_answer_goes_on_as_if_what_stayed_were_the_prompt, 0, (int)COUNTOF(keeps));
    tcase_add_test(tcase, an_answer_cancelled_by_the_token_that_fills_the_context_does_not_slide);
    tcase_add_test(tcase, a_lost_engine_changes_no_token_of_an_answer_that_slides);
    tcase_add_test(tcase, a_sliding_answer_and_one_beside_it_have_the_tokens_of_each_alone);
    tcase_add_test(tcase, a_credit_given_token_by_token_changes_nothing);
    tcase_add_test(tcase, a_part_to_keep_that_is_too_large_is_refused_with_both_numbers);
    tcase_add_test(tcase, a_prompt_that_does_not_fit_is_refused_though_it_might_slide);
    tcase_add_test(tcase, the_first_four_tokens_stay_unless_told_otherwise);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
