/* Loading, unloading, files that change, reload and the end of it all. */
#include "house.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

static struct house house;

struct asker { /* of a load or an unload */
    uint32_t n_answers;
    uint32_t n_progress;
    Sotto__V1__Code code;
    char sentence[DIAG_BYTES];
    Sotto__V1__ModelState state;
    struct ticket *ticket;
};

static void on_progress(void *owner, const Sotto__V1__LoadProgress *progress)
{
    struct asker *asker = owner;

    (void)progress;
    asker->n_progress++;
}

static void note(struct asker *asker, const Sotto__V1__Error *error)
{
    asker->n_answers++;
    if (error) {
        asker->code = error->code;
        snprintf(asker->sentence, sizeof(asker->sentence), "%s", error->message);
    }
}

static void on_loaded(void *owner, const Sotto__V1__ModelInfo *info, const Sotto__V1__Error *error)
{
    struct asker *asker = owner;

    asker->state = info ? info->state : SOTTO__V1__MODEL_STATE__MODEL_UNSPECIFIED;
    note(asker, error);
}

static void on_unloaded(void *owner, const Sotto__V1__Error *error)
{
    note(owner, error);
}

static int try_load(struct asker *asker, const char *name, const char *file, struct diag *diag)
{
    Sotto__V1__LoadModel ask = SOTTO__V1__LOAD_MODEL__INIT;

    memset(asker, 0, sizeof(*asker));
    memcpy(&ask.name, &name, sizeof(ask.name));
    if (file) {
        memcpy(&ask.file, &file, sizeof(ask.file));
    }
    return hub_load(house.hub, &ask, &house.grant, on_progress, on_loaded, asker, &asker->ticket, diag);
}

static bool is_answered(void *owner)
{
    return ((struct asker *)owner)->n_answers > 0;
}

static void load(struct asker *asker)
{
    struct diag diag = DIAG_INIT;

    ck_assert_int_eq(try_load(asker, "tiny", NULL, &diag), 0);
    house_until(&house, is_answered, asker);
}

static int try_unload(struct asker *asker, bool now, struct diag *diag)
{
    Sotto__V1__UnloadModel ask = SOTTO__V1__UNLOAD_MODEL__INIT;

    memset(asker, 0, sizeof(*asker));
    ask.name = (char *)"tiny";
    ask.now = now;
    return hub_unload(house.hub, &ask, &house.grant, on_unloaded, asker, &asker->ticket, diag);
}

static void begin_cold(const char *script)
{
    house_prepare(&house, script);
    house.settings.load_at_start = false;
    house_open(&house);
}

START_TEST(twenty_requests_on_a_cold_daemon_are_one_load)
{
    struct guest *guests = calloc(20, sizeof(*guests));

    begin_cold("load do slow 50\n");
    ck_assert_int_eq(models_state(house_model(&house)), SOTTO__V1__MODEL_STATE__MODEL_KNOWN);
    for (size_t i = 0; i < 20; i++) {
        guest_init(&guests[i], 1, 4, 5);
        guest_ask(&house, &guests[i]);
    }
    ck_assert_int_eq(models_state(house_model(&house)), SOTTO__V1__MODEL_STATE__MODEL_LOADING);
    for (size_t i = 0; i < 20; i++) {
        guest_until_over(&house, &guests[i]);
        guest_assert_done(&guests[i], SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
        ck_assert_uint_eq(guests[i].n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_LOADING], 1);
        ck_assert_uint_eq(guests[i].n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_RUNNING], 1);
        ck_assert_str_eq(guests[i].numerics, "");
        guest_finish(&guests[i]);
    }

    ck_assert_uint_eq(house_model(&house)->n_starts, 1);
    house_end(&house);
    free(guests);
}
END_TEST

START_TEST(a_load_goes_on_when_who_asked_for_it_leaves)
{
    struct diag diag = DIAG_INIT;
    struct asker asker;
    struct guest guest;

    begin_cold("load do slow 100\n");
    ck_assert_int_eq(try_load(&asker, "tiny", NULL, &diag), 0);
    guest_init(&guest, 1, 4, 5);
    guest_ask(&house, &guest);
    house_run(&house, 20);
    ticket_forget(asker.ticket);
    stream_forget(guest.stream);
    house_until_ready(&house);

    ck_assert_uint_eq(asker.n_answers, 0);
    ck_assert_uint_eq(house_model(&house)->n_starts, 1);
    guest_finish(&guest);
    house_end(&house);
}
END_TEST

