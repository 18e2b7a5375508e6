#include "base/clean.h"
#include "base/err.h"
#include "base/log.h"
#include "dispatch/dispatcher.h"
#include "hub/hub_machine.h"
#include "hub/hub_state.h"
#include "registry/models.h"
#include "session/pins.h"
#include "stream/stream.h"
#include <errno.h>
#include <stdarg.h>

#define DEFAULT_LOAD_STALL_MS 30000u
#define DEFAULT_STEP_FLOOR_MS 2000u
#define DEFAULT_POOL_THREADS  4u /* libuv's own number */
#define HANDLES               6u /* turn, figures, grace, alarm, the governor's, and the senses as one */
#define EVENT_PAIRS           12u

static const uint32_t default_pause_ms[3] = { 100, 1000, 10000 };

/* ---- turns */

/* Attends to the streams that asked for it. Those that ask again meanwhile wait for the next turn. */
static void attend_streams(struct hub *hub)
{
    struct list now;
    struct list *link;

    list_init(&now);
    while ((link = list_first(&hub->soon))) {
        list_remove(link);
        list_append(&now, link);
    }
    while ((link = list_first(&now))) {
        list_remove(link);
        stream_attend(container_of(link, struct stream, soon));
    }
}

static void answer_tickets(struct hub *hub)
{
    struct list *link;

    while ((link = list_first(&hub->due))) {
        ticket_call(container_of(link, struct ticket, link));
    }
}

static void on_turn(uv_idle_t *turn)
{
    struct hub *hub = turn->data;

    uv_idle_stop(turn); /* before the work, which may poke again */
    hub->is_started = false;
    attend_streams(hub);
    answer_tickets(hub);
    governor_loop_run(hub);
    pins_run(hub);
    dispatcher_run(hub);
    hub_try_close(hub);
}

void hub_poke(struct hub *hub)
{
    if (!hub->is_started && !hub->is_closing) {
        hub->is_started = true;
        uv_idle_start(&hub->turn, on_turn);
    }
}

void hub_event(struct hub *hub, uint32_t uid, const char *topic, const char *name, ...)
{
    const char *pairs[EVENT_PAIRS];
    size_t n = 0;
    va_list args;

    va_start(args, name);
    while (n < EVENT_PAIRS && (pairs[n] = va_arg(args, const char *))) {
        n++;
    }
    va_end(args);
    if (hub->on_event) {
        hub->on_event(hub->owner, topic, name, pairs, n / 2, uid);
    }
}

/* ---- life */

static void init_handles(struct hub *hub)
{
    dispatcher_start(hub);
    governor_loop_start(hub);
    uv_idle_init(hub->loop, &hub->turn);
    uv_timer_init(hub->loop, &hub->figures);
    uv_timer_init(hub->loop, &hub->grace);
    hub->turn.data = hub;
    hub->figures.data = hub;
    hub->grace.data = hub;
    hub->n_handles = HANDLES;
}

static char *copy(const char *text)
{
    return mem_strndup(MEM_MISC, text ? text : "", text ? strlen(text) : 0);
}

static void take_numbers(struct hub *hub, const struct hub_config *config)
{
    for (size_t i = 0; i < COUNTOF(hub->pause_ms); i++) {
        hub->pause_ms[i] = config->pause_ms[i] ? config->pause_ms[i] : default_pause_ms[i];
    }
    hub->load_stall_ms = config->load_stall_ms ? config->load_stall_ms : DEFAULT_LOAD_STALL_MS;
    hub->step_floor_ms = config->step_floor_ms ? config->step_floor_ms : DEFAULT_STEP_FLOOR_MS;
    hub->guard_allocations = config->guard_allocations;
}

static void free_models(struct hub *hub)
{
    struct list *link;
    struct list *after;

    list_for_each_safe (link, after, &hub->models) {
        struct model *model = container_of(link, struct model, link);

        model->is_removed = true;
        models_try_remove(model);
    }
}

static void free_hub(struct hub *hub)
{
    free_models(hub);
    map_finish(&hub->keys);
    queue_finish(&hub->queue);
    governor_loop_finish(hub);
    machine_watch_destroy(hub->watch);
    alarm_drop(&hub->dispatcher.alarm);
    mem_free(hub->engine_path);
    mem_free(hub->cpu_mask);
    mem_free(hub);
}

