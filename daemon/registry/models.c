#include "registry/models.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "session/pins.h"
#include "session/session.h"
#include <errno.h>
#include <stdio.h>

/* ---- rows */

struct model *models_find(const struct hub *hub, const char *name)
{
    struct model *first = NULL;
    struct list *link;

    list_for_each (link, &hub->models) {
        struct model *model = container_of(link, struct model, link);

        if (model->is_removed) {
            continue;
        }
        if (name && name[0] != '\0' ? strcmp(model->settings.name, name) == 0 : model->settings.is_default) {
            return model;
        }
        first = first ? first : model;
    }
    return name && name[0] != '\0' ? NULL : first;
}

/* Copies @text (NULL: empty) to *at and moves *at behind it. */
static const char *keep(char **at, const char *text)
{
    char *start = *at;
    size_t n = text ? strlen(text) : 0;

    if (n > 0) {
        memcpy(start, text, n);
    }
    start[n] = '\0';
    *at += n + 1;
    return start;
}

static size_t length(const char *text)
{
    return (text ? strlen(text) : 0) + 1;
}

int settings_copy(const struct model_settings *settings, struct model_settings *ret_settings, char **ret_strings)
{
    size_t n_pins = pins_bytes(settings->pins, settings->n_pins);
    size_t n = length(settings->name) + length(settings->file) + length(settings->backend) +
               length(settings->kv_format) + length(settings->fake_script);
    char *strings = mem_alloc(MEM_MISC, n_pins + n);
    char *at = strings;

    if (!strings) {
        return err_new(-ENOMEM);
    }
    *ret_strings = strings;
    *ret_settings = *settings;
    ret_settings->pins = pins_copy(settings->pins, settings->n_pins, strings);
    at += n_pins;
    ret_settings->name = keep(&at, settings->name);
    ret_settings->file = keep(&at, settings->file);
    ret_settings->backend = keep(&at, settings->backend);
    ret_settings->kv_format = keep(&at, settings->kv_format);
    ret_settings->fake_script = keep(&at, settings->fake_script);
    return 0;
}

int models_set(struct model *model, const struct model_settings *settings)
{
    struct model_settings copy;
    char *strings;
    int r;

    r = settings_copy(settings, &copy, &strings);
    if (r) {
        return err_up(r);
    }
    mem_free(model->strings);
    model->strings = strings;
    model->settings = copy;
    return 0;
}

int models_add(struct hub *hub, const struct model_settings *settings, struct model **ret_model)
{
    cleanup(mem_freep) struct model *model = mem_calloc(MEM_MISC, 1, sizeof(*model));
    int r;

    if (!model) {
        return err_new(-ENOMEM);
    }
    model->hub = hub;
    list_init(&model->instances);
    list_init(&model->waiters);
    r = models_set(model, settings);
    if (r) {
        return err_up(r);
    }
    list_append(&hub->models, &model->link);
    *ret_model = steal(&model);
    return 0;
}

void models_try_remove(struct model *model)
{
    if (!model->is_removed || !list_is_empty(&model->instances) || model->n_tickets > 0) {
        return;
    }
    list_remove(&model->link);
    mem_free(model->strings);
    mem_free(model);
}

struct instance *models_pick(const struct model *model)
{
    return model->current ? model->current : model->next;
}

/* ---- loading */

static bool same_file_failed(const struct model *model)
{
    struct identity identity;
    struct stat now;

    if (stat(model->settings.file, &now) < 0) {
        return model->failed.ino == 0;
    }
    identity_of(&now, &identity);
    return identity_is_same(&identity, &model->failed);
}

/* Opens the file that lies at the path now, beside the current instance if there is one. */
static int load(struct model *model, struct diag *diag)
{
    int r;

    r = instance_open(&model->next, model->hub, model, diag);
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
    hub_event(model->hub, UINT32_MAX, "model", "model-loading", "model", model->settings.name, NULL);
    return 0;
}

int models_want(struct model *model, bool admin, struct diag *diag)
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

