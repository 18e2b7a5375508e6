/*
 * Pins over scripted engines: computed after a load, a crash and a reload; held within their bound; found by the users
 * that they are for; and yielding to every request.
 */
#include "base/clean.h"
#include "hub_fixture.h"
#include "session/pins.h"
#include <signal.h>
#include <string.h>

#define N_TEXT 100 /* tokens: a byte each */

static struct fixture fixture;
static char text[N_TEXT + 1];
static char other[N_TEXT + 1];
static struct pin_settings pins[PINS_MAX];
static uint8_t packed[512];

static void set_pins(size_t n)
{
    for (uint32_t i = 0; i < N_TEXT; i++) {
        text[i] = (char)('a' + i % 23);
        other[i] = (char)('A' + i % 19);
    }
    memset(pins, 0, sizeof(pins));
    pins[0] = (struct pin_settings){ .name = "one", .text = text };
    pins[1] = (struct pin_settings){ .name = "two", .text = other };
    fixture.settings.pins = pins;
    fixture.settings.n_pins = n;
}

static void open_fixture(const char *script, size_t n_pins)
{
    fixture_prepare(&fixture, script);
    set_pins(n_pins);
}

static void begin(void)
{
    fixture_open(&fixture);
    fixture_until_ready(&fixture);
}

static struct instance *instance(void)
{
    return fixture_model(&fixture)->current;
}

static struct pin *pin_at(size_t i)
{
    struct list *link = instance()->pins.next;

    while (i-- > 0) {
        link = link->next;
    }
    ck_assert_ptr_ne(link, &instance()->pins);
    return container_of(link, struct pin, link);
}

/* Returns whether all pins are held, refused, or wait for memory. */
static bool is_settled(void *owner)
{
    struct list *link;

    (void)owner;
    if (!instance() || !instance_is_ready(instance()) || instance()->pins_due) {
        return false;
    }
    list_for_each (link, &instance()->pins) {
        const struct pin *pin = container_of(link, struct pin, link);

        if (pin->state == PIN_TOKENIZING || pin->state == PIN_COMPUTING) {
            return false;
        }
    }
    return true;
}

static void settle(void)
{
    fixture_until(&fixture, is_settled, NULL);
}

static bool is_held(void *owner)
{
    return ((struct pin *)owner)->state == PIN_HELD;
}

static void until_held(size_t i)
{
    fixture_until(&fixture, is_held, pin_at(i));
}

/* Returns the tokens that a request of @uid finds which begins as pin @i and goes on. */
static uint32_t ask_behind(size_t i, uint32_t uid)
{
    const struct ids *tokens = &pin_at(i)->tokens;
    struct client client;
    uint32_t n_cached;

    client_init(&client, 5, (uint32_t)tokens->n + 20, 3);
    memcpy(client.ids.ids, tokens->ids, tokens->n * sizeof(*tokens->ids));
    fixture.grant.uid = uid;
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 3);
    n_cached = client.usage.cached_tokens;
    client_finish(&client);
    return n_cached;
}

/* ---- computing */

START_TEST(pins_are_computed_when_their_model_is_loaded)
{
    open_fixture("context 256\npages 64\n", 2);
    begin();
    settle();

    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(pin_at(i)->state, PIN_HELD);
        ck_assert_uint_eq(pin_at(i)->tokens.n, N_TEXT);
        ck_assert_uint_eq(pin_at(i)->n_pages, 7);
        ck_assert_uint_eq(ask_behind(i, 1000), N_TEXT);
    }
    ck_assert(fixture_had(&fixture, "pin-held"));
    ck_assert_uint_eq(instance()->eq.n_taken, 0);
    ck_assert_uint_eq(instance()->eq.n_pages_promised, 14);
    fixture_end(&fixture);
}
END_TEST