static void free_hubp(struct hub **hub)
{
    if (*hub) {
        free_hub(*hub);
    }
}

int hub_create(struct hub **ret_hub, uv_loop_t *loop, const struct hub_config *config, events_fn on_event, void *owner)
{
    cleanup(free_hubp) struct hub *hub = mem_calloc(MEM_MISC, 1, sizeof(*hub));
    struct model *model;
    int r;

    if (!hub) {
        return err_new(-ENOMEM);
    }
    hub->loop = loop;
    hub->dispatcher.alarm.fd = -1;
    hub->on_event = on_event;
    hub->owner = owner;
    list_init(&hub->models);
    list_init(&hub->streams);
    list_init(&hub->soon);
    list_init(&hub->sessions);
    list_init(&hub->due);
    list_init(&hub->asking);
    map_init(&hub->keys, MEM_STREAM);
    queue_init(&hub->queue);
    retry_list_init(&hub->retry_list);
    governor_loop_init(hub, &config->governor, &config->energy);
    text_pool_init(&hub->pool, loop, config->n_pool_threads ? config->n_pool_threads : DEFAULT_POOL_THREADS);
    take_numbers(hub, config);
    hub->engine_path = copy(config->engine_path);
    hub->cpu_mask = copy(config->cpu_mask);
    if (!hub->engine_path || !hub->cpu_mask) {
        return err_new(-ENOMEM);
    }
    for (size_t i = 0; i < config->n_models; i++) {
        r = models_add(hub, &config->models[i], &model);
        if (r) {
            return err_up(r);
        }
    }
    r = alarm_open(&hub->dispatcher.alarm);
    if (r) {
        return err_up(r);
    }
    r = sensing_create(hub, &config->machine); /* last: its handles are in the loop from here on */
    if (r) {
        return err_up(r);
    }
    init_handles(hub);
    *ret_hub = steal(&hub);
    return 0;
}

/* Loads what is to load by itself. A file that can't be opened is a state of its model, not a fault of the start. */
static void load_at_start(struct hub *hub)
{
    struct list *link;

    list_for_each (link, &hub->models) {
        struct model *model = container_of(link, struct model, link);
        struct diag diag = DIAG_INIT;

        if (model->settings.load_at_start && !model->is_removed && !model->is_held &&
            models_want(model, false, &diag) != 0) {
            log_error("stream", "event: model-failed, model: %s, why: %s", model->settings.name, diag.text);
        }
    }
}

void hub_start(struct hub *hub)
{
    machine_watch_begin(hub->watch);
    load_at_start(hub);
}

void hub_destroy(struct hub *hub)
{
    if (hub) {
        free_hub(hub);
    }
}

