/*
 * Event: the answer to a Status, list by list
 */
#include "base/clean.h"
#include "base/err.h"
#include "clients/libsotto/handle.h"
#include <errno.h>

/* Returns a new array of the @n messages at @from, each copied by @copy into @size bytes; NULL: no memory. */
static void *list(struct sotto *sotto, void *from, size_t n, size_t size, void (*copy)(void *to, const void *from))
{
    char *to = event_scratch(sotto, n, size);
    void *const *messages = from;

    for (size_t i = 0; to && i < n; i++) {
        copy(to + i * size, messages[i]);
    }
    return to;
}

static void copy_memory(void *to, const void *from)
{
    const Sotto__V1__MemoryKind *one = from;

    *(struct sotto_memory_kind *)to = (struct sotto_memory_kind){
        .kind = one->kind,
        .holder = one->holder,
        .bytes = one->bytes,
        .peak_bytes = one->peak_bytes,
    };
}

static void copy_class(void *to, const void *from)
{
    const Sotto__V1__ClassCounts *one = from;

    *(struct sotto_class_counts *)to = (struct sotto_class_counts){
        .priority = (enum sotto_class)one->priority,
        .queued = one->queued,
        .running = one->running,
        .parked = one->parked,
    };
}

static void copy_engine(void *to, const void *from)
{
    const Sotto__V1__EngineInfo *one = from;

    *(struct sotto_engine *)to = (struct sotto_engine){
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
        .draft_tokens = one->draft_tokens,
        .draft_tokens_accepted = one->draft_tokens_accepted,
    };
}

static void copy_counter(void *to, const void *from)
{
    const Sotto__V1__Counter *one = from;

    *(struct sotto_counter *)to = (struct sotto_counter){
        .name = one->name,
        .value = one->value,
    };
}

static void copy_device(void *to, const void *from)
{
    const Sotto__V1__DeviceInfo *one = from;

    *(struct sotto_device *)to = (struct sotto_device){
        .node = one->node,
        .driver = one->driver,
        .chip = one->chip,
        .chosen = one->chosen,
        .claimed = one->claimed,
        .why = one->why,
        .load_source = one->load_source,
    };
}

static void copy_sensor(void *to, const void *from)
{
    static const char *const states[] = { NULL, "ok", "stale", "absent", "implausible", "forbidden" };
    const Sotto__V1__SensorInfo *one = from;

    *(struct sotto_sensor *)to = (struct sotto_sensor){
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

static void copy_governor(void *to, const void *from)
{
    const Sotto__V1__GovernorInfo *one = from;

    *(struct sotto_governor *)to = (struct sotto_governor){
        .processor = one->processor,
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

static void copy_account(void *to, const void *from)
{
    const Sotto__V1__AccountInfo *one = from;

    *(struct sotto_account *)to = (struct sotto_account){
        .uid = one->uid,
        .tokens = one->tokens,
        .energy_uj = one->energy_uj,
        .energy_source = (uint32_t)one->energy_source,
        .requests = one->requests,
        .refused = one->refused,
    };
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
        .memory = list(sotto, from->memory, from->n_memory, sizeof(*to->memory), copy_memory),
        .rss_bytes = from->rss_bytes,
        .descriptors = from->descriptors,
        .connections = from->connections,
        .n_classes = from->n_classes,
        .classes = list(sotto, from->classes, from->n_classes, sizeof(*to->classes), copy_class),
        .n_models = from->n_models,
        .models = event_models(sotto, from->models, from->n_models),
        .n_engines = from->n_engines,
        .engines = list(sotto, from->engines, from->n_engines, sizeof(*to->engines), copy_engine),
        .n_counters = from->n_counters,
        .counters = list(sotto, from->counters, from->n_counters, sizeof(*to->counters), copy_counter),
        .n_devices = from->n_devices,
        .devices = list(sotto, from->devices, from->n_devices, sizeof(*to->devices), copy_device),
        .n_sensors = from->n_sensors,
        .sensors = list(sotto, from->sensors, from->n_sensors, sizeof(*to->sensors), copy_sensor),
        .n_governor = from->n_governor,
        .governor = list(sotto, from->governor, from->n_governor, sizeof(*to->governor), copy_governor),
        .n_accounts = from->n_accounts,
        .accounts = list(sotto, from->accounts, from->n_accounts, sizeof(*to->accounts), copy_account),
        .sessions = from->sessions,
    };
    if (!to->memory || !to->classes || !to->models || !to->engines || !to->counters) {
        return err_new(-ENOMEM);
    }
    return to->devices && to->sensors && to->governor && to->accounts ? 0 : err_new(-ENOMEM);
}