/* A load that was asked for while one serves: a file that was replaced is taken as a new instance. */
static int want_newest(struct model *model, struct diag *diag)
{
    struct identity identity;
    struct stat now;

    if (!model->current || model->next) {
        return 0;
    }
    if (stat(model->settings.file, &now) == 0) {
        identity_of(&now, &identity);
        if (identity_is_same(&identity, &model->current->identity)) {
            return 0;
        }
    }
    return load(model, diag);
}

/* Answers the waiters of @kind. */
static void answer_waiters(struct model *model, enum ticket_kind kind, Sotto__V1__Code code, const char *sentence)
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

/* Questions about words: they go on, or end with @sentence. */
static void release_words(struct model *model, const char *sentence)
{
    struct list *link;
    struct list *after;

    list_for_each_safe (link, after, &model->waiters) {
        struct ticket *ticket = container_of(link, struct ticket, link);

        if (ticket->kind != TICKET_TOKENIZE && ticket->kind != TICKET_DETOKENIZE) {
            continue;
        }
        if (sentence) {
            ticket_answer(ticket, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, sentence);
        } else {
            list_remove(&ticket->link);
            ticket_model_ready(ticket);
        }
    }
}

/* Is @file (NULL: the configured one) a load that this peer may ask for? Above 0: a Code. */
static int check_load(const struct hub *hub, const struct model *model, const char *file, const struct grant *grant,
                      struct diag *diag)
{
    if (hub->is_stopping) {
        diag_set(diag, "the daemon is shutting down");
        return SOTTO__V1__CODE__CODE_UNAVAILABLE;
    }
    if (!model && !file) {
        diag_blame(diag, "load_model.name", "there is no model of that name");
        return SOTTO__V1__CODE__CODE_NOT_FOUND;
    }
    if (file && !grant->admin) {
        diag_blame(diag, "load_model.file", "only an administrator loads a file that is not configured");
        return SOTTO__V1__CODE__CODE_PERMISSION_DENIED;
    }
    if (file && file[0] != '/') {
        diag_blame(diag, "load_model.file", "must be an absolute path");
        return SOTTO__V1__CODE__CODE_INVALID_ARGUMENT;
    }
    if (model && model->is_held && !grant->admin) {
        diag_set(diag, "model %s was unloaded by an administrator: an administrator must load it again",
                 model->settings.name);
        return SOTTO__V1__CODE__CODE_PERMISSION_DENIED;
    }
    return 0;
}

/* Puts @file into the row of @name, which is made if there is none. */
static int take_file(struct hub *hub, const char *name, const char *file, struct model **model)
{
    const struct model_settings fresh = { .name = name, .backend = "cpu", .share_prefixes = true };
    struct model_settings settings = *model ? (*model)->settings : fresh;

    settings.file = file;
    return *model ? models_set(*model, &settings) : models_add(hub, &settings, model);
}

/* The file that was put there can't be read: the row is what it was before @before, or gone if it was made for it. A
 * name that was mistyped is no model, and a model has not lost the file that it had. */
static void take_back(struct model *model, bool is_new, const struct model *before)
{
    if (is_new) {
        model->is_removed = true;
        models_try_remove(model);
        return;
    }
    mem_free(model->strings);
    model->strings = before->strings;
    model->settings = before->settings;
    model->has_failed = before->has_failed;
}

