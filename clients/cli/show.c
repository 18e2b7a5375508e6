/*
 * Show: JSON objects out of events. A NULL from jansson (no memory) ends up as a missing member, never as a crash.
 */
#include "show.h"

#include "base/mem.h"
#include "base/utf8.h"
#include <stdio.h>
#include <string.h>

json_t *show_text(const char *text, size_t n)
{
    json_t *string = json_stringn(text, n);
    uint8_t *mended;

    if (string) {
        return string;
    }
    mended = mem_alloc(MEM_MISC, 3 * n + 1);
    if (!mended) {
        return NULL;
    }
    n = utf8_mend((const uint8_t *)text, n, mended, 3 * n);
    string = json_stringn((const char *)mended, n);
    mem_free(mended);
    return string;
}

static json_t *name(const char *text)
{
    return show_text(text, strlen(text));
}

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

json_t *show_ids(const uint32_t *ids, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++) {
        json_array_append_new(array, number(ids[i]));
    }
    return array;
}

json_t *show_usage(const struct sotto_done *done)
{
    static const char *const sources[] = { NULL, "estimated", "measured" };
    const struct sotto_usage *usage = &done->usage;
    json_t *object = json_object();

    json_object_set_new(object, "prompt_tokens", number(usage->prompt_tokens));
    json_object_set_new(object, "cached_tokens", number(usage->cached_tokens));
    json_object_set_new(object, "generated_tokens", number(usage->generated_tokens));
    json_object_set_new(object, "queue_ms", json_real((double)usage->queue_us / 1000));
    json_object_set_new(object, "ttft_ms", json_real((double)usage->ttft_us / 1000));
    json_object_set_new(object, "total_ms", json_real((double)usage->total_us / 1000));
    json_object_set_new(object, "itl_p50_ms", json_real(usage->itl_p50_us / 1000.0));
    json_object_set_new(object, "itl_p99_ms", json_real(usage->itl_p99_us / 1000.0));
    json_object_set_new(object, "tokens_per_second", json_real(done->tokens_per_second));
    json_object_set_new(object, "rebuilds", number(usage->rebuilds));
    if (usage->energy_source == 1 || usage->energy_source == 2) {
        json_object_set_new(object, "energy_mj", json_real((double)usage->energy_uj / 1000));
        json_object_set_new(object, "energy_source", json_string(sources[usage->energy_source]));
    }
    return object;
}

json_t *show_model(const struct sotto_model *model)
{
    json_t *object = json_object();

    json_object_set_new(object, "name", name(model->name));
    json_object_set_new(object, "state", name(model->state_name));
    json_object_set_new(object, "reason", name(model->reason));
    json_object_set_new(object, "is_default", json_boolean(model->is_default));
    json_object_set_new(object, "file", name(model->file));
    json_object_set_new(object, "file_bytes", number(model->file_bytes));
    json_object_set_new(object, "architecture", name(model->architecture));
    json_object_set_new(object, "format", name(model->format));
    json_object_set_new(object, "parameters", number(model->parameters));
    json_object_set_new(object, "vocabulary", number(model->vocabulary));
    json_object_set_new(object, "context_tokens", number(model->context_tokens));
    json_object_set_new(object, "trained_context_tokens", number(model->trained_context_tokens));
    json_object_set_new(object, "kv_bytes_per_token", number(model->kv_bytes_per_token));
    json_object_set_new(object, "kv_pages", number(model->kv_pages));
    json_object_set_new(object, "kv_pages_used", number(model->kv_pages_used));
    json_object_set_new(object, "backend", name(model->backend));
    json_object_set_new(object, "chat", json_boolean(model->chat));
    json_object_set_new(object, "chat_reason", name(model->chat_reason));
    json_object_set_new(object, "load_fraction", json_real((double)model->load_fraction));
    json_object_set_new(object, "load_us", number(model->load_us));
    json_object_set_new(object, "embedding_values", number(model->embedding_values));
    return object;
}