START_TEST(a_lost_engine_s_pins_come_back)
{
    open_fixture("context 256\npages 64\n", 2);
    begin();
    settle();
    fixture_kill_engine(&fixture, SIGKILL);
    settle();

    ck_assert_int_eq(pin_at(0)->state, PIN_HELD);
    ck_assert_int_eq(pin_at(1)->state, PIN_HELD);
    ck_assert_uint_eq(instance()->eq.n_pages_promised, 14);
    ck_assert_uint_eq(ask_behind(1, 1000), N_TEXT);
    fixture_end(&fixture);
}
END_TEST

/* An engine is lost once while a pin is computed: its stream is rebuilt. */
START_TEST(a_pin_outlives_the_engine_that_computes_it)
{
    char script[256];

    open_fixture("", 1);
    snprintf(script, sizeof(script), "context 256\npages 64\nalways once %s/once do kill\n", fixture.dir);
    fixture_rewrite(&fixture, script);
    begin();
    until_held(0);

    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_ENGINE_CRASHES], 1);
    ck_assert_uint_eq(ask_behind(0, 1000), N_TEXT);
    snprintf(script, sizeof(script), "%s/once", fixture.dir);
    unlink(script);
    fixture_end(&fixture);
}
END_TEST

/* Every engine is lost that works on the pin: it is to blame, and the others serve. */
START_TEST(a_pin_that_kills_its_engines_is_refused)
{
    open_fixture("context 256\npages 64\nwhen 65 do kill\n", 2); /* 'A': in the second one's text */
    begin();
    settle();
    while (pin_at(1)->state != PIN_REFUSED) {
        fixture_run(&fixture, 5);
    }

    ck_assert_ptr_nonnull(strstr(pin_at(1)->why, "lost twice"));
    fixture_run(&fixture, 20);
    settle();
    ck_assert_int_eq(pin_at(0)->state, PIN_HELD);
    fixture_end(&fixture);
}
END_TEST

START_TEST(messages_are_pinned_as_far_as_every_conversation_has_them_in_common)
{
    char system[] = "system";
    char words[] = "be brief";
    Sotto__V1__ChatMessage message = SOTTO__V1__CHAT_MESSAGE__INIT;
    Sotto__V1__ChatMessage *messages[1] = { &message };
    Sotto__V1__Chat chat = SOTTO__V1__CHAT__INIT;
    struct buf spelt;
    struct diag diag = DIAG_INIT;

    open_fixture("context 256\npages 64\n", 1);
    message.role = system;
    message.content.data = (uint8_t *)words;
    message.content.len = strlen(words);
    chat.messages = messages;
    chat.n_messages = 1;
    pins[0].text = NULL;
    pins[0].chat = packed;
    pins[0].n_chat = sotto__v1__chat__pack(&chat, packed);
    begin();
    settle();

    ck_assert_int_eq(pin_at(0)->state, PIN_HELD);
    buf_init(&spelt, MEM_MISC, 4096);
    ck_assert_int_eq(
        vocab_detokenize(instance()->vocab, pin_at(0)->tokens.ids, pin_at(0)->tokens.n, true, &spelt, &diag), 0);
    ck_assert_int_eq(spelt.n, strlen("<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\n"));
    ck_assert_mem_eq(buf_data(&spelt), "<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\n", spelt.n);
    buf_finish(&spelt);
    fixture_end(&fixture);
}
END_TEST

/* ---- access */

START_TEST(a_pin_for_some_is_found_by_them_alone)
{
    static const uint32_t uids[] = { 1001, 1002 };

    open_fixture("context 256\npages 64\n", 2);
    pins[1].uids = uids;
    pins[1].n_uids = 2;
    begin();
    settle();

    ck_assert_uint_eq(ask_behind(0, 1000), N_TEXT);
    ck_assert_uint_eq(ask_behind(0, 1002), N_TEXT);
    ck_assert_uint_eq(ask_behind(1, 1000), 0);
    ck_assert_uint_eq(ask_behind(1, 1001), N_TEXT);
    ck_assert_uint_eq(ask_behind(1, 1002), N_TEXT);
    fixture_end(&fixture);
}
END_TEST

