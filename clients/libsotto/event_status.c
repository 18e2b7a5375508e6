/*
 * Event: the answer to a Status, list by list
 */
#include "base/clean.h"
#include "base/err.h"
#include "clients/libsotto/handle.h"
#include <errno.h>

static const struct sotto_memory_kind *memory_of(struct sotto *sotto, const Sotto__V1__StatusReport *from)
{
    struct sotto_memory_kind *to = event_scratch(sotto, from->n_memory, sizeof(*to));

    for (size_t i = 0; to && i < from->n_memory; i++) {
        to[i].kind = from->memory[i]->kind;
        to[i].holder = from->memory[i]->holder;
        to[i].bytes = from->memory[i]->bytes;
        to[i].peak_bytes = from->memory[i]->peak_bytes;
    }
    return to;
}

static const struct sotto_class_counts *classes_of(struct sotto *sotto, const Sotto__V1__StatusReport *from)
{
    struct sotto_class_counts *to = event_scratch(sotto, from->n_classes, sizeof(*to));

    for (size_t i = 0; to && i < from->n_classes; i++) {
        to[i].priority = (enum sotto_class)from->classes[i]->priority;
        to[i].queued = from->classes[i]->queued;
        to[i].running = from->classes[i]->running;
        to[i].parked = from->classes[i]->parked;
    }
    return to;
}

static const struct sotto_engine *engines_of(struct sotto *sotto, const Sotto__V1__StatusReport *from)
{
    struct sotto_engine *to = event_scratch(sotto, from->n_engines, sizeof(*to));

    for (size_t i = 0; to && i < from->n_engines; i++) {
        const Sotto__V1__EngineInfo *one = from->engines[i];

        to[i] = (struct sotto_engine){
            .model = one->model,
            .pid = one->pid,
            .starts = one->starts,
            .last_exit = one->last_exit,
            .steps = one->steps,
            .tokens = one->tokens,
            .rows = one->rows,
            .weight_passes = one->weight_passes,
            .step_allocations = one->step_allocations,
            .sequences = one->sequences,
            .pages_free = one->pages_free,
            .pages_cached = one->pages_cached,
            .pages_held = one->pages_held,
            .pages_evicted = one->pages_evicted,
        };
    }
    return to;
}

static const struct sotto_counter *counters_of(struct sotto *sotto, const Sotto__V1__StatusReport *from)
{
    struct sotto_counter *to = event_scratch(sotto, from->n_counters, sizeof(*to));

    for (size_t i = 0; to && i < from->n_counters; i++) {
        to[i].name = from->counters[i]->name;
        to[i].value = from->counters[i]->value;
    }
    return to;
}

static const struct sotto_device *devices_of(struct sotto *sotto, const Sotto__V1__StatusReport *from)
{
    struct sotto_device *to = event_scratch(sotto, from->n_devices, sizeof(*to));

    for (size_t i = 0; to && i < from->n_devices; i++) {
        const Sotto__V1__DeviceInfo *one = from->devices[i];

        to[i] = (struct sotto_device){
            .node = one->node,
            .driver = one->driver,
            .chip = one->chip,
            .chosen = one->chosen,
            .claimed = one->claimed,
            .why = one->why,
            .load_source = one->load_source,
        };
    }
    return to;
}

static const struct sotto_sensor *sensors_of(struct sotto *sotto, const Sotto__V1__StatusReport *from)
{
    static const char *const states[] = { NULL, "ok", "stale", "absent", "implausible", "forbidden" };
    struct sotto_sensor *to = event_scratch(sotto, from->n_sensors, sizeof(*to));

    for (size_t i = 0; to && i < from->n_sensors; i++) {
        const Sotto__V1__SensorInfo *one = from->sensors[i];

        to[i] = (struct sotto_sensor){
            .quantity = one->quantity,
            .name = one->name,
            .unit = one->unit,
            .state = (enum sotto_sensor_state)one->state,
            .state_name = event_name_in(states, COUNTOF(states), (uint64_t)one->state),
            .value = one->value,
            .age_ms = one->age_ms,
            .in_use = one->in_use,
            .why = one->why,
            .n_history = one->n_history,
            .history = one->history,
            .blind_permille = one->blind_permille,
        };
    }
    return to;
}

static const struct sotto_governor *governor_of(struct sotto *sotto, const Sotto__V1__StatusReport *from)
{
    struct sotto_governor *to = event_scratch(sotto, from->n_governor, sizeof(*to));

    for (size_t i = 0; to && i < from->n_governor; i++) {
        const Sotto__V1__GovernorInfo *one = from->governor[i];

        to[i] = (struct sotto_governor){
            .place = one->place,
            .mode = one->mode,
            .cause = one->cause,
            .slice_us = one->slice_us,
            .duty_permille = one->duty_permille,
            .rows = one->rows,
            .class_gate = (enum sotto_class)one->class_gate,
            .since_ms = one->since_ms,
            .changes = one->changes,
            .held_us = one->held_us,
            .slices = one->slices,
        };
    }
    return to;
}

static const struct sotto_account *accounts_of(struct sotto *sotto, const Sotto__V1__StatusReport *from)
{
    struct sotto_account *to = event_scratch(sotto, from->n_accounts, sizeof(*to));

    for (size_t i = 0; to && i < from->n_accounts; i++) {
        const Sotto__V1__AccountInfo *one = from->accounts[i];

        to[i] = (struct sotto_account){
            .uid = one->uid,
            .tokens = one->tokens,
            .energy_uj = one->energy_uj,
            .energy_source = (uint32_t)one->energy_source,
            .requests = one->requests,
            .refused = one->refused,
        };
    }
    return to;
}

int event_make_status(struct sotto *sotto, const Sotto__V1__ServerFrame *frame, void *ret)
{
    struct sotto_status *to = ret;
    const Sotto__V1__StatusReport *from = frame->status_report;

    *to = (struct sotto_status){
        .instance = from->instance,
        .server = from->server,
        .uptime_ms = from->uptime_ms,
        .config_file = from->config_file,
        .config_generation = from->config_generation,
        .n_memory = from->n_memory,
        .memory = memory_of(sotto, from),
        .rss_bytes = from->rss_bytes,
        .descriptors = from->descriptors,
        .connections = from->connections,
        .n_classes = from->n_classes,
        .classes = classes_of(sotto, from),
        .n_models = from->n_models,
        .models = event_models(sotto, from->models, from->n_models),
        .n_engines = from->n_engines,
        .engines = engines_of(sotto, from),
        .n_counters = from->n_counters,
        .counters = counters_of(sotto, from),
        .n_devices = from->n_devices,
        .devices = devices_of(sotto, from),
        .n_sensors = from->n_sensors,
        .sensors = sensors_of(sotto, from),
        .n_governor = from->n_governor,
        .governor = governor_of(sotto, from),
        .n_accounts = from->n_accounts,
        .accounts = accounts_of(sotto, from),
        .sessions = from->sessions,
    };
    if (!to->memory || !to->classes || !to->models || !to->engines || !to->counters) {
        return err_new(-ENOMEM);
    }
    return to->devices && to->sensors && to->governor && to->accounts ? 0 : err_new(-ENOMEM);
}