int hub_load(struct hub *hub, const Sotto__V1__LoadModel *ask, const struct grant *grant, ticket_progress_fn progress,
             ticket_loaded_fn done, void *owner, struct ticket **ret_ticket, struct diag *diag)
{
    struct model *model = models_find(hub, ask->name);
    bool other = ask->file[0] != '\0' && (!model || strcmp(ask->file, model->settings.file) != 0);
    bool is_new = !model;
    struct model before = { 0 };
    struct ticket *ticket;
    int r;

    r = check_load(hub, model, other ? ask->file : NULL, grant, diag);
    if (r) {
        return r;
    }
    if (other && model) {
        before = *model;
        model->strings = NULL; /* until it is known whether they come back */
    }
    r = other ? take_file(hub, ask->name, ask->file, &model) : 0;
    if (r) {
        if (!is_new) {
            model->strings = before.strings;
        }
        return err_up(r);
    }
    r = model->current ? want_newest(model, diag) : models_want(model, grant->admin, diag);
    if (r) {
        if (other) {
            take_back(model, is_new, &before);
        }
        return r;
    }
    mem_free(before.strings);
    r = ticket_create(&ticket, hub, TICKET_LOAD, grant, model, owner);
    if (r) {
        return err_up(r);
    }
    ticket->done.loaded = done;
    ticket->progress = progress;
    if (model->next || !instance_is_ready(model->current)) {
        list_append(&model->waiters, &ticket->link);
    } else {
        ticket_answer(ticket, SOTTO__V1__CODE__CODE_OK, NULL);
    }
    *ret_ticket = ticket;
    return 0;
}

/* ---- unloading */

void models_unload(struct model *model, bool now, const char *why)
{
    struct list *link;
    struct list *after;

    model->current = NULL;
    model->next = NULL;
    list_for_each_safe (link, after, &model->instances) {
        struct instance *instance = container_of(link, struct instance, link);

        pins_end(instance);
        if (now || !instance->vocab) {
            stream_end_all(instance, SOTTO__V1__CODE__CODE_UNAVAILABLE, why);
        }
        if (now || instance->n_refs == 0 || !instance->vocab) {
            instance_end(instance, false);
        }
    }
    release_words(model, why);
    answer_waiters(model, TICKET_LOAD, SOTTO__V1__CODE__CODE_ABORTED, why);
    sessions_end_of(model);
}

int hub_unload(struct hub *hub, const Sotto__V1__UnloadModel *ask, const struct grant *grant, ticket_unloaded_fn done,
               void *owner, struct ticket **ret_ticket, struct diag *diag)
{
    struct model *model = models_find(hub, ask->name);
    struct ticket *ticket;
    int r;

    if (!grant->admin) {
        diag_set(diag, "only an administrator unloads a model");
        return SOTTO__V1__CODE__CODE_PERMISSION_DENIED;
    }
    if (!model) {
        diag_blame(diag, "unload_model.name", "there is no model of that name");
        return SOTTO__V1__CODE__CODE_NOT_FOUND;
    }
    r = ticket_create(&ticket, hub, TICKET_UNLOAD, grant, model, owner);
    if (r) {
        return err_up(r);
    }
    ticket->done.unloaded = done;
    model->is_held = true;
    model->has_failed = false;
    model->reason[0] = '\0';
    log_info("stream", "event: model-unloading, model: %s", model->settings.name);
    models_unload(model, ask->now, "the model is being unloaded");
    if (list_is_empty(&model->instances)) {
        ticket_answer(ticket, SOTTO__V1__CODE__CODE_OK, NULL);
    } else {
        list_append(&model->waiters, &ticket->link);
    }
    *ret_ticket = ticket;
    return 0;
}

/* ---- from instances */

Sotto__V1__ModelState models_state(const struct model *model)
{
    const struct instance *instance = models_pick(model);

    if (!instance) {
        if (!list_is_empty(&model->instances) && !model->has_failed) {
            return SOTTO__V1__MODEL_STATE__MODEL_UNLOADING;
        }
        return model->has_failed ? SOTTO__V1__MODEL_STATE__MODEL_FAILED : SOTTO__V1__MODEL_STATE__MODEL_KNOWN;
    }
    switch (instance->state) {
    case INSTANCE_LOADING:
        return SOTTO__V1__MODEL_STATE__MODEL_LOADING;
    case INSTANCE_READY:
        return SOTTO__V1__MODEL_STATE__MODEL_READY;
    case INSTANCE_RECOVERING:
        return SOTTO__V1__MODEL_STATE__MODEL_RECOVERING;
    case INSTANCE_ENDING:
    case INSTANCE_STATE_COUNT:
        break;
    }
    return SOTTO__V1__MODEL_STATE__MODEL_UNLOADING;
}

