/*
 * Show: the report of a Status as JSON, list by list
 */
#include "show.h"

const char *show_energy_source(uint32_t source)
{
    switch (source) {
    case 1:
        return "estimated";
    case 2:
        return "measured";
    default:
        return "unknown";
    }
}

const char *show_class(enum sotto_class priority)
{
    switch (priority) {
    case SOTTO_CLASS_DEFAULT:
        return "default";
    case SOTTO_CLASS_BACKGROUND:
        return "background";
    case SOTTO_CLASS_INTERACTIVE:
        return "interactive";
    case SOTTO_CLASS_REALTIME:
        return "realtime";
    }
    return "unknown";
}

static json_t *memory_of(const struct sotto_memory_kind *memory)
{
    json_t *object = json_object();

    json_object_set_new(object, "kind", show_name(memory->kind));
    json_object_set_new(object, "holder", show_name(memory->holder));
    json_object_set_new(object, "bytes", show_number(memory->bytes));
    json_object_set_new(object, "peak_bytes", show_number(memory->peak_bytes));
    return object;
}

static json_t *class_of(const struct sotto_class_counts *counts)
{
    json_t *object = json_object();

    json_object_set_new(object, "priority", json_string(show_class(counts->priority)));
    json_object_set_new(object, "queued", show_number(counts->queued));
    json_object_set_new(object, "running", show_number(counts->running));
    json_object_set_new(object, "parked", show_number(counts->parked));
    return object;
}

static json_t *engine_of(const struct sotto_engine *engine)
{
    json_t *object = json_object();

    json_object_set_new(object, "model", show_name(engine->model));
    json_object_set_new(object, "pid", show_number(engine->pid));
    json_object_set_new(object, "starts", show_number(engine->starts));
    json_object_set_new(object, "last_exit", show_name(engine->last_exit));
    json_object_set_new(object, "steps", show_number(engine->steps));
    json_object_set_new(object, "tokens", show_number(engine->tokens));
    json_object_set_new(object, "rows", show_number(engine->rows));
    json_object_set_new(object, "weight_passes", show_number(engine->weight_passes));
    json_object_set_new(object, "step_allocations", show_number(engine->step_allocations));
    json_object_set_new(object, "sequences", show_number(engine->sequences));
    json_object_set_new(object, "pages_free", show_number(engine->pages_free));
    json_object_set_new(object, "pages_cached", show_number(engine->pages_cached));
    json_object_set_new(object, "pages_held", show_number(engine->pages_held));
    json_object_set_new(object, "pages_evicted", show_number(engine->pages_evicted));
    return object;
}

static json_t *counter_of(const struct sotto_counter *counter)
{
    json_t *object = json_object();

    json_object_set_new(object, "name", show_name(counter->name));
    json_object_set_new(object, "value", show_number(counter->value));
    return object;
}

static json_t *device_of(const struct sotto_device *device)
{
    json_t *object = json_object();

    json_object_set_new(object, "node", show_name(device->node));
    json_object_set_new(object, "driver", show_name(device->driver));
    json_object_set_new(object, "chip", show_name(device->chip));
    json_object_set_new(object, "chosen", json_boolean(device->chosen));
    json_object_set_new(object, "claimed", json_boolean(device->claimed));
    json_object_set_new(object, "why", show_name(device->why));
    json_object_set_new(object, "load_source", show_name(device->load_source));
    return object;
}

static json_t *sensor_of(const struct sotto_sensor *sensor)
{
    json_t *object = json_object();
    json_t *history = json_array();

    for (size_t i = 0; i < sensor->n_history; i++) {
        json_array_append_new(history, json_integer((json_int_t)sensor->history[i]));
    }
    json_object_set_new(object, "quantity", show_name(sensor->quantity));
    json_object_set_new(object, "name", show_name(sensor->name));
    json_object_set_new(object, "unit", show_name(sensor->unit));
    json_object_set_new(object, "state", show_name(sensor->state_name));
    json_object_set_new(object, "value", json_integer((json_int_t)sensor->value));
    json_object_set_new(object, "age_ms", show_number(sensor->age_ms));
    json_object_set_new(object, "in_use", json_boolean(sensor->in_use));
    json_object_set_new(object, "why", show_name(sensor->why));
    json_object_set_new(object, "history", history);
    json_object_set_new(object, "blind_permille", show_number(sensor->blind_permille));
    return object;
}

