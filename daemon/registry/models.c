#include "registry/models.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "registry/instance.h"
#include <errno.h>
#include <stdio.h>

/* ---- waiters */

static void answer_waiters(struct model_entry *model, enum ticket_kind kind, Sotto__V1__Code code, const char *sentence)
{
    struct list *link;
    struct list *after;

    list_for_each_safe (link, after, &model->waiters) {
        struct ticket *ticket = container_of(link, struct ticket, link);

        if (ticket->kind == kind) {
            ticket_answer(ticket, code, sentence);
        }
    }
}

/* Lets the texts go on that wait for the vocabulary. */
static void release_texts(struct model_entry *model)
{
    struct list *link;
    struct list *after;

    list_for_each_safe (link, after, &model->waiters) {
        struct ticket *ticket = container_of(link, struct ticket, link);

        if (ticket->kind == TICKET_TEXT) {
            list_remove(&ticket->link);
            ticket->ops->on_ready(ticket);
        }
    }
}

/* ---- what instances report */

static void on_progress(struct instance *instance)
{
    Sotto__V1__LoadProgress progress = SOTTO__V1__LOAD_PROGRESS__INIT;
    struct list *waiters = &instance->model->waiters;
    struct list done;
    struct list *link;

    progress.fraction = instance->load_fraction;
    progress.phase = instance->load_phase;
    list_init(&done); /* a callback may forget any ticket, so no link of the list is held across one */
    while ((link = list_first(waiters))) {
        struct ticket *ticket = container_of(link, struct ticket, link);

        list_remove(link);
        list_append(&done, link);
        if (ticket->kind == TICKET_LOAD && ticket->ops->on_progress) {
            ticket->ops->on_progress(ticket, &progress);
        }
    }
    while ((link = list_first(&done))) {
        list_remove(link);
        list_append(waiters, link);
    }
}

/* Lets the old instance go on for the streams that it has. */
static void retire(struct instance *instance)
{
    instance->registry->sink->on_retire(instance->registry->owner, instance);
    if (instance->n_refs == 0) {
        instance_end(instance, false);
    }
}

static void on_ready(struct instance *instance)
{
    struct registry *registry = instance->registry;
    struct model_entry *model = instance->model;
    struct instance *old = NULL;

    if (instance == model->next) {
        old = model->current;
        model->current = instance;
        model->next = NULL;
    }
    log_info("stream", "event: model-ready, model: %s, backend: %s, numerics: %s, load_ms: %llu", model->settings.name,
             instance->facts.backend, instance->facts.numerics, (unsigned long long)(instance->facts.load_us / 1000));
    events_tell(registry->events, EVENTS_NO_UID, "model", "model-ready", "model", model->settings.name, "backend",
                instance->facts.backend, "numerics", instance->facts.numerics, NULL);
    if (old) {
        retire(old);
    }
    if (instance == model->current) {
        release_texts(model);
    }
    if (!model->next) { /* else they wait for that one */
        answer_waiters(model, TICKET_LOAD, SOTTO__V1__CODE__CODE_OK, NULL);
    }
    registry->sink->on_ready(registry->owner, instance);
}

static void on_failed(struct instance *instance, bool by_file, const char *sentence)
{
    struct registry *registry = instance->registry;
    struct model_entry *model = instance->model;
    bool was_next = model->next == instance;
    char text[DIAG_BYTES + 96];

    snprintf(text, sizeof(text), "model %.64s could not be loaded: %.320s", model->settings.name, sentence);
    model->next = was_next ? NULL : model->next;
    model->current = model->current == instance ? NULL : model->current;
    if (!model->current && !model->next) {
        model->has_failed = true;
        model->failed = instance->identity;
        model->retry_us = by_file ? UINT64_MAX : clock_mono_us() + registry->limits.pause_ms[2] * 1000ull;
        snprintf(model->reason, sizeof(model->reason), "%s", sentence);
    }
    log_error("stream", "event: model-failed, model: %s, why: %s", model->settings.name, sentence);
    events_tell(registry->events, EVENTS_NO_UID, "model", "model-failed", "model", model->settings.name, "why",
                sentence, NULL);
    registry->sink->on_refuse(registry->owner, instance, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, text);
    if (!model_entry_pick(model)) {
        answer_waiters(model, TICKET_TEXT, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, text);
    }
    if (was_next || !model_entry_pick(model)) {
        answer_waiters(model, TICKET_LOAD, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, text);
    }
}

