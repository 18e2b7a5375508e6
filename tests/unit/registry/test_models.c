/* Loading, unloading, files that change, reload and the end of a hub. */
#include "hub_fixture.h"
#include "proto/wire.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

static struct fixture fixture;

struct loader { /* of a load or an unload */
    uint32_t n_answers;
    uint32_t n_progress;
    Sotto__V1__Code code;
    char sentence[DIAG_BYTES];
    Sotto__V1__ModelState state;
    struct ticket *ticket;
};

static void on_progress(void *owner, const Sotto__V1__LoadProgress *progress)
{
    struct loader *loader = owner;

    (void)progress;
    loader->n_progress++;
}

static void note(struct loader *loader, const Sotto__V1__Error *error)
{
    loader->n_answers++;
    if (error) {
        loader->code = error->code;
        snprintf(loader->sentence, sizeof(loader->sentence), "%s", error->message);
    }
}

static void on_loaded(void *owner, const Sotto__V1__ModelInfo *info, const Sotto__V1__Error *error)
{
    struct loader *loader = owner;

    loader->state = info ? info->state : SOTTO__V1__MODEL_STATE__MODEL_UNSPECIFIED;
    note(loader, error);
}

static void on_unloaded(void *owner, const Sotto__V1__Error *error)
{
    note(owner, error);
}

static int try_load(struct loader *loader, const char *name, const char *file, struct diag *diag)
{
    Sotto__V1__LoadModel ask = SOTTO__V1__LOAD_MODEL__INIT;

    memset(loader, 0, sizeof(*loader));
    ask.name = wire_str(name);
    if (file) {
        ask.file = wire_str(file);
    }
    return hub_load(fixture.hub, &ask, &fixture.grant, on_progress, on_loaded, loader, &loader->ticket, diag);
}

static bool is_answered(void *owner)
{
    return ((struct loader *)owner)->n_answers > 0;
}

static void load(struct loader *loader)
{
    struct diag diag = DIAG_INIT;

    ck_assert_int_eq(try_load(loader, "tiny", NULL, &diag), 0);
    fixture_until(&fixture, is_answered, loader);
}

static int try_unload(struct loader *loader, bool now, struct diag *diag)
{
    Sotto__V1__UnloadModel ask = SOTTO__V1__UNLOAD_MODEL__INIT;

    memset(loader, 0, sizeof(*loader));
    ask.name = (char *)"tiny";
    ask.now = now;
    return hub_unload(fixture.hub, &ask, &fixture.grant, on_unloaded, loader, &loader->ticket, diag);
}

static void begin_cold(const char *script)
{
    fixture_prepare(&fixture, script);
    fixture.settings.load_at_start = false;
    fixture_open(&fixture);
}

static bool has_one(void *owner)
{
    const struct list *list = owner;

    return !list_is_empty(list) && list->next == list->prev;
}

START_TEST(twenty_requests_on_a_cold_daemon_are_one_load)
{
    struct client *clients = calloc(20, sizeof(*clients));

    begin_cold("load do slow 50\n");
    ck_assert_int_eq(model_entry_state(fixture_model(&fixture)), SOTTO__V1__MODEL_STATE__MODEL_KNOWN);
    for (size_t i = 0; i < 20; i++) {
        client_init(&clients[i], 1, 4, 5);
        client_generate(&fixture, &clients[i]);
    }
    ck_assert_int_eq(model_entry_state(fixture_model(&fixture)), SOTTO__V1__MODEL_STATE__MODEL_LOADING);
    for (size_t i = 0; i < 20; i++) {
        client_until_over(&fixture, &clients[i]);
        client_assert_done(&clients[i], SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
        ck_assert_uint_eq(clients[i].n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_LOADING], 1);
        ck_assert_uint_eq(clients[i].n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_RUNNING], 1);
        ck_assert_str_eq(clients[i].numerics, "");
        client_finish(&clients[i]);
    }

    ck_assert_uint_eq(fixture_model(&fixture)->n_starts, 1);
    fixture_end(&fixture);
    free(clients);
}
END_TEST

START_TEST(a_load_goes_on_when_its_client_leaves)
{
    struct diag diag = DIAG_INIT;
    struct loader loader;
    struct client client;

    begin_cold("load do slow 100\n");
    ck_assert_int_eq(try_load(&loader, "tiny", NULL, &diag), 0);
    client_init(&client, 1, 4, 5);
    client_generate(&fixture, &client);
    fixture_run(&fixture, 20);
    ticket_forget(loader.ticket);
    stream_forget(client.stream);
    fixture_until_ready(&fixture);

    ck_assert_uint_eq(loader.n_answers, 0);
    ck_assert_uint_eq(fixture_model(&fixture)->n_starts, 1);
    client_finish(&client);
    fixture_end(&fixture);
}
END_TEST

