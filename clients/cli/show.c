/*
 * A struct of the library becomes an object by a table of its fields; a field's type says how it is shown.
 */
#include "show.h"
#include "base/clean.h"
#include "base/mem.h"
#include "base/utf8.h"
#include <inttypes.h>
#include <stdio.h>

enum show_kind {
    SHOW_BOOL,
    SHOW_U32,
    SHOW_U64,
    SHOW_I64,
    SHOW_F32,
    SHOW_STRING,
    SHOW_CLASS,  /* enum sotto_class, by name */
    SHOW_ENERGY, /* energy_source, by name */
    SHOW_U32S,   /* arrays: their number is at @n_at */
    SHOW_I64S,
    SHOW_F32S,
    SHOW_STRINGS,
    SHOW_STRUCTS, /* objects by @fields */
};

struct show_field {
    const char *name;
    enum show_kind kind;
    size_t at; /* offset of the value */
    size_t n_at;
    size_t bytes; /* of one of SHOW_STRUCTS */
    const struct show_field *fields;
};

#define MEMBER(type, member) (((struct type *)NULL)->member)

#define KIND(value)                                                                                                    \
    _Generic(value, bool : SHOW_BOOL, uint32_t : SHOW_U32, uint64_t : SHOW_U64, int64_t : SHOW_I64, float : SHOW_F32, \
             const char * : SHOW_STRING, const uint32_t * : SHOW_U32S, const int64_t * : SHOW_I64S, const float *      \
             : SHOW_F32S, const char *const * : SHOW_STRINGS)

/* The rows of a table: a scalar or a string, under its own name or another; a number with names; an array; structs. */
#define FIELD(type, member)       NAMED(#member, type, member)
#define NAMED(name, type, member) name, KIND(MEMBER(type, member)), offsetof(struct type, member)
#define NAMES(kind, type, member) #member, kind, offsetof(struct type, member)
#define ARRAY(type, member)       FIELD(type, member), offsetof(struct type, n_##member)
#define STRUCTS(type, member, fields)                                                                                  \
    NAMES(SHOW_STRUCTS, type, member), offsetof(struct type, n_##member), sizeof(*MEMBER(type, member)), fields

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

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *string(const char *text)
{
    return show_text(text, strlen(text));
}

json_t *show_id64(uint64_t id)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, id);
    return json_string(text);
}

static json_t *object_of(const struct show_field *fields, const void *from);

static json_t *element(const struct show_field *field, const void *array, size_t i)
{
    switch (field->kind) {
    case SHOW_U32S:
        return number(((const uint32_t *)array)[i]);
    case SHOW_I64S:
        return json_integer((json_int_t)((const int64_t *)array)[i]);
    case SHOW_F32S:
        return json_real((double)((const float *)array)[i]);
    case SHOW_STRINGS:
        return string(((const char *const *)array)[i]);
    default:
        return object_of(field->fields, (const char *)array + i * field->bytes);
    }
}

static json_t *array_of(const struct show_field *field, const char *from)
{
    const void *array = *(const void *const *)(const void *)(from + field->at);
    size_t n = *(const size_t *)(const void *)(from + field->n_at);
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        json_array_append_new(list, element(field, array, i));
    }
    return list;
}

static json_t *value_of(const struct show_field *field, const char *from)
{
    const void *at = from + field->at;

    switch (field->kind) {
    case SHOW_BOOL:
        return json_boolean(*(const bool *)at);
    case SHOW_U32:
        return number(*(const uint32_t *)at);
    case SHOW_U64:
        return number(*(const uint64_t *)at);
    case SHOW_I64:
        return json_integer((json_int_t) * (const int64_t *)at);
    case SHOW_F32:
        return json_real((double)*(const float *)at);
    case SHOW_STRING:
        return string(*(const char *const *)at);
    case SHOW_CLASS:
        return json_string(show_class(*(const enum sotto_class *)at));
    case SHOW_ENERGY:
        return json_string(show_energy_source(*(const uint32_t *)at));
    default:
        return array_of(field, from);
    }
}

