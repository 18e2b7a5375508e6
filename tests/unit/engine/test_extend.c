/*
 * Extend: an open sequence's next turn, with the scripted model
 */
#include "fixture.h"

#include "base/clean.h"
#include "unit.h"

#define MODEL "models/stories260K-f32.gguf"

static const uint32_t prompt[] = { 1, 300, 301 };
static const uint32_t next_prompt[] = { 1, 300, 301, 302, 303, 304 };

/* An engine in which sequence 1 has its first turn behind it: two tokens of an answer. False: the model is not here. */
static bool one_turn(struct fixture *fixture, const char *script)
{
    uint32_t tokens[2];

    if (!fixture_ready(fixture, "fake", MODEL, script)) {
        return false;
    }
    fixture_open_plain(fixture, 1, prompt, COUNTOF(prompt));
    fixture_answer(fixture, 1, 1, COUNTOF(prompt), tokens, COUNTOF(tokens));
    return true;
}

static const Sotto__Engine__Opened *get_opened(struct fixture *fixture)
{
    return fixture_get(fixture, SOTTO__ENGINE__FROM_ENGINE__BODY_OPENED)->opened;
}

START_TEST(a_next_turn_is_answered_as_a_new_sequence_would_be)
{
    uint32_t extended[3];
    uint32_t opened[3];
    struct fixture fixture;

    if (!one_turn(&fixture, NULL)) {
        return;
    }

    fixture_extend(&fixture, 1, next_prompt, COUNTOF(next_prompt));

    ck_assert_uint_eq(get_opened(&fixture)->cached_tokens, COUNTOF(prompt));
    fixture_answer(&fixture, 10, 1, COUNTOF(next_prompt), extended, COUNTOF(extended));
    fixture_open_plain(&fixture, 2, next_prompt, COUNTOF(next_prompt));
    fixture_answer(&fixture, 20, 2, COUNTOF(next_prompt), opened, COUNTOF(opened));
    ck_assert_mem_eq(extended, opened, sizeof(opened));
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(a_stop_before_is_over)
{
    struct fixture fixture;

    if (!one_turn(&fixture, NULL)) {
        return;
    }
    fixture_stop(&fixture, 1);

    fixture_extend(&fixture, 1, next_prompt, COUNTOF(next_prompt));

    get_opened(&fixture);
    fixture_step(&fixture, 10, 1, COUNTOF(next_prompt), 0);
    fixture_get_token(&fixture, 10);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(a_refusal_leaves_it_as_it_was)
{
    uint32_t many[200] = { 0 };
    uint32_t token;
    struct fixture fixture;
    const Sotto__Engine__Refused *refused;

    if (!one_turn(&fixture, NULL)) {
        return;
    }
    fixture_step(&fixture, 5, 1, 0, 0);
    token = fixture_get_token(&fixture, 5);
    ck_assert_int_eq(fixture_end(&fixture), 0);
    if (!one_turn(&fixture, "pages 10\n")) {
        return;
    }

    fixture_extend(&fixture, 1, many, COUNTOF(many));

    refused = fixture_get(&fixture, SOTTO__ENGINE__FROM_ENGINE__BODY_REFUSED)->refused;
    ck_assert_uint_eq(refused->sequence, 1);
    ck_assert_int_eq(refused->why, SOTTO__ENGINE__REFUSAL__REFUSAL_NEVER_FITS);
    fixture_step(&fixture, 5, 1, 0, 0);
    ck_assert_uint_eq(fixture_get_token(&fixture, 5), token);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(extending_what_is_not_open_is_a_fault)
{
    struct fixture fixture;

    if (!one_turn(&fixture, NULL)) {
        return;
    }

    fixture_extend(&fixture, 2, next_prompt, COUNTOF(next_prompt));

    fixture_expect_fault(&fixture, "not open", false);
}
END_TEST

START_TEST(extending_what_stands_in_a_begun_step_is_a_fault)
{
    static const uint32_t slow_prompt[] = { 1, 310 };
    struct fixture fixture;

    if (!fixture_ready(&fixture, "fake", MODEL, "when 310 do slow 60\n")) {
        return;
    }
    fixture_open_plain(&fixture, 1, slow_prompt, COUNTOF(slow_prompt));
    fixture_step(&fixture, 1, 1, COUNTOF(slow_prompt), 5000);
    fixture_get(&fixture, SOTTO__ENGINE__FROM_ENGINE__BODY_SUSPENDED);

    fixture_extend(&fixture, 1, next_prompt, COUNTOF(next_prompt));

    fixture_expect_fault(&fixture, "stands in a begun step", false);
}
END_TEST

START_TEST(an_extend_that_contradicts_itself_is_a_fault)
{
    Sotto__Engine__Sampler sampler = SOTTO__ENGINE__SAMPLER__INIT;
    Sotto__Engine__Extend extend = SOTTO__ENGINE__EXTEND__INIT;
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    uint32_t id = 3;
    struct fixture fixture;

    if (!one_turn(&fixture, NULL)) {
        return;
    }
    extend.sequence = 1;
    extend.tokens = &id;
    extend.n_tokens = 1;
    extend.n_prompt = _i == 0 ? 2 : 1;
    extend.sampler = _i == 1 ? NULL : &sampler;
    sampler.n_bias_ids = _i == 2;
    sampler.bias_ids = &id;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_EXTEND;
    order.extend = &extend;

    fixture_send(&fixture, &order);

    fixture_expect_fault(&fixture, "Extend has", false);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("extend");
    TCase *tests = tcase_create("all");

    tcase_add_test(tests, a_next_turn_is_answered_as_a_new_sequence_would_be);
    tcase_add_test(tests, a_stop_before_is_over);
    tcase_add_test(tests, a_refusal_leaves_it_as_it_was);
    tcase_add_test(tests, extending_what_is_not_open_is_a_fault);
    tcase_add_test(tests, extending_what_stands_in_a_begun_step_is_a_fault);
    tcase_add_loop_test(tests, an_extend_that_contradicts_itself_is_a_fault, 0, 3);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