START_TEST(a_load_tells_progress_and_then_the_model)
{
    struct asker asker;

    begin_cold("");
    load(&asker);
    ck_assert_int_eq(asker.code, SOTTO__V1__CODE__CODE_OK);
    ck_assert_int_eq(asker.state, SOTTO__V1__MODEL_STATE__MODEL_READY);
    ck_assert_uint_ge(asker.n_progress, 1);
    load(&asker); /* again: nothing to do */

    ck_assert_int_eq(asker.state, SOTTO__V1__MODEL_STATE__MODEL_READY);
    ck_assert_uint_eq(house_model(&house)->n_starts, 1);
    house_end(&house);
}
END_TEST

START_TEST(what_the_loader_refuses_is_not_tried_until_the_file_changes)
{
    struct diag diag = DIAG_INIT;
    struct asker asker;
    struct guest guest;

    begin_cold("load do hopeless tensor blk.0 is missing\n");
    guest_init(&guest, 1, 4, 5);
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);
    guest_assert_failed(&guest, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, "tensor blk.0 is missing");
    ck_assert_int_eq(models_state(house_model(&house)), SOTTO__V1__MODEL_STATE__MODEL_FAILED);
    house_run(&house, 50);
    guest_refused(&house, &guest, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, "tensor blk.0 is missing");
    ck_assert_int_eq(try_load(&asker, "tiny", NULL, &diag), SOTTO__V1__CODE__CODE_FAILED_PRECONDITION);
    ck_assert_uint_eq(house_model(&house)->n_starts, 1);

    house_rewrite(&house, "");
    house_make_model(house.model, 200); /* another file */
    guest_finish(&guest);
    guest_init(&guest, 1, 4, 5);
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);
    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    guest_finish(&guest);
    house_end(&house);
}
END_TEST

START_TEST(an_administrator_may_try_a_refused_file_again)
{
    struct asker asker;

    begin_cold("load do hopeless no\n");
    house.grant.admin = true;
    load(&asker);
    ck_assert_int_eq(asker.code, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION);
    house_rewrite(&house, "");
    load(&asker);

    ck_assert_int_eq(asker.code, SOTTO__V1__CODE__CODE_OK);
    house_end(&house);
}
END_TEST

START_TEST(what_crashes_the_loader_is_tried_three_times)
{
    struct asker asker;

    begin_cold("load do crash\n");
    load(&asker);

    ck_assert_int_eq(asker.code, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(asker.sentence, "lost 3 times while loading"));
    ck_assert_uint_eq(house_model(&house)->n_starts, 3);
    house_end(&house);
}
END_TEST

START_TEST(a_load_without_progress_is_lost)
{
    struct asker asker;

    house_prepare(&house, "load do stall 5000\n");
    house.settings.load_at_start = false;
    house.config.load_stall_ms = 50;
    house_open(&house);
    load(&asker);

    ck_assert_int_eq(asker.code, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(asker.sentence, "no progress"));
    house_end(&house);
}
END_TEST

START_TEST(no_engine_or_no_file_is_a_failed_model_with_a_sentence)
{
    struct diag diag = DIAG_INIT;
    struct asker asker;

    house_prepare(&house, "");
    house.config.engine_path = "/nonexistent/sotto-engine";
    house.settings.load_at_start = false;
    house_open(&house);
    load(&asker);
    ck_assert_int_eq(asker.code, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(asker.sentence, "could not be started"));
    house_end(&house);

    begin_cold("");
    unlink(house.model);
    ck_assert_int_eq(try_load(&asker, "tiny", NULL, &diag), SOTTO__V1__CODE__CODE_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(diag.text, "No such file"));
    ck_assert_int_eq(models_state(house_model(&house)), SOTTO__V1__MODEL_STATE__MODEL_FAILED);
    house_end(&house);
}
END_TEST