void models_on_progress(struct instance *instance)
{
    Sotto__V1__LoadProgress progress = SOTTO__V1__LOAD_PROGRESS__INIT;
    struct list *waiters = &instance->model->waiters;
    struct list told;
    struct list *link;

    progress.fraction = instance->load_fraction;
    progress.phase = instance->load_phase;
    list_init(&told); /* whoever is told may forget any of them: no place in the list is kept meanwhile */
    while ((link = list_first(waiters))) {
        struct ticket *ticket = container_of(link, struct ticket, link);

        list_remove(link);
        list_append(&told, link);
        if (ticket->kind == TICKET_LOAD && ticket->progress) {
            ticket->progress(ticket->owner, &progress);
        }
    }
    while ((link = list_first(&told))) {
        list_remove(link);
        list_append(waiters, link);
    }
}

/* The old instance goes on for the streams that it has. */
static void retire(struct instance *instance)
{
    pins_end(instance);
    if (instance->n_refs == 0) {
        instance_end(instance, false);
    }
}

void models_on_ready(struct instance *instance)
{
    struct model *model = instance->model;
    struct instance *old = NULL;

    if (instance == model->next) {
        old = model->current;
        model->current = instance;
        model->next = NULL;
    }
    log_info("stream", "event: model-ready, model: %s, backend: %s, numerics: %s, load_ms: %llu", model->settings.name,
             instance->facts.backend, instance->facts.numerics, (unsigned long long)(instance->facts.load_us / 1000));
    hub_event(model->hub, UINT32_MAX, "model", "model-ready", "model", model->settings.name, "backend",
              instance->facts.backend, "numerics", instance->facts.numerics, NULL);
    if (old) {
        retire(old);
    }
    if (instance == model->current) {
        release_words(model, NULL);
    }
    if (!model->next) { /* or they wait for that one */
        answer_waiters(model, TICKET_LOAD, SOTTO__V1__CODE__CODE_OK, NULL);
    }
    stream_on_ready(instance);
}

void models_on_failed(struct instance *instance, bool by_file, const char *sentence)
{
    struct model *model = instance->model;
    bool was_next = model->next == instance;
    char text[DIAG_BYTES + 96];

    snprintf(text, sizeof(text), "model %.64s could not be loaded: %.320s", model->settings.name, sentence);
    model->next = was_next ? NULL : model->next;
    model->current = model->current == instance ? NULL : model->current;
    if (!model->current && !model->next) {
        model->has_failed = true;
        model->failed = instance->identity;
        model->retry_us = by_file ? UINT64_MAX : clock_mono_us() + model->hub->pause_ms[2] * 1000ull;
        snprintf(model->reason, sizeof(model->reason), "%s", sentence);
    }
    log_error("stream", "event: model-failed, model: %s, why: %s", model->settings.name, sentence);
    hub_event(model->hub, UINT32_MAX, "model", "model-failed", "model", model->settings.name, "why", sentence, NULL);
    stream_end_all(instance, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, text);
    if (!models_pick(model)) {
        release_words(model, text);
    }
    if (was_next || !models_pick(model)) {
        answer_waiters(model, TICKET_LOAD, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, text);
    }
}

void models_on_idle(struct instance *instance)
{
    struct model *model = instance->model;

    if (instance->state != INSTANCE_ENDING && instance != model->current && instance != model->next) {
        instance_end(instance, false);
    }
}

void models_on_gone(struct instance *instance)
{
    struct model *model = instance->model;

    list_remove(&instance->link);
    if (!list_is_empty(&model->instances)) {
        return;
    }
    if (model->is_held || model->is_removed) {
        log_info("stream", "event: model-unloaded, model: %s", model->settings.name);
        hub_event(model->hub, UINT32_MAX, "model", "model-unloaded", "model", model->settings.name, NULL);
    }
    answer_waiters(model, TICKET_UNLOAD, SOTTO__V1__CODE__CODE_OK, NULL);
    models_try_remove(model);
}
