/* Pin: an order that ends a sequence and keeps its pages, with the scripted model */
#include "fixture.h"

#include "base/clean.h"
#include "model/seq.h"
#include "proto/wire.h"
#include "unit.h"
#include <string.h>

static uint32_t tokens[40];

static ProtobufCBinaryData domain(const char *name)
{
    return (ProtobufCBinaryData){ .data = wire_message(name), .len = strlen(name) };
}

/* Opens @seq with the first @n tokens in domain @salt (or NULL); it may search @pins (or NULL). */
static const Sotto__Engine__Opened *open_in(uint32_t seq, size_t n, const char *salt, const char *pins)
{
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;
    ProtobufCBinaryData list[1];

    fixture_fill_open(&open, &sampler, seq, tokens, n);
    if (salt) {
        open.salt = domain(salt);
    }
    if (pins) {
        list[0] = domain(pins);
        open.pins = list;
        open.n_pins = 1;
    }
    fixture_open(&open);
    return fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_OPENED)->opened;
}

static void send_pin(uint32_t pin, uint32_t seq)
{
    Sotto__Engine__Pin body = SOTTO__ENGINE__PIN__INIT;

    body.pin = pin;
    body.sequence = seq;
    fixture_order(SOTTO__ENGINE__TO_ENGINE__BODY_PIN, &body);
}

/* Starts an engine in which sequence 1 has computed 35 tokens in the domain "pins". */
static void computed(void)
{
    for (uint32_t i = 0; i < COUNTOF(tokens); i++) {
        tokens[i] = 300 + i;
    }
    fixture_scripted(NULL);
    open_in(1, 35, "pins", NULL);
    fixture_step(1, 1, 35, 0);
    fixture_get_token(1);
}

START_TEST(a_pin_is_found_by_sequences_with_its_domain)
{
    const Sotto__Engine__Opened *opened;

    computed();
    send_pin(9, 1);
    ck_assert_uint_eq(fixture_query()->sequences, 0);
    ck_assert_uint_eq(fixture_query()->pages_held, 3);
    opened = open_in(2, 40, "user", "pins");
    ck_assert_uint_eq(opened->cached_tokens, 35);
    ck_assert_uint_eq(opened->pinned_tokens, 35);
    opened = open_in(3, 40, "user", NULL);
    ck_assert_uint_eq(opened->pinned_tokens, 0);
    fixture_close(2);
    fixture_close(3);
    send_pin(9, 0);
    ck_assert_uint_eq(fixture_query()->pages_held, 0);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

/* Orders that make no sense: each ends the engine with a sentence. */
START_TEST(a_pin_of_an_unknown_sequence_is_a_fault)
{
    computed();
    send_pin(9, 77);
    fixture_expect_fault("not open, not computed, or not shared", false);
}
END_TEST

START_TEST(a_pin_of_an_uncomputed_sequence_is_a_fault)
{
    computed();
    open_in(2, 20, "pins", NULL);
    send_pin(9, 2);
    fixture_expect_fault("not computed", false);
}
END_TEST

START_TEST(a_pin_of_an_unshared_sequence_is_a_fault)
{
    computed();
    open_in(2, 20, NULL, NULL);
    fixture_step(2, 2, 20, 0);
    fixture_get_token(2);
    send_pin(9, 2);
    fixture_expect_fault("not shared", false);
}
END_TEST

START_TEST(dropping_a_pin_that_there_is_not_is_a_fault)
{
    computed();
    send_pin(9, 0);
    fixture_expect_fault("Pin drops a pin that does not exist (9)", false);
}
END_TEST

START_TEST(a_pin_twice_is_a_fault)
{
    computed();
    send_pin(9, 1);
    open_in(2, 20, "pins", NULL);
    fixture_step(2, 2, 20, 0);
    fixture_get_token(2);
    send_pin(9, 2);
    fixture_expect_fault("a pin that exists already (9)", false);
}
END_TEST

/* Too many domains, or one without a name, which every sequence would share. */
START_TEST(an_open_with_wrong_domains_is_a_fault)
{
    ProtobufCBinaryData list[SEQ_PINS_MAX + 1];
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;

    computed();
    for (size_t i = 0; i < COUNTOF(list); i++) {
        list[i] = domain("pins");
    }
    if (_i == 1) {
        list[1] = domain("");
    }
    fixture_fill_open(&open, &sampler, 2, tokens, 20);
    open.pins = list;
    open.n_pins = _i == 0 ? COUNTOF(list) : 2;
    fixture_open(&open);
    fixture_expect_fault("too many domains of pins", false);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pin");
    TCase *tests = tcase_create("all");

    tcase_add_test(tests, a_pin_is_found_by_sequences_with_its_domain);
    tcase_add_test(tests, a_pin_of_an_unknown_sequence_is_a_fault);
    tcase_add_test(tests, a_pin_of_an_uncomputed_sequence_is_a_fault);
    tcase_add_test(tests, a_pin_of_an_unshared_sequence_is_a_fault);
    tcase_add_test(tests, dropping_a_pin_that_there_is_not_is_a_fault);
    tcase_add_test(tests, a_pin_twice_is_a_fault);
    tcase_add_loop_test(tests, an_open_with_wrong_domains_is_a_fault, 0, 2);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