static const char *class_name(enum sotto_class priority)
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

    json_object_set_new(object, "kind", name(memory->kind));
    json_object_set_new(object, "holder", name(memory->holder));
    json_object_set_new(object, "bytes", number(memory->bytes));
    json_object_set_new(object, "peak_bytes", number(memory->peak_bytes));
    return object;
}

static json_t *class_of(const struct sotto_class_counts *counts)
{
    json_t *object = json_object();

    json_object_set_new(object, "priority", json_string(class_name(counts->priority)));
    json_object_set_new(object, "queued", number(counts->queued));
    json_object_set_new(object, "running", number(counts->running));
    json_object_set_new(object, "parked", number(counts->parked));
    return object;
}

static json_t *engine_of(const struct sotto_engine *engine)
{
    json_t *object = json_object();

    json_object_set_new(object, "model", name(engine->model));
    json_object_set_new(object, "pid", number(engine->pid));
    json_object_set_new(object, "starts", number(engine->starts));
    json_object_set_new(object, "last_exit", name(engine->last_exit));
    json_object_set_new(object, "steps", number(engine->steps));
    json_object_set_new(object, "tokens", number(engine->tokens));
    json_object_set_new(object, "rows", number(engine->rows));
    json_object_set_new(object, "weight_passes", number(engine->weight_passes));
    json_object_set_new(object, "step_allocations", number(engine->step_allocations));
    json_object_set_new(object, "sequences", number(engine->sequences));
    json_object_set_new(object, "pages_free", number(engine->pages_free));
    json_object_set_new(object, "pages_cached", number(engine->pages_cached));
    json_object_set_new(object, "pages_held", number(engine->pages_held));
    json_object_set_new(object, "pages_evicted", number(engine->pages_evicted));
    return object;
}

static json_t *counter_of(const struct sotto_counter *counter)
{
    json_t *object = json_object();

    json_object_set_new(object, "name", name(counter->name));
    json_object_set_new(object, "value", number(counter->value));
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

json_t *show_status(const struct sotto_status *status)
{
    json_t *object = json_object();

    json_object_set_new(object, "instance", name(status->instance));
    json_object_set_new(object, "server", name(status->server));
    json_object_set_new(object, "uptime_ms", number(status->uptime_ms));
    json_object_set_new(object, "config_file", name(status->config_file));
    json_object_set_new(object, "config_generation", number(status->config_generation));
    json_object_set_new(object, "rss_bytes", number(status->rss_bytes));
    json_object_set_new(object, "descriptors", number(status->descriptors));
    json_object_set_new(object, "connections", number(status->connections));
    add_lists(object, status);
    return object;
}

json_t *show_watched(const struct sotto_watched *watched)
{
    json_t *object = json_object();
    json_t *pairs = json_object();

    for (size_t i = 0; i < watched->n_pairs; i++) {
        json_object_set_new(pairs, watched->pairs[i].key, name(watched->pairs[i].value));
    }
    json_object_set_new(object, "at_us", number(watched->at_us));
    json_object_set_new(object, "topic", name(watched->topic));
    json_object_set_new(object, "name", name(watched->name));
    json_object_set_new(object, "pairs", pairs);
    json_object_set_new(object, "dropped", number(watched->dropped));
    return object;
}

static json_t *names_of(const char *const *names, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++) {
        json_array_append_new(array, name(names[i]));
    }
    return array;
}

json_t *show_reloaded(const struct sotto_reloaded *reloaded)
{
    json_t *object = json_object();

    json_object_set_new(object, "config_generation", number(reloaded->config_generation));
    json_object_set_new(object, "applied", names_of(reloaded->applied, reloaded->n_applied));
    json_object_set_new(object, "needs_restart",
                        names_of(reloaded->needs_restart, reloaded->n_needs_restart));
    return object;
}

void show_line(json_t *object)
{
    json_dumpf(object, stdout, JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(object);
}

const char *show_bytes(uint64_t bytes, char *text)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    double value = (double)bytes;
    unsigned i = 0;

    while (value >= 1024 && i < 4) {
        value /= 1024;
        i++;
    }
    snprintf(text, SHOW_BYTES, i ? "%.1f %s" : "%.0f %s", value, units[i]);
    return text;
}