START_TEST(unloading_waits_for_streams_or_ends_them)
{
    struct diag diag = DIAG_INIT;
    struct asker asker;
    struct guest guest;
    uint32_t pid;

    house_begin(&house, "always do slow 3\n");
    pid = house_pid(&house);
    ck_assert_int_eq(try_unload(&asker, false, &diag), SOTTO__V1__CODE__CODE_PERMISSION_DENIED);
    house.grant.admin = true;
    guest_init(&guest, 1, 4, 20);
    guest_ask(&house, &guest);
    guest_until_tokens(&house, &guest, 2);
    ck_assert_int_eq(try_unload(&asker, false, &diag), 0);
    ck_assert_int_eq(models_state(house_model(&house)), SOTTO__V1__MODEL_STATE__MODEL_UNLOADING);
    guest_until_over(&house, &guest);
    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 20);
    house_until(&house, is_answered, &asker);
    ck_assert_int_eq(asker.code, SOTTO__V1__CODE__CODE_OK);
    ck_assert_int_eq(kill((pid_t)pid, 0), -1); /* reaped: every byte is back with the system */
    guest_finish(&guest);

    load(&asker);
    guest_init(&guest, 1, 4, 200);
    guest_ask(&house, &guest);
    guest_until_tokens(&house, &guest, 2);
    ck_assert_int_eq(try_unload(&asker, true, &diag), 0);
    guest_until_over(&house, &guest);
    guest_assert_failed(&guest, SOTTO__V1__CODE__CODE_UNAVAILABLE, "unloaded");
    house_until(&house, is_answered, &asker);
    guest_finish(&guest);
    house_end(&house);
}
END_TEST

START_TEST(what_an_administrator_unloaded_only_one_loads_again)
{
    struct diag diag = DIAG_INIT;
    struct asker asker;
    struct guest guest;

    house_begin(&house, "");
    house.grant.admin = true;
    ck_assert_int_eq(try_unload(&asker, false, &diag), 0);
    house_until(&house, is_answered, &asker);
    house.grant.admin = false;
    guest_init(&guest, 1, 4, 5);
    guest_refused(&house, &guest, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, "administrator");
    ck_assert_int_eq(try_load(&asker, "tiny", NULL, &diag), SOTTO__V1__CODE__CODE_PERMISSION_DENIED);
    house.grant.admin = true;
    load(&asker);

    ck_assert_int_eq(asker.state, SOTTO__V1__MODEL_STATE__MODEL_READY);
    guest_finish(&guest);
    house_end(&house);
}
END_TEST

START_TEST(a_file_of_ones_own_is_for_administrators)
{
    struct diag diag = DIAG_INIT;
    struct asker asker;

    house_begin(&house, "");
    ck_assert_int_eq(try_load(&asker, "mine", house.model, &diag), SOTTO__V1__CODE__CODE_PERMISSION_DENIED);
    house.grant.admin = true;
    ck_assert_int_eq(try_load(&asker, "mine", "tiny.gguf", &diag), SOTTO__V1__CODE__CODE_INVALID_ARGUMENT);
    ck_assert_int_eq(try_load(&asker, "nobody", NULL, &diag), SOTTO__V1__CODE__CODE_NOT_FOUND);
    /* One that is not there makes no model, and takes no file from one. */
    ck_assert_int_gt(try_load(&asker, "mine", "/nonexistent", &diag), 0);
    ck_assert_int_gt(try_load(&asker, "tiny", "/nonexistent", &diag), 0);
    ck_assert_ptr_null(models_find(house.hub, "mine"));
    ck_assert_str_eq(house_model(&house)->settings.file, house.model);
    ck_assert_int_eq(try_load(&asker, "mine", house.model, &diag), 0);
    house_until(&house, is_answered, &asker);

    ck_assert_int_eq(asker.state, SOTTO__V1__MODEL_STATE__MODEL_READY);
    house_end(&house);
}
END_TEST