START_TEST(hits_and_their_tokens_are_counted)
{
    open_fixture("context 256\npages 64\n", 2);
    begin();
    settle();
    ask_behind(0, 1000);
    ask_behind(0, 1001);
    ask_behind(1, 1000);

    ck_assert_uint_eq(pin_at(0)->n_hits, 2);
    ck_assert_uint_eq(pin_at(0)->n_hit_tok, 2 * N_TEXT);
    ck_assert_uint_eq(pin_at(1)->n_hits, 1);
    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_PIN_HITS], 3);
    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_PINNED_TOK], 3 * N_TEXT);
    fixture_end(&fixture);
}
END_TEST

static void on_status(void *owner, Sotto__V1__StatusReport *report, struct arena *arena)
{
    struct instance *model = owner;

    (void)arena;
    (void)model;
    ck_assert_uint_eq(report->n_models, 1);
    ck_assert_uint_eq(report->models[0]->n_pins, fixture.grant.observe ? 2 : 1);
    ck_assert_str_eq(report->models[0]->pins[0]->name, "one");
    ck_assert_int_eq(report->models[0]->pins[0]->state, SOTTO__V1__PIN_STATE__PIN_STATE_HELD);
    ck_assert_uint_eq(report->models[0]->pins[0]->tokens, N_TEXT);
    ck_assert_uint_eq(report->models[0]->pins[0]->pages, 7);
    if (fixture.grant.observe) {
        ck_assert_uint_eq(report->models[0]->pins[1]->n_users, 1);
        ck_assert_uint_eq(report->models[0]->pins[1]->users[0], 1001);
    }
    fixture.n_events = 7777;
}

static bool has_answer(void *owner)
{
    (void)owner;
    return fixture.n_events == 7777;
}

START_TEST(status_tells_each_user_of_its_own_and_observers_of_all)
{
    static const uint32_t uids[] = { 1001 };
    struct ticket *ticket;
    struct diag diag = DIAG_INIT;

    open_fixture("context 256\npages 64\n", 2);
    pins[1].uids = uids;
    pins[1].n_uids = 1;
    begin();
    settle();
    for (int i = 0; i < 2; i++) {
        fixture.grant.observe = i > 0;
        fixture.n_events = 0;
        ck_assert_int_eq(hub_status(fixture.hub, &fixture.grant, on_status, NULL, &ticket, &diag), 0);
        fixture_until(&fixture, has_answer, NULL);
    }
    fixture_end(&fixture);
}
END_TEST

/* ---- room */

/* 20 pages: half of them are 10, and a context of 16 fits beside 4. */
START_TEST(what_is_more_than_pins_may_hold_is_refused)
{
    open_fixture("context 128\npages 20\n", 2);
    begin();
    settle();

    ck_assert_int_eq(pin_at(0)->state, PIN_HELD);
    ck_assert_int_eq(pin_at(1)->state, PIN_REFUSED);
    ck_assert_ptr_nonnull(strstr(pin_at(1)->why, "needs 7 pages"));
    ck_assert_ptr_nonnull(strstr(pin_at(1)->why, "may hold 10 of 20"));
    ck_assert_ptr_nonnull(strstr(pin_at(1)->why, "of which 7 are taken"));
    ck_assert(fixture_had(&fixture, "pin-refused"));
    fixture_end(&fixture);
}
END_TEST

START_TEST(a_whole_context_always_fits_beside_pins)
{
    struct client client;

    open_fixture("context 240\npages 21\n", 1);
    begin();
    settle();
    ck_assert_int_eq(pin_at(0)->state, PIN_REFUSED); /* 7 pages, where 15 of 21 must be left */
    client_init(&client, 5, 200, 40);
    client.generate.ignore_end = true;
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 40);
    client_finish(&client);
    fixture_end(&fixture);
}
END_TEST