START_TEST(a_load_tells_progress_and_then_the_model)
{
    struct loader loader;

    begin_cold("");
    load(&loader);
    ck_assert_int_eq(loader.code, SOTTO__V1__CODE__CODE_OK);
    ck_assert_int_eq(loader.state, SOTTO__V1__MODEL_STATE__MODEL_READY);
    ck_assert_uint_ge(loader.n_progress, 1);
    load(&loader); /* again: nothing to do */

    ck_assert_int_eq(loader.state, SOTTO__V1__MODEL_STATE__MODEL_READY);
    ck_assert_uint_eq(fixture_model(&fixture)->n_starts, 1);
    fixture_end(&fixture);
}
END_TEST

START_TEST(what_the_loader_refuses_is_not_tried_until_the_file_changes)
{
    struct diag diag = DIAG_INIT;
    struct loader loader;
    struct client client;

    begin_cold("load do hopeless tensor blk.0 is missing\n");
    client_init(&client, 1, 4, 5);
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);
    client_assert_failed(&client, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, "tensor blk.0 is missing");
    ck_assert_int_eq(model_entry_state(fixture_model(&fixture)), SOTTO__V1__MODEL_STATE__MODEL_FAILED);
    fixture_run(&fixture, 50);
    client_refused(&fixture, &client, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, "tensor blk.0 is missing");
    ck_assert_int_eq(try_load(&loader, "tiny", NULL, &diag), SOTTO__V1__CODE__CODE_FAILED_PRECONDITION);
    ck_assert_uint_eq(fixture_model(&fixture)->n_starts, 1);

    fixture_rewrite(&fixture, "");
    fixture_make_model(fixture.model, 200); /* another file */
    client_finish(&client);
    client_init(&client, 1, 4, 5);
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    client_finish(&client);
    fixture_end(&fixture);
}
END_TEST

START_TEST(an_administrator_may_try_a_refused_file_again)
{
    struct loader loader;

    begin_cold("load do hopeless no\n");
    fixture.grant.admin = true;
    load(&loader);
    ck_assert_int_eq(loader.code, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION);
    fixture_rewrite(&fixture, "");
    load(&loader);

    ck_assert_int_eq(loader.code, SOTTO__V1__CODE__CODE_OK);
    fixture_end(&fixture);
}
END_TEST

START_TEST(what_crashes_the_loader_is_tried_three_times)
{
    struct loader loader;

    begin_cold("load do crash\n");
    load(&loader);

    ck_assert_int_eq(loader.code, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(loader.sentence, "lost 3 times while loading"));
    ck_assert_uint_eq(fixture_model(&fixture)->n_starts, 3);
    fixture_end(&fixture);
}
END_TEST

START_TEST(a_load_without_progress_is_lost)
{
    struct loader loader;

    fixture_prepare(&fixture, "load do stall 5000\n");
    fixture.settings.load_at_start = false;
    fixture.config.load_stall_ms = 50;
    fixture_open(&fixture);
    load(&loader);

    ck_assert_int_eq(loader.code, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(loader.sentence, "no progress"));
    fixture_end(&fixture);
}
END_TEST

START_TEST(no_engine_or_no_file_is_a_failed_model_with_a_sentence)
{
    struct diag diag = DIAG_INIT;
    struct loader loader;

    fixture_prepare(&fixture, "");
    fixture.config.engine_path = "/nonexistent/sotto-engine";
    fixture.settings.load_at_start = false;
    fixture_open(&fixture);
    load(&loader);
    ck_assert_int_eq(loader.code, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(loader.sentence, "could not be started"));
    fixture_end(&fixture);

    begin_cold("");
    unlink(fixture.model);
    ck_assert_int_eq(try_load(&loader, "tiny", NULL, &diag), SOTTO__V1__CODE__CODE_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(diag.text, "No such file"));
    ck_assert_int_eq(model_entry_state(fixture_model(&fixture)), SOTTO__V1__MODEL_STATE__MODEL_FAILED);
    fixture_end(&fixture);
}
END_TEST

