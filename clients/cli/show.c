/*
 * Show: JSON objects out of events. A NULL from jansson (no memory) ends up as a missing member, never as a crash.
 */
#include "show.h"

#include "base/mem.h"
#include "base/utf8.h"
#include <inttypes.h>
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

json_t *show_name(const char *text)
{
    return show_text(text, strlen(text));
}

json_t *show_number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

json_t *show_ids(const uint32_t *ids, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++) {
        json_array_append_new(array, show_number(ids[i]));
    }
    return array;
}

json_t *show_usage(const struct sotto_done *done)
{
    static const char *const sources[] = { NULL, "estimated", "measured" };
    const struct sotto_usage *usage = &done->usage;
    json_t *object = json_object();

    json_object_set_new(object, "prompt_tokens", show_number(usage->prompt_tokens));
    json_object_set_new(object, "cached_tokens", show_number(usage->cached_tokens));
    json_object_set_new(object, "generated_tokens", show_number(usage->generated_tokens));
    json_object_set_new(object, "queue_ms", json_real((double)usage->queue_us / 1000));
    json_object_set_new(object, "ttft_ms", json_real((double)usage->ttft_us / 1000));
    json_object_set_new(object, "total_ms", json_real((double)usage->total_us / 1000));
    json_object_set_new(object, "itl_p50_ms", json_real(usage->itl_p50_us / 1000.0));
    json_object_set_new(object, "itl_p99_ms", json_real(usage->itl_p99_us / 1000.0));
    json_object_set_new(object, "tokens_per_second", json_real(done->tokens_per_second));
    json_object_set_new(object, "rebuilds", show_number(usage->rebuilds));
    if (usage->energy_source == 1 || usage->energy_source == 2) {
        json_object_set_new(object, "energy_mj", json_real((double)usage->energy_uj / 1000));
        json_object_set_new(object, "energy_source", json_string(sources[usage->energy_source]));
    }
    return object;
}

static json_t *pin_of(const struct sotto_pin *pin)
{
    json_t *object = json_object();

    json_object_set_new(object, "name", show_name(pin->name));
    json_object_set_new(object, "state", show_name(pin->state_name));
    json_object_set_new(object, "reason", show_name(pin->reason));
    json_object_set_new(object, "tokens", show_number(pin->tokens));
    json_object_set_new(object, "pages", show_number(pin->pages));
    json_object_set_new(object, "hits", show_number(pin->hits));
    json_object_set_new(object, "hit_tokens", show_number(pin->hit_tokens));
    json_object_set_new(object, "users", show_ids(pin->users, pin->n_users));
    return object;
}

static json_t *pins_of(const struct sotto_model *model)
{
    json_t *list = json_array();

    for (size_t i = 0; i < model->n_pins; i++) {
        json_array_append_new(list, pin_of(&model->pins[i]));
    }
    return list;
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

json_t *show_model(const struct sotto_model *model)
{
    json_t *object = json_object();

    json_object_set_new(object, "name", show_name(model->name));
    json_object_set_new(object, "state", show_name(model->state_name));
    json_object_set_new(object, "reason", show_name(model->reason));
    json_object_set_new(object, "is_default", json_boolean(model->is_default));
    json_object_set_new(object, "file", show_name(model->file));
    json_object_set_new(object, "file_bytes", show_number(model->file_bytes));
    json_object_set_new(object, "architecture", show_name(model->architecture));
    json_object_set_new(object, "format", show_name(model->format));
    json_object_set_new(object, "parameters", show_number(model->parameters));
    json_object_set_new(object, "vocabulary", show_number(model->vocabulary));
    json_object_set_new(object, "context_tokens", show_number(model->context_tokens));
    json_object_set_new(object, "trained_context_tokens", show_number(model->trained_context_tokens));
    json_object_set_new(object, "kv_bytes_per_token", show_number(model->kv_bytes_per_token));
    json_object_set_new(object, "kv_pages", show_number(model->kv_pages));
    json_object_set_new(object, "kv_pages_used", show_number(model->kv_pages_used));
    json_object_set_new(object, "backend", show_name(model->backend));
    json_object_set_new(object, "chat", json_boolean(model->chat));
    json_object_set_new(object, "chat_reason", show_name(model->chat_reason));
    json_object_set_new(object, "load_fraction", json_real((double)model->load_fraction));
    json_object_set_new(object, "load_us", show_number(model->load_us));
    json_object_set_new(object, "embedding_values", show_number(model->embedding_values));
    json_object_set_new(object, "pins", pins_of(model));
    return object;
}

json_t *show_watched(const struct sotto_watched *watched)
{
    json_t *object = json_object();
    json_t *pairs = json_object();

    for (size_t i = 0; i < watched->n_pairs; i++) {
        json_object_set_new(pairs, watched->pairs[i].key, show_name(watched->pairs[i].value));
    }
    json_object_set_new(object, "at_us", show_number(watched->at_us));
    json_object_set_new(object, "topic", show_name(watched->topic));
    json_object_set_new(object, "name", show_name(watched->name));
    json_object_set_new(object, "pairs", pairs);
    json_object_set_new(object, "dropped", show_number(watched->dropped));
    return object;
}

static json_t *names_of(const char *const *names, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++) {
        json_array_append_new(array, show_name(names[i]));
    }
    return array;
}

json_t *show_reloaded(const struct sotto_reloaded *reloaded)
{
    json_t *object = json_object();

    json_object_set_new(object, "config_generation", show_number(reloaded->config_generation));
    json_object_set_new(object, "applied", names_of(reloaded->applied, reloaded->n_applied));
    json_object_set_new(object, "needs_restart", names_of(reloaded->needs_restart, reloaded->n_needs_restart));
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