START_TEST(what_leaves_no_room_for_an_answer_is_refused)
{
    open_fixture("context 64\npages 64\n", 1);
    begin();
    settle();

    ck_assert_int_eq(pin_at(0)->state, PIN_REFUSED);
    ck_assert_ptr_nonnull(strstr(pin_at(0)->why, "100 tokens and the model's context 64"));
    fixture_end(&fixture);
}
END_TEST

/* Limits the pages as the governor does under pressure. */
static void leave_pages(uint32_t permille)
{
    fixture.hub->governor_loop.governor.kv_permille = permille;
    for (int i = 0; i < PROCESSOR_COUNT; i++) {
        fixture.hub->governor_loop.governor.limits[i].kv_permille = permille;
    }
    registry_limit_pages(&fixture.hub->registry, permille);
}

START_TEST(where_memory_is_short_the_last_pin_goes_and_comes_back)
{
    open_fixture("context 128\npages 64\n", 2);
    begin();
    settle();
    ck_assert_int_eq(pin_at(1)->state, PIN_HELD);
    leave_pages(250); /* 16 pages: pins may hold 8 */
    settle();
    ck_assert_int_eq(pin_at(0)->state, PIN_HELD);
    ck_assert_int_eq(pin_at(1)->state, PIN_WAITING);
    ck_assert_ptr_nonnull(strstr(pin_at(1)->why, "memory is short"));
    ck_assert_uint_eq(instance()->eq.n_pages_promised, 7);
    leave_pages(1000);
    until_held(1);

    ck_assert_str_eq(pin_at(1)->why, "");
    ck_assert_uint_eq(ask_behind(1, 1000), N_TEXT);
    fixture_end(&fixture);
}
END_TEST

/* There is one slot: the request takes it from the pin that is being computed, which comes to its end all the same. */
START_TEST(a_request_takes_the_slot_of_a_pin)
{
    struct client client;

    open_fixture("context 256\npages 64\nwhen 66 do slow 300\n", 2); /* 'B': in the second one's text */
    fixture.settings.n_sequences = 1;
    begin();
    until_held(0);
    while (pin_at(1)->state != PIN_COMPUTING || pin_at(1)->stream->state != STREAM_RUNNING) {
        fixture_run(&fixture, 1);
    }
    client_init(&client, 5, 10, 3);
    client.generate.priority = SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND;
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 3);
    ck_assert_int_ne(pin_at(1)->state, PIN_HELD);
    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_PREEMPTIONS], 1);
    client_finish(&client);
    until_held(1);
    fixture_end(&fixture);
}
END_TEST

/* ---- reloading */

static void no_needs(void *owner, const char *path)
{
    (void)owner;
    ck_abort_msg("%s need not wait", path);
}

static void reload(void)
{
    ck_assert_int_eq(hub_configure(fixture.hub, &fixture.config, no_needs, NULL), 0);
    settle();
}

START_TEST(a_reload_adds_and_drops_and_leaves_what_stays)
{
    uint32_t number;

    open_fixture("context 256\npages 64\n", 1);
    begin();
    settle();
    number = pin_at(0)->number;
    ask_behind(0, 1000);
    fixture.settings.n_pins = 2;
    reload();
    ck_assert_uint_eq(pin_at(0)->number, number);
    ck_assert_uint_eq(pin_at(0)->n_hits, 1);
    ck_assert_int_eq(pin_at(1)->state, PIN_HELD);

    pins[0] = pins[1];
    fixture.settings.n_pins = 1;
    reload();
    ck_assert_str_eq(pin_at(0)->settings.name, "two");
    ck_assert_int_eq(pin_at(0)->state, PIN_HELD);
    ck_assert_uint_eq(instance()->eq.n_pages_promised, 7);

    fixture.settings.n_pins = 0;
    reload();
    ck_assert(list_is_empty(&instance()->pins));
    ck_assert_uint_eq(instance()->eq.n_pages_promised, 0);
    fixture_end(&fixture);
}
END_TEST