START_TEST(unloading_waits_for_streams_or_ends_them)
{
    struct diag diag = DIAG_INIT;
    struct loader loader;
    struct client client;
    uint32_t pid;

    fixture_begin(&fixture, "always do slow 3\n");
    pid = fixture_pid(&fixture);
    ck_assert_int_eq(try_unload(&loader, false, &diag), SOTTO__V1__CODE__CODE_PERMISSION_DENIED);
    fixture.grant.admin = true;
    client_init(&client, 1, 4, 20);
    client_generate(&fixture, &client);
    client_until_tokens(&fixture, &client, 2);
    ck_assert_int_eq(try_unload(&loader, false, &diag), 0);
    ck_assert_int_eq(model_entry_state(fixture_model(&fixture)), SOTTO__V1__MODEL_STATE__MODEL_UNLOADING);
    client_until_over(&fixture, &client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 20);
    fixture_until(&fixture, is_answered, &loader);
    ck_assert_int_eq(loader.code, SOTTO__V1__CODE__CODE_OK);
    ck_assert_int_eq(kill((pid_t)pid, 0), -1); /* reaped: every byte is back with the system */
    client_finish(&client);

    load(&loader);
    client_init(&client, 1, 4, 200);
    client_generate(&fixture, &client);
    client_until_tokens(&fixture, &client, 2);
    ck_assert_int_eq(try_unload(&loader, true, &diag), 0);
    client_until_over(&fixture, &client);
    client_assert_failed(&client, SOTTO__V1__CODE__CODE_UNAVAILABLE, "unloaded");
    fixture_until(&fixture, is_answered, &loader);
    client_finish(&client);
    fixture_end(&fixture);
}
END_TEST

START_TEST(what_an_administrator_unloaded_only_an_administrator_loads_again)
{
    struct diag diag = DIAG_INIT;
    struct loader loader;
    struct client client;

    fixture_begin(&fixture, "");
    fixture.grant.admin = true;
    ck_assert_int_eq(try_unload(&loader, false, &diag), 0);
    fixture_until(&fixture, is_answered, &loader);
    fixture.grant.admin = false;
    client_init(&client, 1, 4, 5);
    client_refused(&fixture, &client, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, "administrator");
    ck_assert_int_eq(try_load(&loader, "tiny", NULL, &diag), SOTTO__V1__CODE__CODE_PERMISSION_DENIED);
    fixture.grant.admin = true;
    load(&loader);

    ck_assert_int_eq(loader.state, SOTTO__V1__MODEL_STATE__MODEL_READY);
    client_finish(&client);
    fixture_end(&fixture);
}
END_TEST

START_TEST(a_file_of_ones_own_is_for_administrators)
{
    struct diag diag = DIAG_INIT;
    struct loader loader;

    fixture_begin(&fixture, "");
    ck_assert_int_eq(try_load(&loader, "mine", fixture.model, &diag), SOTTO__V1__CODE__CODE_PERMISSION_DENIED);
    fixture.grant.admin = true;
    ck_assert_int_eq(try_load(&loader, "mine", "tiny.gguf", &diag), SOTTO__V1__CODE__CODE_INVALID_ARGUMENT);
    ck_assert_int_eq(try_load(&loader, "nobody", NULL, &diag), SOTTO__V1__CODE__CODE_NOT_FOUND);
    /* A file that is not there makes no model, and takes no file from one. */
    ck_assert_int_gt(try_load(&loader, "mine", "/nonexistent", &diag), 0);
    ck_assert_int_gt(try_load(&loader, "tiny", "/nonexistent", &diag), 0);
    ck_assert_ptr_null(model_entry_find(&fixture.hub->registry, "mine"));
    ck_assert_str_eq(fixture_model(&fixture)->settings.file, fixture.model);
    ck_assert_int_eq(try_load(&loader, "mine", fixture.model, &diag), 0);
    fixture_until(&fixture, is_answered, &loader);

    ck_assert_int_eq(loader.state, SOTTO__V1__MODEL_STATE__MODEL_READY);
    fixture_end(&fixture);
}
END_TEST