START_TEST(a_replaced_file_is_taken_beside_the_old_one)
{
    struct asker asker;
    struct guest old;
    struct guest new;
    char other[160];
    uint32_t pid;

    house_begin(&house, "always do slow 3\n");
    pid = house_pid(&house);
    guest_init(&old, 1, 4, 60);
    guest_ask(&house, &old);
    guest_until_tokens(&house, &old, 2);
    snprintf(other, sizeof(other), "%s.new", house.model);
    house_make_model(other, 200);
    ck_assert_int_eq(rename(other, house.model), 0);
    kill((pid_t)pid, SIGKILL); /* what runs goes on with the file that it began with */
    load(&asker);
    ck_assert_int_eq(asker.code, SOTTO__V1__CODE__CODE_OK);
    ck_assert_uint_eq(house_model(&house)->current->facts.n_vocab, 456);
    guest_init(&new, 1, 4, 5);
    guest_ask(&house, &new);
    guest_until_over(&house, &new);
    ck_assert_uint_eq(old.n_ends, 0);
    guest_until_over(&house, &old);
    house_run(&house, 100);

    guest_assert_done(&old, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 60);
    guest_assert_done(&new, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    ck_assert_ptr_eq(list_first(&house_model(&house)->editions)->next, &house_model(&house)->editions);
    guest_finish(&old);
    guest_finish(&new);
    house_end(&house);
}
END_TEST

START_TEST(a_bad_replacement_leaves_the_old_one_serving)
{
    struct asker asker;
    struct guest guest;
    char other[160];

    house_begin(&house, "");
    snprintf(other, sizeof(other), "%s.new", house.model);
    house_make_model(other, 200);
    ck_assert_int_eq(truncate(other, 100), 0);
    ck_assert_int_eq(rename(other, house.model), 0);
    load(&asker);
    ck_assert_int_eq(asker.code, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION);
    guest_init(&guest, 1, 4, 5);
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);

    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    guest_finish(&guest);
    house_end(&house);
}
END_TEST

START_TEST(a_file_cut_in_place_ends_its_streams_with_a_sentence_once_the_engine_is_lost)
{
    struct guest guest;

    house_begin(&house, "always do slow 3\n");
    guest_init(&guest, 1, 4, 200);
    guest_ask(&house, &guest);
    guest_until_tokens(&house, &guest, 2);
    ck_assert_int_eq(truncate(house.model, 100), 0);
    kill((pid_t)house_pid(&house), SIGBUS); /* as a mapping that was cut would */
    guest_until_over(&house, &guest);

    guest_assert_failed(&guest, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, "changed in place");
    ck_assert_int_eq(models_state(house_model(&house)), SOTTO__V1__MODEL_STATE__MODEL_FAILED);
    guest_finish(&guest);
    house_end(&house);
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
    struct guest guest;
    struct guest late;
    bool stopped = false;

    house_begin(&house, "always do slow 3\n");
    guest_init(&guest, 1, 4, 20);
    guest_ask(&house, &guest);
    guest_until_tokens(&house, &guest, 1);
    hub_stop(house.hub, 5000, on_stopped, &stopped);
    guest_init(&late, 1, 4, 20);
    guest_refused(&house, &late, SOTTO__V1__CODE__CODE_UNAVAILABLE, "shutting down");
    house_until(&house, is_true, &stopped);

    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 20);
    house.is_stopped = true;
    guest_finish(&guest);
    guest_finish(&late);
    house_end(&house);
}
END_TEST

START_TEST(a_second_stop_ends_what_is_left)
{
    struct guest guest;
    bool stopped = false;

    house_begin(&house, "always do slow 3\n");
    guest_init(&guest, 1, 4, 400);
    guest_ask(&house, &guest);
    guest_until_tokens(&house, &guest, 1);
    hub_stop(house.hub, 60000, on_stopped, &stopped);
    house_run(&house, 50);
    hub_stop(house.hub, 60000, on_stopped, &stopped);
    house_until(&house, is_true, &stopped);

    guest_assert_failed(&guest, SOTTO__V1__CODE__CODE_UNAVAILABLE, "shutting down");
    house.is_stopped = true;
    guest_finish(&guest);
    house_end(&house);
}
END_TEST

