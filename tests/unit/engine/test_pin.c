/*
 * Pin: an order that leaves a sequence's pages behind, with the scripted model
 */
#include "fixture.h"

#include "base/clean.h"
#include "model/seq.h"
#include "unit.h"
#include <string.h>

#define MODEL "models/stories260K-f32.gguf"

static uint32_t prompt[40];

static void fill_prompt(void)
{
    for (uint32_t i = 0; i < COUNTOF(prompt); i++) {
        prompt[i] = 300 + i;
    }
}

static ProtobufCBinaryData domain(const char *name)
{
    ProtobufCBinaryData data = { .len = strlen(name) };

    memcpy(&data.data, &name, sizeof(name)); /* only read */
    return data;
}

/* Opens @seq with the first @n tokens in domain @salt (NULL: none); it may look into @pins (NULL: nowhere). */
static const Sotto__Engine__Opened *open_in(struct fixture *fixture, uint32_t seq, size_t n, const char *salt,
                                            const char *pins)
{
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;
    ProtobufCBinaryData list[1];

    fixture_fill_open(&open, &sampler, seq, prompt, n);
    if (salt) {
        open.salt = domain(salt);
    }
    if (pins) {
        list[0] = domain(pins);
        open.pins = list;
        open.n_pins = 1;
    }
    fixture_open(fixture, &open);
    return fixture_get(fixture, SOTTO__ENGINE__FROM_ENGINE__BODY_OPENED)->opened;
}

static void send_pin(struct fixture *fixture, uint32_t pin, uint32_t seq)
{
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Pin body = SOTTO__ENGINE__PIN__INIT;

    body.pin = pin;
    body.sequence = seq;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_PIN;
    order.pin = &body;
    fixture_send(fixture, &order);
}

/* Sequence 1 has computed 35 tokens in the domain "pins". False: the model is not here. */
static bool computed(struct fixture *fixture)
{
    fill_prompt();
    if (!fixture_ready(fixture, "fake", MODEL, NULL)) {
        return false;
    }
    open_in(fixture, 1, 35, "pins", NULL);
    fixture_step(fixture, 1, 1, 35, 0);
    fixture_get_token(fixture, 1);
    return true;
}

START_TEST(what_is_pinned_is_found_by_those_who_may_look)
{
    const Sotto__Engine__Opened *opened;
    struct fixture fixture;

    if (!computed(&fixture)) {
        return;
    }
    send_pin(&fixture, 9, 1);
    ck_assert_uint_eq(fixture_query(&fixture)->sequences, 0);
    ck_assert_uint_eq(fixture_query(&fixture)->pages_held, 3);
    opened = open_in(&fixture, 2, 40, "user", "pins");
    ck_assert_uint_eq(opened->cached_tokens, 35);
    ck_assert_uint_eq(opened->pinned_tokens, 35);
    opened = open_in(&fixture, 3, 40, "user", NULL);
    ck_assert_uint_eq(opened->pinned_tokens, 0);
    fixture_close(&fixture, 2);
    fixture_close(&fixture, 3);
    send_pin(&fixture, 9, 0);
    ck_assert_uint_eq(fixture_query(&fixture)->pages_held, 0);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

/* Orders that make no sense: each ends the engine with a sentence. */
START_TEST(a_pin_of_what_is_not_there_is_a_fault)
{
    struct fixture fixture;

    if (!computed(&fixture)) {
        return;
    }
    send_pin(&fixture, 9, 77);
    fixture_expect_fault(&fixture, "not open, not computed, or shares with nobody", false);
}
END_TEST

START_TEST(a_pin_of_what_is_not_computed_is_a_fault)
{
    struct fixture fixture;

    if (!computed(&fixture)) {
        return;
    }
    open_in(&fixture, 2, 20, "pins", NULL);
    send_pin(&fixture, 9, 2);
    fixture_expect_fault(&fixture, "not computed", false);
}
END_TEST

START_TEST(a_pin_of_what_shares_with_nobody_is_a_fault)
{
    struct fixture fixture;

    if (!computed(&fixture)) {
        return;
    }
    open_in(&fixture, 2, 20, NULL, NULL);
    fixture_step(&fixture, 2, 2, 20, 0);
    fixture_get_token(&fixture, 2);
    send_pin(&fixture, 9, 2);
    fixture_expect_fault(&fixture, "shares with nobody", false);
}
END_TEST

START_TEST(dropping_a_pin_that_there_is_not_is_a_fault)
{
    struct fixture fixture;

    if (!computed(&fixture)) {
        return;
    }
    send_pin(&fixture, 9, 0);
    fixture_expect_fault(&fixture, "Pin drops one that there is not (9)", false);
}
END_TEST

START_TEST(a_pin_twice_is_a_fault)
{
    struct fixture fixture;

    if (!computed(&fixture)) {
        return;
    }
    send_pin(&fixture, 9, 1);
    open_in(&fixture, 2, 20, "pins", NULL);
    fixture_step(&fixture, 2, 2, 20, 0);
    fixture_get_token(&fixture, 2);
    send_pin(&fixture, 9, 2);
    fixture_expect_fault(&fixture, "one that there is already (9)", false);
}
END_TEST

/* More domains than there may be; or one without a name, which would be everybody's. */
START_TEST(an_open_with_wrong_domains_is_a_fault)
{
    ProtobufCBinaryData list[SEQ_PINS_MAX + 1];
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;
    struct fixture fixture;

    if (!computed(&fixture)) {
        return;
    }
    for (size_t i = 0; i < COUNTOF(list); i++) {
        list[i] = domain("pins");
    }
    if (_i == 1) {
        list[1] = domain("");
    }
    fixture_fill_open(&open, &sampler, 2, prompt, 20);
    open.pins = list;
    open.n_pins = _i == 0 ? COUNTOF(list) : 2;
    fixture_open(&fixture, &open);
    fixture_expect_fault(&fixture, "more domains of pins", false);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pin");
    TCase *tests = tcase_create("all");

    tcase_add_test(tests, what_is_pinned_is_found_by_those_who_may_look);
    tcase_add_test(tests, a_pin_of_what_is_not_there_is_a_fault);
    tcase_add_test(tests, a_pin_of_what_is_not_computed_is_a_fault);
    tcase_add_test(tests, a_pin_of_what_shares_with_nobody_is_a_fault);
    tcase_add_test(tests, dropping_a_pin_that_there_is_not_is_a_fault);
    tcase_add_test(tests, a_pin_twice_is_a_fault);
    tcase_add_loop_test(tests, an_open_with_wrong_domains_is_a_fault, 0, 2);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
