/*
 * Families with recurrent layers, of which a sequence has a state beside its pages, served whole: their sessions answer
 * as cold requests do, even if the state is lost, and nothing of them can be pinned. The engine is the real one, the
 * weights are random.
 */
#include "../model/reference.h"
#include "base/clean.h"
#include "session/pins.h"
#include "session_fixture.h"
#include <signal.h>
#include <string.h>

#define N_TURNS 4u

static struct reference_model paper;

static void begin(const struct reference *of, uint32_t n_sequences, const struct pin_settings *pins, size_t n_pins)
{
    reference_make(&paper, of);
    fixture_prepare(&fixture, "");
    fixture.settings.file = paper.path;
    fixture.settings.backend = "cpu";
    fixture.settings.kv_format = "f16";
    fixture.settings.n_threads = 1;
    fixture.settings.n_sequences = n_sequences;
    fixture.settings.n_step_rows = 16; /* a prompt takes more than one step */
    fixture.settings.pins = pins;
    fixture.settings.n_pins = n_pins;
    fixture.config.engine_path = SOTTO_ENGINE;
    fixture.config.guard_allocations = true;
    fixture_open(&fixture);
    fixture_until_ready(&fixture);
}

static void end(void)
{
    fixture_end(&fixture);
    reference_free(&paper);
}

static bool recurs(const struct reference *of)
{
    return of->attends_every > 0;
}

/* Runs a turn of session @id, and the same without one. Returns the tokens that it found. */
static uint32_t turn(uint64_t id, struct log *log, uint32_t first, uint32_t n_answer)
{
    struct client client;
    uint32_t n_cached;

    init_turn(&client, id, first, 9, n_answer);
    run(&client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, n_answer);
    n_cached = client.usage.cached_tokens;
    assert_same_as_cold(log, &client);
    client_finish(&client);
    return n_cached;
}

START_TEST(turn_after_turn_keeps_the_state_and_answers_as_a_cold_request)
{
    struct log log = { .n = 0 };
    uint64_t id;

    if (!recurs(&references[_i])) {
        return;
    }
    begin(&references[_i], 4, NULL, 0);
    id = open_empty();
    for (uint32_t i = 0; i < N_TURNS; i++) {
        uint32_t n_before = log.n;
        uint32_t n_cached = turn(id, &log, 30 + i, 6);

        ck_assert_uint_eq(n_cached, n_before > 0 ? n_before - 1 : 0);
    }
    ck_assert_uint_eq(close_well(id), log.n);
    end();
}
END_TEST

/* The state has gone further than the text, so it is computed again. */
START_TEST(barge_in_forgets_the_state_and_not_the_text)
{
    struct log log = { .n = 0 };
    struct client client;
    uint64_t id;

    if (!recurs(&references[_i])) {
        return;
    }
    begin(&references[_i], 4, NULL, 0);
    id = open_empty();
    for (uint32_t i = 0; i < 3; i++) {
        init_turn(&client, id, 40 + i, 8, 60);
        client_generate(&fixture, &client);
        client_until_tokens(&fixture, &client, 2 + i);
        stream_cancel(client.stream);
        client_until_over(&fixture, &client);
        ck_assert_int_eq(client.reason, SOTTO__V1__FINISH_REASON__FINISH_CANCELLED);
        log_append(&log, client.ids.ids, client.ids.n_ids);
        log_append(&log, client.tokens, client.n_tokens);
        client_finish(&client);
        turn(id, &log, 50 + i, 3);
        if (log.n > 70) {
            break; /* the context is 128 */
        }
    }
    end();
}
END_TEST

START_TEST(a_lost_engine_takes_the_state_and_the_conversation_goes_on)
{
    struct log log = { .n = 0 };
    uint64_t id;

    if (!recurs(&references[_i])) {
        return;
    }
    begin(&references[_i], 4, NULL, 0);
    id = open_empty();
    turn(id, &log, 30, 5);
    kill((pid_t)fixture_pid(&fixture), SIGKILL);
    turn(id, &log, 31, 5);
    turn(id, &log, 32, 5);
    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_ENGINE_CRASHES], 1);
    end();
}
END_TEST

/* Runs two conversations with one state: each turn takes it from the other. */
START_TEST(conversations_that_share_a_slot_lose_the_state_and_answer_the_same)
{
    struct log logs[2] = { { .n = 0 }, { .n = 0 } };
    uint64_t ids[2];

    if (!recurs(&references[_i])) {
        return;
    }
    begin(&references[_i], 1, NULL, 0);
    ids[0] = open_empty();
    ids[1] = open_empty();
    for (uint32_t i = 0; i < 6; i++) {
        turn(ids[i % 2], &logs[i % 2], 60 + i, 4);
    }
    ck_assert_uint_gt(fixture.hub->events.counts[COUNT_SESSIONS_GIVEN_UP], 3);
    end();
}
END_TEST

static bool is_refused(void *owner)
{
    const struct instance *instance = fixture_model(&fixture)->current;

    (void)owner;
    return container_of(instance->pins.next, struct pin, link)->state == PIN_REFUSED;
}

START_TEST(nothing_of_such_a_family_is_pinned)
{
    static const struct pin_settings pin = { .name = "p", .text = "aaaabbbbccccddddeeeeffff" };

    if (!recurs(&references[_i])) {
        return;
    }
    begin(&references[_i], 4, &pin, 1);
    fixture_until(&fixture, is_refused, NULL);
    ck_assert_ptr_nonnull(
        strstr(container_of(fixture_model(&fixture)->current->pins.next, struct pin, link)->why, "a state"));
    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_STEPS], 0);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("session-recurrent");
    TCase *tcase = tcase_create("recurs");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, turn_after_turn_keeps_the_state_and_answers_as_a_cold_request, 0, n_references);
    tcase_add_loop_test(tcase, barge_in_forgets_the_state_and_not_the_text, 0, n_references);
    tcase_add_loop_test(tcase, a_lost_engine_takes_the_state_and_the_conversation_goes_on, 0, n_references);
    tcase_add_loop_test(tcase, conversations_that_share_a_slot_lose_the_state_and_answer_the_same, 0, n_references);
    tcase_add_loop_test(tcase, nothing_of_such_a_family_is_pinned, 0, n_references);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
