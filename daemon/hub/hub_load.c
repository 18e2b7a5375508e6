/*
 * LoadModel and UnloadModel.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "hub/hub_state.h"
#include <string.h>

struct load_ticket {
    struct ticket ticket;
    struct grant grant;
    ticket_progress_fn progress;
    ticket_loaded_fn done;
};

static void call_loaded(struct ticket *ticket, const Sotto__V1__Error *error)
{
    const struct load_ticket *own = container_of(ticket, struct load_ticket, ticket);
    Sotto__V1__ModelInfo info = SOTTO__V1__MODEL_INFO__INIT;
    Sotto__V1__Error starved = SOTTO__V1__ERROR__INIT;
    struct arena arena;

    if (error) {
        own->done(ticket->owner, NULL, error);
        return;
    }
    arena_init(&arena, MEM_WIRE, 16u << 10);
    if (hub_status_fill_model(ticket->model, &own->grant, &arena, &info) == 0) {
        own->done(ticket->owner, &info, NULL);
    } else {
        starved.code = SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED;
        own->done(ticket->owner, NULL, &starved);
    }
    arena_finish(&arena);
}

static void call_progress(struct ticket *ticket, const Sotto__V1__LoadProgress *progress)
{
    const struct load_ticket *own = container_of(ticket, struct load_ticket, ticket);

    if (own->progress) {
        own->progress(ticket->owner, progress);
    }
}

static const struct ticket_ops load_ops = { .call = call_loaded, .on_progress = call_progress };

/* May this peer load @file (NULL: the configured one)? 0, or above 0 a Code with the sentence in @diag. */
static int check_load(const struct hub *hub, const struct model_entry *model, const char *file,
                      const struct grant *grant, struct diag *diag)
{
    if (hub->events.is_stopping) {
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
static int take_file(struct hub *hub, const char *name, const char *file, struct model_entry **model)
{
    const struct model_settings fresh = { .name = name, .backend = "cpu", .share_prefixes = true, .drafts = true };
    struct model_settings settings = *model ? (*model)->settings : fresh;

    settings.file = file;
    return *model ? model_entry_set(*model, &settings) : model_entry_add(&hub->registry, &settings, model);
}

/* Undoes take_file(), as the file can't be read: the row is @before again, or gone if it was made for the file. A name
 * that was mistyped is no model, and a model does not lose the file that it had. */
static void take_back(struct model_entry *model, bool is_new, const struct model_entry *before)
{
    if (is_new) {
        model->is_removed = true;
        model_entry_try_remove(model);
        return;
    }
    mem_free(model->strings);
    model->strings = before->strings;
    model->settings = before->settings;
    model->has_failed = before->has_failed;
}

/* Makes the ticket, which waits for the load that is under way, or is answered at once. */
static int wait_for_load(struct hub *hub, struct model_entry *model, const struct grant *grant,
                         ticket_progress_fn progress, ticket_loaded_fn done, void *owner, struct ticket **ret_ticket)
{
    struct load_ticket *own;
    struct ticket *ticket;
    int r;

    r = ticket_create(&ticket, sizeof(*own), TICKET_LOAD, &load_ops, &hub->tickets, model, owner);
    if (r) {
        return err_up(r);
    }
    own = container_of(ticket, struct load_ticket, ticket);
    own->grant = *grant;
    own->progress = progress;
    own->done = done;
    if (model->next || !instance_is_ready(model->current)) {
        list_append(&model->waiters, &ticket->link);
    } else {
        ticket_answer(ticket, SOTTO__V1__CODE__CODE_OK, NULL);
    }
    *ret_ticket = ticket;
    return 0;
}

int hub_load(struct hub *hub, const Sotto__V1__LoadModel *asked, const struct grant *grant, ticket_progress_fn progress,
             ticket_loaded_fn done, void *owner, struct ticket **ret_ticket, struct diag *diag)
{
    struct model_entry *model = model_entry_find(&hub->registry, asked->name);
    bool other = asked->file[0] != '\0' && (!model || strcmp(asked->file, model->settings.file) != 0);
    bool is_new = !model;
    struct model_entry before = { 0 };
    int r;

    r = check_load(hub, model, other ? asked->file : NULL, grant, diag);
    if (r) {
        return r;
    }
    if (other && model) {
        before = *model;
        model->strings = NULL; /* until it is known whether they come back */
    }
    r = other ? take_file(hub, asked->name, asked->file, &model) : 0;
    if (r) {
        if (!is_new) {
            model->strings = before.strings;
        }
        return err_up(r);
    }
    r = model->current ? models_want_newest(model, diag) : models_want(model, grant->admin, diag);
    if (r) {
        if (other) {
            take_back(model, is_new, &before);
        }
        return r;
    }
    mem_free(before.strings);
    return err_up(wait_for_load(hub, model, grant, progress, done, owner, ret_ticket));
}

/* ---- unloading */

struct unload_ticket {
    struct ticket ticket;
    ticket_unloaded_fn done;
};

static void call_unloaded(struct ticket *ticket, const Sotto__V1__Error *error)
{
    container_of(ticket, struct unload_ticket, ticket)->done(ticket->owner, error);
}

static const struct ticket_ops unload_ops = { .call = call_unloaded };

int hub_unload(struct hub *hub, const Sotto__V1__UnloadModel *asked, const struct grant *grant, ticket_unloaded_fn done,
               void *owner, struct ticket **ret_ticket, struct diag *diag)
{
    struct model_entry *model = model_entry_find(&hub->registry, asked->name);
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
    r = ticket_create(&ticket, sizeof(struct unload_ticket), TICKET_UNLOAD, &unload_ops, &hub->tickets, model, owner);
    if (r) {
        return err_up(r);
    }
    container_of(ticket, struct unload_ticket, ticket)->done = done;
    model->is_held = true;
    model->has_failed = false;
    model->reason[0] = '\0';
    log_info("stream", "event: model-unloading, model: %s", model->settings.name);
    models_unload(model, asked->now, "the model is being unloaded");
    if (list_is_empty(&model->instances)) {
        ticket_answer(ticket, SOTTO__V1__CODE__CODE_OK, NULL);
    } else {
        list_append(&model->waiters, &ticket->link);
    }
    *ret_ticket = ticket;
    return 0;
}