static json_t *object_of(const struct show_field *fields, const void *from)
{
    json_t *object = json_object();

    for (const struct show_field *field = fields; field->name; field++) {
        json_object_set_new(object, field->name, value_of(field, from));
    }
    return object;
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
    static const struct show_field counts[] = { { FIELD(sotto_usage, prompt_tokens) },
                                                { FIELD(sotto_usage, cached_tokens) },
                                                { FIELD(sotto_usage, generated_tokens) },
                                                { NULL } };
    const struct sotto_usage *usage = &done->usage;
    json_t *object = object_of(counts, usage);

    json_object_set_new(object, "queue_ms", json_real((double)usage->queue_us / 1000));
    json_object_set_new(object, "ttft_ms", json_real((double)usage->ttft_us / 1000));
    json_object_set_new(object, "total_ms", json_real((double)usage->total_us / 1000));
    json_object_set_new(object, "itl_p50_ms", json_real(usage->itl_p50_us / 1000.0));
    json_object_set_new(object, "itl_p99_ms", json_real(usage->itl_p99_us / 1000.0));
    json_object_set_new(object, "tokens_per_second", json_real(done->tokens_per_second));
    json_object_set_new(object, "rebuilds", number(usage->rebuilds));
    if (usage->energy_source == 1 || usage->energy_source == 2) {
        json_object_set_new(object, "energy_mj", json_real((double)usage->energy_uj / 1000));
        json_object_set_new(object, "energy_source", json_string(show_energy_source(usage->energy_source)));
    }
    return object;
}

json_t *show_logprobs(const struct sotto_logprobs *logprobs)
{
    json_t *top = json_array();

    for (size_t i = 0; i < logprobs->n_top; i++) {
        json_array_append_new(top, json_pack("{s:I,s:f}", "id", (json_int_t)logprobs->top_ids[i], "logprob",
                                             (double)logprobs->top_logprobs[i]));
    }
    return json_pack("{s:f,s:o}", "logprob", (double)logprobs->logprob, "top", top);
}

static const struct show_field pin_fields[] = {
    { FIELD(sotto_pin, name) },
    { NAMED("state", sotto_pin, state_name) },
    { FIELD(sotto_pin, reason) },
    { FIELD(sotto_pin, tokens) },
    { FIELD(sotto_pin, pages) },
    { FIELD(sotto_pin, hits) },
    { FIELD(sotto_pin, hit_tokens) },
    { ARRAY(sotto_pin, users) },
    { NULL },
};

static const struct show_field model_fields[] = {
    { FIELD(sotto_model, name) },
    { NAMED("state", sotto_model, state_name) },
    { FIELD(sotto_model, reason) },
    { FIELD(sotto_model, is_default) },
    { FIELD(sotto_model, file) },
    { FIELD(sotto_model, file_bytes) },
    { FIELD(sotto_model, architecture) },
    { FIELD(sotto_model, format) },
    { FIELD(sotto_model, parameters) },
    { FIELD(sotto_model, vocabulary) },
    { FIELD(sotto_model, context_tokens) },
    { FIELD(sotto_model, trained_context_tokens) },
    { FIELD(sotto_model, kv_bytes_per_token) },
    { FIELD(sotto_model, kv_pages) },
    { FIELD(sotto_model, kv_pages_used) },
    { FIELD(sotto_model, backend) },
    { FIELD(sotto_model, chat) },
    { FIELD(sotto_model, chat_reason) },
    { FIELD(sotto_model, load_fraction) },
    { FIELD(sotto_model, load_us) },
    { FIELD(sotto_model, embedding_values) },
    { STRUCTS(sotto_model, pins, pin_fields) },
    { NULL },
};

static const struct show_field memory_fields[] = {
    { FIELD(sotto_memory_kind, kind) },
    { FIELD(sotto_memory_kind, holder) },
    { FIELD(sotto_memory_kind, bytes) },
    { FIELD(sotto_memory_kind, peak_bytes) },
    { NULL },
};