static void on_idle(struct instance *instance)
{
    const struct model_entry *model = instance->model;

    if (instance->state != INSTANCE_ENDING && instance != model->current && instance != model->next) {
        instance_end(instance, false);
    }
}

static void on_gone(struct instance *instance)
{
    struct model_entry *model = instance->model;

    list_remove(&instance->link);
    if (!list_is_empty(&model->instances)) {
        return;
    }
    if (model->is_held || model->is_removed) {
        log_info("stream", "event: model-unloaded, model: %s", model->settings.name);
        events_tell(model->registry->events, EVENTS_NO_UID, "model", "model-unloaded", "model", model->settings.name,
                    NULL);
    }
    answer_waiters(model, TICKET_UNLOAD, SOTTO__V1__CODE__CODE_OK, NULL);
    model_entry_try_remove(model);
}

static const struct instance_sink sink = {
    .on_progress = on_progress,
    .on_ready = on_ready,
    .on_failed = on_failed,
    .on_idle = on_idle,
    .on_gone = on_gone,
};

/* ---- loading */

/* Returns whether the configured file is the one that was refused. */
static bool same_file_failed(const struct model_entry *model)
{
    struct identity identity;
    struct stat now;

    if (stat(model->settings.file, &now) < 0) {
        return model->failed.ino == 0;
    }
    identity = identity_of(&now);
    return identity_is_same(&identity, &model->failed);
}

/* Opens the file that lies at the path now, beside the current instance if there is one. */
static int load(struct model_entry *model, struct diag *diag)
{
    int r;

    r = instance_open(&model->next, model, &sink, diag);
    if (r > 0) {
        diag_prefix(diag, model->settings.name);
        if (!model->current) {
            model->has_failed = true;
            model->failed = (struct identity){ 0 };
            model->retry_us = UINT64_MAX;
            snprintf(model->reason, sizeof(model->reason), "%s", diag->text);
        }
        return SOTTO__V1__CODE__CODE_FAILED_PRECONDITION;
    }
    if (r) {
        return err_up(r);
    }
    model->is_held = false;
    model->has_failed = false;
    model->reason[0] = '\0';
    log_info("stream", "event: model-loading, model: %s, file: %s", model->settings.name, model->settings.file);
    events_tell(model->registry->events, EVENTS_NO_UID, "model", "model-loading", "model", model->settings.name, NULL);
    return 0;
}

int models_want(struct model_entry *model, bool admin, struct diag *diag)
{
    if (model->current || model->next) {
        return 0;
    }
    if (model->is_held && !admin) {
        diag_set(diag, "model %s was unloaded by an administrator: an administrator must load it again",
                 model->settings.name);
        return SOTTO__V1__CODE__CODE_FAILED_PRECONDITION;
    }
    if (model->has_failed && !admin && same_file_failed(model) && clock_mono_us() < model->retry_us) {
        diag_set(diag, "model %s could not be loaded: %s", model->settings.name, model->reason);
        return SOTTO__V1__CODE__CODE_FAILED_PRECONDITION;
    }
    return load(model, diag);
}

int models_want_newest(struct model_entry *model, struct diag *diag)
{
    struct identity identity;
    struct stat now;

    if (!model->current || model->next) {
        return 0;
    }
    if (stat(model->settings.file, &now) == 0) {
        identity = identity_of(&now);
        if (identity_is_same(&identity, &model->current->identity)) {
            return 0;
        }
    }
    return load(model, diag);
}

/* ---- unloading */

void models_unload(struct model_entry *model, bool now, const char *why)
{
    struct registry *registry = model->registry;
    struct list *link;
    struct list *after;

    model->current = NULL;
    model->next = NULL;
    list_for_each_safe (link, after, &model->instances) {
        struct instance *instance = container_of(link, struct instance, link);

        registry->sink->on_retire(registry->owner, instance);
        if (now || !instance->vocab) {
            registry->sink->on_refuse(registry->owner, instance, SOTTO__V1__CODE__CODE_UNAVAILABLE, why);
        }
        if (now || instance->n_refs == 0 || !instance->vocab) {
            instance_end(instance, false);
        }
    }
    answer_waiters(model, TICKET_TEXT, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, why);
    answer_waiters(model, TICKET_LOAD, SOTTO__V1__CODE__CODE_ABORTED, why);
    registry->sink->on_unload(registry->owner, model);
}
