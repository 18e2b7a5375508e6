/*
 * The configuration of a hub, at start and at a reload.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "hub/hub_state.h"
#include "session/pins.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

void hub_configure_limits(struct hub *hub, const struct hub_config *config)
{
    struct registry_limits limits = {
        .guard_allocations = config->guard_allocations,
        .load_stall_ms = config->load_stall_ms,
        .step_floor_ms = config->step_floor_ms,
    };

    memcpy(limits.pause_ms, config->pause_ms, sizeof(limits.pause_ms));
    registry_configure(&hub->registry, &limits);
}

/* A file that can't be opened is a state of its model, not a fault of the start. */
void hub_configure_load(struct hub *hub)
{
    struct list *link;

    list_for_each (link, &hub->registry.models) {
        struct model_entry *model = container_of(link, struct model_entry, link);
        struct diag diag = DIAG_INIT;

        if (model->settings.load_at_start && !model->is_removed && !model->is_held &&
            models_want(model, false, &diag) != 0) {
            log_error("stream", "event: model-failed, model: %s, why: %s", model->settings.name, diag.text);
        }
    }
}

/* ---- reload */

static const struct model_settings *find_settings(const struct hub_config *config, const char *name)
{
    for (size_t i = 0; i < config->n_models; i++) {
        if (strcmp(config->models[i].name, name) == 0) {
            return &config->models[i];
        }
    }
    return NULL;
}

static bool is_same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Names the settings of a loaded model that wait for its next load. */
static void tell_needs(const struct model_entry *model, const struct model_settings *now,
                       void (*needs)(void *owner, const char *path), void *owner)
{
    const struct model_settings *was = &model->settings;
    const struct {
        const char *key;
        bool differs;
    } rows[] = {
        { "file", !is_same_text(was->file, now->file) },
        { "backend", !is_same_text(was->backend, now->backend) },
        { "kv_format", !is_same_text(was->kv_format, now->kv_format) },
        { "kv_bytes", was->kv_bytes != now->kv_bytes },
        { "context", was->n_context != now->n_context },
        { "threads", was->n_threads != now->n_threads },
        { "sequences", was->n_sequences != now->n_sequences },
        { "step_rows", was->n_step_rows != now->n_step_rows },
        { "share_prefixes", was->share_prefixes != now->share_prefixes },
        { "drafts", was->drafts != now->drafts },
    };
    char path[128];

    for (size_t i = 0; i < COUNTOF(rows) && needs && model_entry_pick(model); i++) {
        if (rows[i].differs) {
            snprintf(path, sizeof(path), "models.%s.%s", was->name, rows[i].key);
            needs(owner, path);
        }
    }
}

/* Adds rows for models that are new. That may fail for want of memory, so it comes before anything changes. */
static int add_new(struct hub *hub, const struct hub_config *config, struct list *ret_added)
{
    struct model_entry *model;
    int r;

    for (size_t i = 0; i < config->n_models; i++) {
        if (model_entry_find(&hub->registry, config->models[i].name)) {
            continue;
        }
        r = model_entry_add(&hub->registry, &config->models[i], &model);
        if (r) {
            return err_up(r);
        }
        list_remove(&model->link);
        list_append(ret_added, &model->link);
    }
    return 0;
}

static void drop_missing(struct hub *hub, const struct hub_config *config)
{
    struct list *link;
    struct list *after;

    list_for_each_safe (link, after, &hub->registry.models) {
        struct model_entry *model = container_of(link, struct model_entry, link);

        if (model->is_removed || find_settings(config, model->settings.name)) {
            continue;
        }
        model->is_removed = true;
        models_unload(model, false, "the model is no longer configured");
        model_entry_try_remove(model);
    }
}

/* The new settings of one known model, copied before anything changes. */
struct change {
    struct model_entry *model; /* NULL: it is new */
    struct model_settings settings;
    char *strings;
};

static int copy_changes(const struct hub *hub, const struct hub_config *config, struct change *changes)
{
    int r;

    for (size_t i = 0; i < config->n_models; i++) {
        changes[i].model = model_entry_find(&hub->registry, config->models[i].name);
        if (changes[i].model) {
            r = settings_copy(&config->models[i], &changes[i].settings, &changes[i].strings);
            if (r) {
                return err_up(r);
            }
        }
    }
    return 0;
}

/* Puts the copies in force; frees what was before. */
static void swap_in(struct change *changes, size_t n, void (*needs)(void *owner, const char *path), void *owner)
{
    for (size_t i = 0; i < n; i++) {
        struct model_entry *model = changes[i].model;

        if (model) {
            char *old = model->strings;

            tell_needs(model, &changes[i].settings, needs, owner);
            model->settings = changes[i].settings;
            model->strings = changes[i].strings;
            changes[i].strings = old;
        }
    }
}

static void drop_added(struct list *added)
{
    struct list *link;
    struct list *after;

    list_for_each_safe (link, after, added) {
        struct model_entry *model = container_of(link, struct model_entry, link);

        model->is_removed = true;
        model_entry_try_remove(model);
    }
}

/* Puts the pins of all instances that serve or load in force: unlike the other settings they change at once. */
static void configure_pins(struct hub *hub)
{
    struct list *link;

    list_for_each (link, &hub->registry.models) {
        const struct model_entry *model = container_of(link, struct model_entry, link);
        struct instance *instances[] = { model->current, model->next };

        for (size_t i = 0; i < COUNTOF(instances); i++) {
            if (instances[i] && pins_configure(instances[i], model->settings.pins, model->settings.n_pins)) {
                log_warn("stream", "no memory for other pins of model %s: the old ones stay", model->settings.name);
            }
        }
    }
}

int hub_configure(struct hub *hub, const struct hub_config *config, void (*needs)(void *owner, const char *path),
                  void *owner)
{
    cleanup(mem_freep) struct change *changes = mem_calloc(MEM_MISC, config->n_models + 1, sizeof(*changes));
    struct list added;
    struct list *link;
    int r;

    if (!changes) {
        return err_new(-ENOMEM);
    }
    list_init(&added);
    r = copy_changes(hub, config, changes);
    r = r ? r : add_new(hub, config, &added);
    if (r == 0) {
        swap_in(changes, config->n_models, needs, owner);
    }
    for (size_t i = 0; i < config->n_models; i++) {
        mem_free(changes[i].strings);
    }
    if (r) {
        drop_added(&added);
        return err_up(r);
    }
    while ((link = list_first(&added))) {
        list_remove(link);
        list_append(&hub->registry.models, link);
    }
    if (machine_watch_configure(hub->watch, &config->machine)) {
        log_warn("stream", "no memory for other settings of sotto-sense: the old ones stay");
    }
    governor_loop_configure(&hub->governor_loop, &config->governor, &config->energy);
    hub_configure_limits(hub, config);
    drop_missing(hub, config);
    configure_pins(hub);
    hub_configure_load(hub);
    events_poke(&hub->events);
    return 0;
}