static const struct show_field class_fields[] = {
    { NAMES(SHOW_CLASS, sotto_class_counts, priority) },
    { FIELD(sotto_class_counts, queued) },
    { FIELD(sotto_class_counts, running) },
    { FIELD(sotto_class_counts, parked) },
    { NULL },
};

static const struct show_field engine_fields[] = {
    { FIELD(sotto_engine, model) },
    { FIELD(sotto_engine, pid) },
    { FIELD(sotto_engine, starts) },
    { FIELD(sotto_engine, last_exit) },
    { FIELD(sotto_engine, steps) },
    { FIELD(sotto_engine, tokens) },
    { FIELD(sotto_engine, rows) },
    { FIELD(sotto_engine, weight_passes) },
    { FIELD(sotto_engine, step_allocations) },
    { FIELD(sotto_engine, sequences) },
    { FIELD(sotto_engine, pages_free) },
    { FIELD(sotto_engine, pages_cached) },
    { FIELD(sotto_engine, pages_held) },
    { FIELD(sotto_engine, pages_evicted) },
    { FIELD(sotto_engine, draft_tokens) },
    { FIELD(sotto_engine, draft_tokens_accepted) },
    { NULL },
};

static const struct show_field counter_fields[] = { { FIELD(sotto_counter, name) },
                                                    { FIELD(sotto_counter, value) },
                                                    { NULL } };

static const struct show_field device_fields[] = {
    { FIELD(sotto_device, node) },        { FIELD(sotto_device, driver) },
    { FIELD(sotto_device, chip) },        { FIELD(sotto_device, chosen) },
    { FIELD(sotto_device, claimed) },     { FIELD(sotto_device, why) },
    { FIELD(sotto_device, load_source) }, { NULL },
};

static const struct show_field sensor_fields[] = {
    { FIELD(sotto_sensor, quantity) },
    { FIELD(sotto_sensor, name) },
    { FIELD(sotto_sensor, unit) },
    { NAMED("state", sotto_sensor, state_name) },
    { FIELD(sotto_sensor, value) },
    { FIELD(sotto_sensor, age_ms) },
    { FIELD(sotto_sensor, in_use) },
    { FIELD(sotto_sensor, why) },
    { ARRAY(sotto_sensor, history) },
    { FIELD(sotto_sensor, blind_permille) },
    { NULL },
};

static const struct show_field governor_fields[] = {
    { FIELD(sotto_governor, processor) },
    { FIELD(sotto_governor, mode) },
    { FIELD(sotto_governor, cause) },
    { FIELD(sotto_governor, slice_us) },
    { FIELD(sotto_governor, duty_permille) },
    { FIELD(sotto_governor, rows) },
    { NAMES(SHOW_CLASS, sotto_governor, class_gate) },
    { FIELD(sotto_governor, since_ms) },
    { FIELD(sotto_governor, changes) },
    { FIELD(sotto_governor, held_us) },
    { FIELD(sotto_governor, slices) },
    { NULL },
};

static const struct show_field account_fields[] = {
    { FIELD(sotto_account, uid) },
    { FIELD(sotto_account, tokens) },
    { FIELD(sotto_account, energy_uj) },
    { NAMES(SHOW_ENERGY, sotto_account, energy_source) },
    { FIELD(sotto_account, requests) },
    { FIELD(sotto_account, refused) },
    { NULL },
};

static const struct show_field status_fields[] = {
    { FIELD(sotto_status, instance) },
    { FIELD(sotto_status, server) },
    { FIELD(sotto_status, uptime_ms) },
    { FIELD(sotto_status, config_file) },
    { FIELD(sotto_status, config_generation) },
    { FIELD(sotto_status, rss_bytes) },
    { FIELD(sotto_status, descriptors) },
    { FIELD(sotto_status, connections) },
    { STRUCTS(sotto_status, memory, memory_fields) },
    { STRUCTS(sotto_status, classes, class_fields) },
    { STRUCTS(sotto_status, models, model_fields) },
    { STRUCTS(sotto_status, engines, engine_fields) },
    { STRUCTS(sotto_status, counters, counter_fields) },
    { STRUCTS(sotto_status, devices, device_fields) },
    { STRUCTS(sotto_status, sensors, sensor_fields) },
    { STRUCTS(sotto_status, governor, governor_fields) },
    { STRUCTS(sotto_status, accounts, account_fields) },
    { FIELD(sotto_status, sessions) },
    { NULL },
};