static json_t *governor_of(const struct sotto_governor *governor)
{
    json_t *object = json_object();

    json_object_set_new(object, "place", show_name(governor->place));
    json_object_set_new(object, "mode", show_name(governor->mode));
    json_object_set_new(object, "cause", show_name(governor->cause));
    json_object_set_new(object, "slice_us", show_number(governor->slice_us));
    json_object_set_new(object, "duty_permille", show_number(governor->duty_permille));
    json_object_set_new(object, "rows", show_number(governor->rows));
    json_object_set_new(object, "class_gate", json_string(show_class(governor->class_gate)));
    json_object_set_new(object, "since_ms", show_number(governor->since_ms));
    json_object_set_new(object, "changes", show_number(governor->changes));
    json_object_set_new(object, "held_us", show_number(governor->held_us));
    json_object_set_new(object, "slices", show_number(governor->slices));
    return object;
}

static json_t *account_of(const struct sotto_account *account)
{
    json_t *object = json_object();

    json_object_set_new(object, "uid", show_number(account->uid));
    json_object_set_new(object, "tokens", show_number(account->tokens));
    json_object_set_new(object, "energy_uj", show_number(account->energy_uj));
    json_object_set_new(object, "energy_source", json_string(show_energy_source(account->energy_source)));
    json_object_set_new(object, "requests", show_number(account->requests));
    json_object_set_new(object, "refused", show_number(account->refused));
    return object;
}

static void add_lists(json_t *object, const struct sotto_status *status)
{
    json_t *memory = json_array();
    json_t *classes = json_array();
    json_t *models = json_array();
    json_t *engines = json_array();
    json_t *counters = json_array();

    for (size_t i = 0; i < status->n_memory; i++) {
        json_array_append_new(memory, memory_of(&status->memory[i]));
    }
    for (size_t i = 0; i < status->n_classes; i++) {
        json_array_append_new(classes, class_of(&status->classes[i]));
    }
    for (size_t i = 0; i < status->n_models; i++) {
        json_array_append_new(models, show_model(&status->models[i]));
    }
    for (size_t i = 0; i < status->n_engines; i++) {
        json_array_append_new(engines, engine_of(&status->engines[i]));
    }
    for (size_t i = 0; i < status->n_counters; i++) {
        json_array_append_new(counters, counter_of(&status->counters[i]));
    }
    json_object_set_new(object, "memory", memory);
    json_object_set_new(object, "classes", classes);
    json_object_set_new(object, "models", models);
    json_object_set_new(object, "engines", engines);
    json_object_set_new(object, "counters", counters);
}

/* What the machine is like, and what is made of it. */
static void add_machine(json_t *object, const struct sotto_status *status)
{
    json_t *devices = json_array();
    json_t *sensors = json_array();
    json_t *governor = json_array();
    json_t *accounts = json_array();

    for (size_t i = 0; i < status->n_devices; i++) {
        json_array_append_new(devices, device_of(&status->devices[i]));
    }
    for (size_t i = 0; i < status->n_sensors; i++) {
        json_array_append_new(sensors, sensor_of(&status->sensors[i]));
    }
    for (size_t i = 0; i < status->n_governor; i++) {
        json_array_append_new(governor, governor_of(&status->governor[i]));
    }
    for (size_t i = 0; i < status->n_accounts; i++) {
        json_array_append_new(accounts, account_of(&status->accounts[i]));
    }
    json_object_set_new(object, "devices", devices);
    json_object_set_new(object, "sensors", sensors);
    json_object_set_new(object, "governor", governor);
    json_object_set_new(object, "accounts", accounts);
    json_object_set_new(object, "sessions", show_number(status->sessions));
}

json_t *show_status(const struct sotto_status *status)
{
    json_t *object = json_object();

    json_object_set_new(object, "instance", show_name(status->instance));
    json_object_set_new(object, "server", show_name(status->server));
    json_object_set_new(object, "uptime_ms", show_number(status->uptime_ms));
    json_object_set_new(object, "config_file", show_name(status->config_file));
    json_object_set_new(object, "config_generation", show_number(status->config_generation));
    json_object_set_new(object, "rss_bytes", show_number(status->rss_bytes));
    json_object_set_new(object, "descriptors", show_number(status->descriptors));
    json_object_set_new(object, "connections", show_number(status->connections));
    add_lists(object, status);
    add_machine(object, status);
    return object;
}