START_TEST(what_was_refused_has_another_try_after_a_reload)
{
    open_fixture("context 128\npages 20\n", 2);
    begin();
    settle();
    ck_assert_int_eq(pin_at(1)->state, PIN_REFUSED);
    pins[0] = pins[1];
    fixture.settings.n_pins = 1;
    reload();

    ck_assert_int_eq(pin_at(0)->state, PIN_HELD);
    fixture_end(&fixture);
}
END_TEST

/* Ends the hub at every state that a pin may be in. */
START_TEST(a_reload_drops_a_pin_at_any_moment)
{
    open_fixture("context 256\npages 64\nwhen 65 do slow 20\n", 2);
    fixture_open(&fixture);
    fixture_until_ready(&fixture);
    for (uint32_t i = 0; i < 60; i++) {
        fixture.settings.n_pins = i % 3;
        ck_assert_int_eq(hub_configure(fixture.hub, &fixture.config, no_needs, NULL), 0);
        fixture_run(&fixture, i % 7);
    }
    fixture.settings.n_pins = 2;
    reload();

    ck_assert_int_eq(pin_at(0)->state, PIN_HELD);
    ck_assert_int_eq(pin_at(1)->state, PIN_HELD);
    ck_assert_uint_eq(instance()->eq.n_pages_promised, 14);
    ck_assert_uint_eq(instance()->eq.n_taken, 0);
    fixture_end(&fixture);
}
END_TEST

/* ---- the end */

START_TEST(an_unload_waits_for_no_pin)
{
    open_fixture("context 256\npages 64\nwhen 65 do slow 5000\n", 2);
    begin();
    while (pin_at(1)->state != PIN_COMPUTING) {
        fixture_run(&fixture, 1);
    }
    models_unload(fixture_model(&fixture), false, "it goes");
    while (!list_is_empty(&fixture_model(&fixture)->instances)) {
        fixture_run(&fixture, 5);
    }
    fixture_end(&fixture);
}
END_TEST

START_TEST(a_stop_waits_for_no_pin)
{
    open_fixture("context 256\npages 64\nwhen 65 do slow 5000\n", 2);
    begin();
    while (pin_at(1)->state != PIN_COMPUTING) {
        fixture_run(&fixture, 1);
    }
    fixture_end(&fixture);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("session-pins");
    TCase *tcase = tcase_create("pins");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, pins_are_computed_when_their_model_is_loaded);
    tcase_add_test(tcase, a_lost_engine_s_pins_come_back);
    tcase_add_test(tcase, a_pin_outlives_the_engine_that_computes_it);
    tcase_add_test(tcase, a_pin_that_kills_its_engines_is_refused);
    tcase_add_test(tcase, messages_are_pinned_as_far_as_every_conversation_has_them_in_common);
    tcase_add_test(tcase, a_pin_for_some_is_found_by_them_alone);
    tcase_add_test(tcase, hits_and_their_tokens_are_counted);
    tcase_add_test(tcase, status_tells_each_user_of_its_own_and_observers_of_all);
    tcase_add_test(tcase, what_is_more_than_pins_may_hold_is_refused);
    tcase_add_test(tcase, a_whole_context_always_fits_beside_pins);
    tcase_add_test(tcase, what_leaves_no_room_for_an_answer_is_refused);
    tcase_add_test(tcase, where_memory_is_short_the_last_pin_goes_and_comes_back);
    tcase_add_test(tcase, a_request_takes_the_slot_of_a_pin);
    tcase_add_test(tcase, a_reload_adds_and_drops_and_leaves_what_stays);
    tcase_add_test(tcase, what_was_refused_has_another_try_after_a_reload);
    tcase_add_test(tcase, a_reload_drops_a_pin_at_any_moment);
    tcase_add_test(tcase, an_unload_waits_for_no_pin);
    tcase_add_test(tcase, a_stop_waits_for_no_pin);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