START_TEST(a_replaced_file_is_taken_beside_the_old_one)
{
    struct loader loader;
    struct client old;
    struct client new;
    char other[160];
    uint32_t pid;

    fixture_begin(&fixture, "always do slow 3\n");
    pid = fixture_pid(&fixture);
    client_init(&old, 1, 4, 60);
    client_generate(&fixture, &old);
    client_until_tokens(&fixture, &old, 2);
    snprintf(other, sizeof(other), "%s.new", fixture.model);
    fixture_make_model(other, 200);
    ck_assert_int_eq(rename(other, fixture.model), 0);
    kill((pid_t)pid, SIGKILL); /* what runs goes on with the file that it began with */
    load(&loader);
    ck_assert_int_eq(loader.code, SOTTO__V1__CODE__CODE_OK);
    ck_assert_uint_eq(fixture_model(&fixture)->current->facts.n_vocab, 456);
    client_init(&new, 1, 4, 5);
    client_generate(&fixture, &new);
    client_until_over(&fixture, &new);
    ck_assert_uint_eq(old.n_ends, 0);
    client_until_over(&fixture, &old);
    fixture_until(&fixture, has_one, &fixture_model(&fixture)->instances);

    client_assert_done(&old, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 60);
    client_assert_done(&new, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    client_finish(&old);
    client_finish(&new);
    fixture_end(&fixture);
}
END_TEST

START_TEST(a_bad_replacement_leaves_the_old_one_serving)
{
    struct loader loader;
    struct client client;
    char other[160];

    fixture_begin(&fixture, "");
    snprintf(other, sizeof(other), "%s.new", fixture.model);
    fixture_make_model(other, 200);
    ck_assert_int_eq(truncate(other, 100), 0);
    ck_assert_int_eq(rename(other, fixture.model), 0);
    load(&loader);
    ck_assert_int_eq(loader.code, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION);
    client_init(&client, 1, 4, 5);
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);

    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    client_finish(&client);
    fixture_end(&fixture);
}
END_TEST

START_TEST(a_file_cut_in_place_ends_its_streams_with_a_sentence_once_the_engine_is_lost)
{
    struct client client;

    fixture_begin(&fixture, "always do slow 3\n");
    client_init(&client, 1, 4, 200);
    client_generate(&fixture, &client);
    client_until_tokens(&fixture, &client, 2);
    ck_assert_int_eq(truncate(fixture.model, 100), 0);
    kill((pid_t)fixture_pid(&fixture), SIGBUS); /* as a truncated mapping would */
    client_until_over(&fixture, &client);

    client_assert_failed(&client, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, "changed in place");
    ck_assert_int_eq(model_entry_state(fixture_model(&fixture)), SOTTO__V1__MODEL_STATE__MODEL_FAILED);
    client_finish(&client);
    fixture_end(&fixture);
}
END_TEST

static void on_stopped(void *owner)
{
    bool *stopped = owner;

    *stopped = true;
}

static bool is_true(void *owner)
{
    return *(bool *)owner;
}

START_TEST(a_stop_lets_streams_end_within_its_grace_and_takes_no_more)
{
    struct client client;
    struct client late;
    bool stopped = false;

    fixture_begin(&fixture, "always do slow 3\n");
    client_init(&client, 1, 4, 20);
    client_generate(&fixture, &client);
    client_until_tokens(&fixture, &client, 1);
    hub_stop(fixture.hub, 5000, on_stopped, &stopped);
    client_init(&late, 1, 4, 20);
    client_refused(&fixture, &late, SOTTO__V1__CODE__CODE_UNAVAILABLE, "shutting down");
    fixture_until(&fixture, is_true, &stopped);

    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 20);
    fixture.is_stopped = true;
    client_finish(&client);
    client_finish(&late);
    fixture_end(&fixture);
}
END_TEST

START_TEST(a_second_stop_ends_what_is_left)
{
    struct client client;
    bool stopped = false;

    fixture_begin(&fixture, "always do slow 3\n");
    client_init(&client, 1, 4, 400);
    client_generate(&fixture, &client);
    client_until_tokens(&fixture, &client, 1);
    hub_stop(fixture.hub, 60000, on_stopped, &stopped);
    fixture_run(&fixture, 50);
    hub_stop(fixture.hub, 60000, on_stopped, &stopped);
    fixture_until(&fixture, is_true, &stopped);

    client_assert_failed(&client, SOTTO__V1__CODE__CODE_UNAVAILABLE, "shutting down");
    fixture.is_stopped = true;
    client_finish(&client);
    fixture_end(&fixture);
}
END_TEST