json_t *show_model(const struct sotto_model *model)
{
    return object_of(model_fields, model);
}

json_t *show_models(const struct sotto_models *models)
{
    json_t *list = json_array();

    for (size_t i = 0; i < models->n; i++) {
        json_array_append_new(list, show_model(&models->models[i]));
    }
    return json_pack("{s:o}", "models", list);
}

json_t *show_status(const struct sotto_status *status)
{
    return object_of(status_fields, status);
}

json_t *show_watched(const struct sotto_watched *watched)
{
    static const struct show_field head[] = {
        { FIELD(sotto_watched, at_us) }, { FIELD(sotto_watched, topic) }, { FIELD(sotto_watched, name) }, { NULL }
    };
    json_t *object = object_of(head, watched);
    json_t *pairs = json_object();

    for (size_t i = 0; i < watched->n_pairs; i++) {
        json_object_set_new(pairs, watched->pairs[i].key, string(watched->pairs[i].value));
    }
    json_object_set_new(object, "pairs", pairs);
    json_object_set_new(object, "dropped", number(watched->dropped));
    return object;
}

json_t *show_reloaded(const struct sotto_reloaded *reloaded)
{
    static const struct show_field fields[] = { { FIELD(sotto_reloaded, config_generation) },
                                                { ARRAY(sotto_reloaded, applied) },
                                                { ARRAY(sotto_reloaded, needs_restart) },
                                                { NULL } };

    return object_of(fields, reloaded);
}

json_t *show_embedding(const struct sotto_embedding *embedding)
{
    static const struct show_field fields[] = { { ARRAY(sotto_embedding, values) },
                                                { FIELD(sotto_embedding, prompt_tokens) },
                                                { FIELD(sotto_embedding, model) },
                                                { FIELD(sotto_embedding, numerics) },
                                                { NULL } };

    return object_of(fields, embedding);
}

json_t *show_session(const struct sotto_session *session)
{
    static const struct show_field fields[] = { { FIELD(sotto_session, model) },
                                                { FIELD(sotto_session, tokens) },
                                                { FIELD(sotto_session, context_tokens) },
                                                { FIELD(sotto_session, idle_ms) },
                                                { NULL } };
    json_t *object = json_pack("{s:o}", "session", show_id64(session->id));

    json_object_update_missing_new(object, object_of(fields, session));
    return object;
}

json_t *show_session_closed(const struct sotto_session *session)
{
    return json_pack("{s:o}", "tokens", number(session->tokens));
}

const char *show_energy_source(uint32_t source)
{
    static const char *const names[] = { "unknown", "estimated", "measured" };

    return names[source < COUNTOF(names) ? source : 0];
}

const char *show_class(enum sotto_class priority)
{
    static const char *const names[] = { "default", "background", "interactive", "realtime" };

    return (size_t)priority < COUNTOF(names) ? names[priority] : "unknown";
}

void show_pins(const struct sotto_model *model)
{
    for (size_t i = 0; i < model->n_pins; i++) {
        const struct sotto_pin *pin = &model->pins[i];

        printf("    pin %s: %s", pin->name, pin->state_name);
        if (pin->tokens > 0 && pin->state != SOTTO_PIN_REFUSED) {
            printf(", %u tokens in %u pages", pin->tokens, pin->pages);
        }
        for (size_t k = 0; k < pin->n_users; k++) {
            printf("%s %u", k ? "" : ", for user", pin->users[k]);
        }
        if (pin->state != SOTTO_PIN_REFUSED || pin->hits > 0) {
            printf(", %" PRIu64 " hits, %" PRIu64 " tokens found", pin->hits, pin->hit_tokens);
        }
        printf("%s%s\n", *pin->reason ? ": " : "", pin->reason);
    }
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