START_TEST(a_stop_while_loading_ends_and_tells_who_waits)
{
    struct diag diag = DIAG_INIT;
    struct asker asker;
    struct guest guest;
    bool stopped = false;

    begin_cold("load do stall 60000\n");
    ck_assert_int_eq(try_load(&asker, "tiny", NULL, &diag), 0);
    guest_init(&guest, 1, 4, 400);
    guest_ask(&house, &guest);
    house_run(&house, 50);
    hub_stop(house.hub, 10, on_stopped, &stopped);
    house_until(&house, is_true, &stopped);

    guest_assert_failed(&guest, SOTTO__V1__CODE__CODE_UNAVAILABLE, "shutting down");
    ck_assert_int_eq(asker.n_answers, 1);
    ck_assert_int_ne(asker.code, SOTTO__V1__CODE__CODE_OK);
    house.is_stopped = true;
    guest_finish(&guest);
    house_end(&house);
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
    struct guest guest;

    house_begin(&house, "");
    models[0] = house.settings;
    models[0].n_context = 32;
    models[1] = house.settings;
    models[1].name = "second";
    models[1].is_default = false;
    house.config.models = models;
    house.config.n_models = 2;
    ck_assert_int_eq(hub_configure(house.hub, &house.config, on_needs, NULL), 0);
    ck_assert_str_eq(needs, "models.tiny.context ");
    ck_assert_ptr_nonnull(models_find(house.hub, "second"));
    ck_assert_ptr_nonnull(models_find(house.hub, "second")->next);

    house.config.models = &models[1];
    house.config.n_models = 1;
    guest_init(&guest, 1, 4, 5);
    guest_ask(&house, &guest);
    ck_assert_int_eq(hub_configure(house.hub, &house.config, on_needs, NULL), 0);
    ck_assert_ptr_null(house_model(&house));
    guest_until_over(&house, &guest);
    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    house_run(&house, 100);
    ck_assert_ptr_eq(list_first(&house.hub->models)->next, &house.hub->models);
    guest_finish(&guest);
    house_end(&house);
}
END_TEST

START_TEST(a_reload_that_finds_no_memory_changes_nothing)
{
    struct model_settings models[2];
    uint32_t n_failed = 0;

    house_begin(&house, "");
    models[0] = house.settings;
    models[0].n_context = 32;
    models[1] = house.settings;
    models[1].name = "second";
    models[1].load_at_start = false;
    house.config.models = models;
    house.config.n_models = 2;
    for (int64_t nth = 0;; nth++) {
        int r;

        mem_fail_nth(nth);
        r = hub_configure(house.hub, &house.config, NULL, NULL);
        mem_fail_nth(-1);
        if (r == 0) {
            break;
        }
        ck_assert_int_eq(r, -ENOMEM);
        ck_assert_uint_eq(house_model(&house)->settings.n_context, 0);
        ck_assert_ptr_null(models_find(house.hub, "second"));
        n_failed++;
    }

    ck_assert_uint_ge(n_failed, 3);
    ck_assert_uint_eq(house_model(&house)->settings.n_context, 32);
    house_end(&house);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream-models");
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, twenty_requests_on_a_cold_daemon_are_one_load);
    tcase_add_test(tcase, a_load_goes_on_when_who_asked_for_it_leaves);
    tcase_add_test(tcase, a_load_tells_progress_and_then_the_model);
    tcase_add_test(tcase, what_the_loader_refuses_is_not_tried_until_the_file_changes);
    tcase_add_test(tcase, an_administrator_may_try_a_refused_file_again);
    tcase_add_test(tcase, what_crashes_the_loader_is_tried_three_times);
    tcase_add_test(tcase, a_load_without_progress_is_lost);
    tcase_add_test(tcase, no_engine_or_no_file_is_a_failed_model_with_a_sentence);
    tcase_add_test(tcase, unloading_waits_for_streams_or_ends_them);
    tcase_add_test(tcase, what_an_administrator_unloaded_only_one_loads_again);
    tcase_add_test(tcase, a_file_of_ones_own_is_for_administrators);
    tcase_add_test(tcase, a_replaced_file_is_taken_beside_the_old_one);
    tcase_add_test(tcase, a_bad_replacement_leaves_the_old_one_serving);
    tcase_add_test(tcase, a_file_cut_in_place_ends_its_streams_with_a_sentence_once_the_engine_is_lost);
    tcase_add_test(tcase, a_stop_lets_streams_end_within_its_grace_and_takes_no_more);
    tcase_add_test(tcase, a_second_stop_ends_what_is_left);
    tcase_add_test(tcase, a_stop_while_loading_ends_and_tells_who_waits);
    tcase_add_test(tcase, a_reload_adds_changes_and_drops_models);
    tcase_add_test(tcase, a_reload_that_finds_no_memory_changes_nothing);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