START_TEST(a_stop_while_loading_ends_and_tells_the_waiting_requests)
{
    struct diag diag = DIAG_INIT;
    struct loader loader;
    struct client client;
    bool stopped = false;

    begin_cold("load do stall 60000\n");
    ck_assert_int_eq(try_load(&loader, "tiny", NULL, &diag), 0);
    client_init(&client, 1, 4, 400);
    client_generate(&fixture, &client);
    fixture_run(&fixture, 50);
    hub_stop(fixture.hub, 10, on_stopped, &stopped);
    fixture_until(&fixture, is_true, &stopped);

    client_assert_failed(&client, SOTTO__V1__CODE__CODE_UNAVAILABLE, "shutting down");
    ck_assert_int_eq(loader.n_answers, 1);
    ck_assert_int_ne(loader.code, SOTTO__V1__CODE__CODE_OK);
    fixture.is_stopped = true;
    client_finish(&client);
    fixture_end(&fixture);
}
END_TEST

static char needs[256];

static void on_needs(void *owner, const char *path)
{
    (void)owner;
    snprintf(needs + strlen(needs), sizeof(needs) - strlen(needs), "%s ", path);
}

START_TEST(a_reload_adds_changes_and_drops_models)
{
    struct model_settings models[2];
    struct client client;

    fixture_begin(&fixture, "");
    models[0] = fixture.settings;
    models[0].n_context = 32;
    models[1] = fixture.settings;
    models[1].name = "second";
    models[1].is_default = false;
    fixture.config.models = models;
    fixture.config.n_models = 2;
    ck_assert_int_eq(hub_configure(fixture.hub, &fixture.config, on_needs, NULL), 0);
    ck_assert_str_eq(needs, "models.tiny.context ");
    ck_assert_ptr_nonnull(model_entry_find(&fixture.hub->registry, "second"));
    ck_assert_ptr_nonnull(model_entry_find(&fixture.hub->registry, "second")->next);

    fixture.config.models = &models[1];
    fixture.config.n_models = 1;
    client_init(&client, 1, 4, 5);
    client_generate(&fixture, &client);
    ck_assert_int_eq(hub_configure(fixture.hub, &fixture.config, on_needs, NULL), 0);
    ck_assert_ptr_null(fixture_model(&fixture));
    client_until_over(&fixture, &client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    fixture_until(&fixture, has_one, &fixture.hub->registry.models);
    client_finish(&client);
    fixture_end(&fixture);
}
END_TEST

START_TEST(a_reload_that_finds_no_memory_changes_nothing)
{
    struct model_settings models[2];
    uint32_t n_failed = 0;

    fixture_begin(&fixture, "");
    models[0] = fixture.settings;
    models[0].n_context = 32;
    models[1] = fixture.settings;
    models[1].name = "second";
    models[1].load_at_start = false;
    fixture.config.models = models;
    fixture.config.n_models = 2;
    for (int64_t nth = 0;; nth++) {
        int r;

        mem_fail_nth(nth);
        r = hub_configure(fixture.hub, &fixture.config, NULL, NULL);
        mem_fail_nth(-1);
        if (r == 0) {
            break;
        }
        ck_assert_int_eq(r, -ENOMEM);
        ck_assert_uint_eq(fixture_model(&fixture)->settings.n_context, 0);
        ck_assert_ptr_null(model_entry_find(&fixture.hub->registry, "second"));
        n_failed++;
    }

    ck_assert_uint_ge(n_failed, 3);
    ck_assert_uint_eq(fixture_model(&fixture)->settings.n_context, 32);
    fixture_end(&fixture);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("registry-models");
    TCase *tcase = tcase_create("all");

    unit_add(tcase, twenty_requests_on_a_cold_daemon_are_one_load, a_load_goes_on_when_its_client_leaves,
             a_load_tells_progress_and_then_the_model, what_the_loader_refuses_is_not_tried_until_the_file_changes,
             an_administrator_may_try_a_refused_file_again, what_crashes_the_loader_is_tried_three_times,
             a_load_without_progress_is_lost, no_engine_or_no_file_is_a_failed_model_with_a_sentence,
             unloading_waits_for_streams_or_ends_them, what_an_administrator_unloaded_only_an_administrator_loads_again,
             a_file_of_ones_own_is_for_administrators, a_replaced_file_is_taken_beside_the_old_one,
             a_bad_replacement_leaves_the_old_one_serving,
             a_file_cut_in_place_ends_its_streams_with_a_sentence_once_the_engine_is_lost,
             a_stop_lets_streams_end_within_its_grace_and_takes_no_more, a_second_stop_ends_what_is_left,
             a_stop_while_loading_ends_and_tells_the_waiting_requests, a_reload_adds_changes_and_drops_models,
             a_reload_that_finds_no_memory_changes_nothing);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
