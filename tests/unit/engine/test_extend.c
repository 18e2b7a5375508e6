/* Extend: the next turn of an open sequence, with the scripted model */
#include "fixture.h"

#include "base/clean.h"
#include "unit.h"

static const uint32_t next_prompt[] = { 1, 300, 301, 302, 303, 304 };

/* Starts an engine in which sequence 1 has ended its first turn, an answer of two tokens. */
static void one_turn(const char *script)
{
    uint32_t tokens[2];

    fixture_scripted(script);
    fixture_open_plain(1, prompt, COUNTOF(prompt));
    fixture_answer(1, 1, COUNTOF(prompt), tokens, COUNTOF(tokens));
}

static const Sotto__Engine__Opened *get_opened(void)
{
    return fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_OPENED)->opened;
}

START_TEST(a_next_turn_is_answered_like_a_new_sequence)
{
    uint32_t extended[3];
    uint32_t opened[3];

    one_turn(NULL);

    fixture_extend(1, next_prompt, COUNTOF(next_prompt));

    ck_assert_uint_eq(get_opened()->cached_tokens, COUNTOF(prompt));
    fixture_answer(10, 1, COUNTOF(next_prompt), extended, COUNTOF(extended));
    fixture_open_plain(2, next_prompt, COUNTOF(next_prompt));
    fixture_answer(20, 2, COUNTOF(next_prompt), opened, COUNTOF(opened));
    ck_assert_mem_eq(extended, opened, sizeof(opened));
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(a_stop_before_is_over)
{
    one_turn(NULL);
    fixture_stop(1);

    fixture_extend(1, next_prompt, COUNTOF(next_prompt));

    get_opened();
    fixture_step(10, 1, COUNTOF(next_prompt), 0);
    fixture_get_token(10);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(a_refusal_leaves_it_as_it_was)
{
    uint32_t many[200] = { 0 };
    uint32_t token;
    const Sotto__Engine__Refused *refused;

    one_turn(NULL);
    fixture_step(5, 1, 0, 0);
    token = fixture_get_token(5);
    ck_assert_int_eq(fixture_end(), 0);
    one_turn("pages 10\n");

    fixture_extend(1, many, COUNTOF(many));

    refused = fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_REFUSED)->refused;
    ck_assert_uint_eq(refused->sequence, 1);
    ck_assert_int_eq(refused->why, SOTTO__ENGINE__REFUSAL__REFUSAL_NEVER_FITS);
    fixture_step(5, 1, 0, 0);
    ck_assert_uint_eq(fixture_get_token(5), token);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(extending_an_unknown_sequence_is_a_fault)
{
    one_turn(NULL);

    fixture_extend(2, next_prompt, COUNTOF(next_prompt));

    fixture_expect_fault("not open", false);
}
END_TEST

START_TEST(extending_a_sequence_in_a_begun_step_is_a_fault)
{
    fixture_scripted("when 310 do slow 60\n");
    fixture_open_plain(1, slow_prompt, COUNTOF(slow_prompt));
    fixture_step(1, 1, COUNTOF(slow_prompt), 5000);
    fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_SUSPENDED);

    fixture_extend(1, next_prompt, COUNTOF(next_prompt));

    fixture_expect_fault("in a begun step", false);
}
END_TEST

START_TEST(an_extend_that_contradicts_itself_is_a_fault)
{
    Sotto__Engine__Sampler sampler = SOTTO__ENGINE__SAMPLER__INIT;
    Sotto__Engine__Extend extend = SOTTO__ENGINE__EXTEND__INIT;
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    uint32_t id = 3;

    one_turn(NULL);
    extend.sequence = 1;
    extend.tokens = &id;
    extend.n_tokens = 1;
    extend.n_prompt = _i == 0 ? 2 : 1;
    extend.sampler = _i == 1 ? NULL : &sampler;
    sampler.n_bias_ids = _i == 2;
    sampler.bias_ids = &id;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_EXTEND;
    order.extend = &extend;

    fixture_send(&order);

    fixture_expect_fault("Extend has", false);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("extend");
    TCase *tests = tcase_create("all");

    tcase_add_test(tests, a_next_turn_is_answered_like_a_new_sequence);
    tcase_add_test(tests, a_stop_before_is_over);
    tcase_add_test(tests, a_refusal_leaves_it_as_it_was);
    tcase_add_test(tests, extending_an_unknown_sequence_is_a_fault);
    tcase_add_test(tests, extending_a_sequence_in_a_begun_step_is_a_fault);
    tcase_add_loop_test(tests, an_extend_that_contradicts_itself_is_a_fault, 0, 3);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