bool hub_is_well(const struct hub *hub)
{
    struct list *link;

    list_for_each (link, &hub->models) {
        const struct model *model = container_of(link, struct model, link);
        struct list *at;

        list_for_each (at, &model->instances) {
            const struct instance *instance = container_of(at, struct instance, link);

            if (instance->engine && engine_is_overdue(instance->engine)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- the end */

void hub_handle_closed(struct hub *hub)
{
    if (--hub->n_handles == 0 && hub->stopped) {
        hub->stopped(hub->stopped_owner);
    }
}

static void on_closed(uv_handle_t *handle)
{
    hub_handle_closed(handle->data);
}

static void on_alarm_closed(void *owner)
{
    hub_handle_closed(owner);
}

static bool has_instances(const struct hub *hub)
{
    struct list *link;

    list_for_each (link, &hub->models) {
        if (!list_is_empty(&container_of(link, struct model, link)->instances)) {
            return true;
        }
    }
    return false;
}

static void unload_all(struct hub *hub)
{
    struct list *link;

    list_for_each (link, &hub->models) {
        models_unload(container_of(link, struct model, link), true, "the daemon is shutting down");
    }
}

void hub_try_close(struct hub *hub)
{
    if (!hub->is_stopping || hub->is_closing) {
        return;
    }
    if (list_is_empty(&hub->streams) && hub->has_grace) {
        hub->has_grace = false; /* nobody is left to wait for */
        unload_all(hub);
    }
    if (!list_is_empty(&hub->streams) || !list_is_empty(&hub->due) || has_instances(hub) ||
        !text_pool_is_idle(&hub->pool)) {
        return;
    }
    hub->is_closing = true;
    uv_close((uv_handle_t *)&hub->turn, on_closed);
    alarm_close(&hub->dispatcher.alarm, on_alarm_closed);
    uv_close((uv_handle_t *)&hub->figures, on_closed);
    uv_close((uv_handle_t *)&hub->grace, on_closed);
    governor_loop_close(hub, on_closed);
    sensing_end(hub);
}

static void on_grace(uv_timer_t *timer)
{
    struct hub *hub = timer->data;

    hub->has_grace = false;
    unload_all(hub);
    hub_poke(hub);
}

void hub_stop(struct hub *hub, uint32_t grace_ms, void (*done)(void *owner), void *owner)
{
    if (hub->is_stopping) {
        grace_ms = 0;
    } else {
        hub->is_stopping = true;
        hub->has_grace = true;
        hub->stopped = done;
        hub->stopped_owner = owner;
        pins_end_all(hub);
    }
    if (hub->is_closing || !hub->has_grace) {
        return;
    }
    uv_update_time(hub->loop);
    uv_timer_start(&hub->grace, on_grace, grace_ms, 0);
    hub_poke(hub);
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

/* Tells which settings of a loaded model wait for its next load. */
static void tell_needs(const struct model *model, const struct model_settings *now,
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
    };
    char path[128];

    for (size_t i = 0; i < COUNTOF(rows) && needs && models_pick(model); i++) {
        if (rows[i].differs) {
            snprintf(path, sizeof(path), "models.%s.%s", was->name, rows[i].key);
            needs(owner, path);
        }
    }
}

/* Rows for models that are new; made first, since only that can fail for want of memory before anything changed. */
static int add_new(struct hub *hub, const struct hub_config *config, struct list *ret_added)
{
    struct model *model;
    int r;

    for (size_t i = 0; i < config->n_models; i++) {
        if (models_find(hub, config->models[i].name)) {
            continue;
        }
        r = models_add(hub, &config->models[i], &model);
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

    list_for_each_safe (link, after, &hub->models) {
        struct model *model = container_of(link, struct model, link);

        if (model->is_removed || find_settings(config, model->settings.name)) {
            continue;
        }
        model->is_removed = true;
        models_unload(model, false, "the model is no longer configured");
        models_try_remove(model);
    }
}

/* New settings of one known model, copied before anything changes. */
struct change {
    struct model *model; /* NULL: it is new */
    struct model_settings settings;
    char *strings;
};

static int copy_changes(const struct hub *hub, const struct hub_config *config, struct change *changes)
{
    int r;

    for (size_t i = 0; i < config->n_models; i++) {
        changes[i].model = models_find(hub, config->models[i].name);
        if (changes[i].model) {
            r = settings_copy(&config->models[i], &changes[i].settings, &changes[i].strings);
            if (r) {
                return err_up(r);
            }
        }
    }
    return 0;
}

/* Puts what was copied in force; frees what was before. */
static void swap_in(struct change *changes, size_t n, void (*needs)(void *owner, const char *path), void *owner)
{
    for (size_t i = 0; i < n; i++) {
        struct model *model = changes[i].model;

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
        struct model *model = container_of(link, struct model, link);

        model->is_removed = true;
        models_try_remove(model);
    }
}

/* Of all that serves or loads; other than the rest of its settings they change at once. */
static void configure_pins(struct hub *hub)
{
    struct list *link;

    list_for_each (link, &hub->models) {
        const struct model *model = container_of(link, struct model, link);
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
        list_append(&hub->models, link);
    }
    if (machine_watch_configure(hub->watch, &config->machine)) {
        log_warn("stream", "no memory for other settings of the senses: the old ones stay");
    }
    governor_loop_configure(hub, &config->governor, &config->energy);
    take_numbers(hub, config);
    drop_missing(hub, config);
    configure_pins(hub);
    load_at_start(hub);
    hub_poke(hub);
    return 0;
}
