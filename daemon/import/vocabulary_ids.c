/*
 * The meanings of tokens are in four files, which sometimes contradict each other. tokenizer_config.json has
 * precedence, as in the libraries; then come generation_config.json and config.json.
 */
#include "base/clean.h"
#include "import/vocabulary.h"
#include <stdio.h>

#define PREFIX   "tokenizer.ggml."
#define TEMPLATE "tokenizer.chat_template"

uint32_t vocabulary_find(const struct vocabulary *vocabulary, const char *text, size_t n)
{
    const union map_value *value = map_find_bytes(&vocabulary->by_text, text, n);

    return value ? (uint32_t)value->number : VOCABULARY_NONE;
}

/* Returns the token under @key of tokenizer_config.json, a text or an object with one. */
static uint32_t find_named(const struct vocabulary *vocabulary, const char *key)
{
    const json_t *token = json_object_get(vocabulary->import->folder->tokenizer_config, key);

    if (json_is_object(token)) {
        token = json_object_get(token, "content");
    }
    return json_is_string(token) ? vocabulary_find(vocabulary, json_string_value(token), json_string_length(token))
                                 : VOCABULARY_NONE;
}

/* Returns number @i of the ids under @key of @config, which is one id or a list. */
static uint32_t find_number(const struct vocabulary *vocabulary, const json_t *config, const char *key, size_t i)
{
    const json_t *value = json_object_get(config, key);
    uint64_t id;

    if (json_is_array(value)) {
        value = json_array_get(value, i);
    } else if (i > 0) {
        return VOCABULARY_NONE;
    }
    return json_count(value, &id) && id < vocabulary->n ? (uint32_t)id : VOCABULARY_NONE;
}

static uint32_t find_id(const struct vocabulary *vocabulary, const char *name, const char *number)
{
    const struct folder *folder = vocabulary->import->folder;
    uint32_t id = find_named(vocabulary, name);

    if (id == VOCABULARY_NONE) {
        id = find_number(vocabulary, folder->generation, number, 0);
    }
    if (id == VOCABULARY_NONE) {
        id = find_number(vocabulary, folder->text, number, 0);
    }
    return id != VOCABULARY_NONE ? id : find_number(vocabulary, folder->config, number, 0);
}

static void put_id(const struct vocabulary *vocabulary, const char *key, uint32_t id)
{
    if (id != VOCABULARY_NONE) {
        gguf_put_u32(vocabulary->import->writer, key, id);
    }
}

/* Puts the further ends of an answer: of a turn, and of a message that continues. */
static void put_ends(const struct vocabulary *vocabulary, uint32_t eos)
{
    static const char *const keys[] = { PREFIX "eot_token_id", PREFIX "eom_token_id" };
    const json_t *generation = vocabulary->import->folder->generation;
    size_t n_put = 0;

    for (size_t i = 0; i < json_array_size(json_object_get(generation, "eos_token_id")); i++) {
        const uint32_t id = find_number(vocabulary, generation, "eos_token_id", i);

        if (id != VOCABULARY_NONE && id != eos && n_put < COUNTOF(keys)) {
            put_id(vocabulary, keys[n_put++], id);
        }
    }
}

int vocabulary_put_ids(struct vocabulary *vocabulary)
{
    const uint32_t eos = find_id(vocabulary, "eos_token", "eos_token_id");
    const char *unknown = json_string_value(json_object_get(vocabulary->model, "unk_token"));

    put_id(vocabulary, PREFIX "bos_token_id", find_id(vocabulary, "bos_token", "bos_token_id"));
    put_id(vocabulary, PREFIX "eos_token_id", eos);
    put_id(vocabulary, PREFIX "padding_token_id", find_id(vocabulary, "pad_token", "pad_token_id"));
    if (unknown) {
        put_id(vocabulary, PREFIX "unknown_token_id", vocabulary_find(vocabulary, unknown, strlen(unknown)));
    }
    put_ends(vocabulary, eos);
    return IMPORT_OK;
}

/* ---- tokens around a text ---- */

/* True if @processor, or a part of its sequence, puts the token @bos in front of a text. */
static bool puts_bos(const struct vocabulary *vocabulary, const json_t *processor, uint32_t bos, unsigned depth)
{
    const json_t *parts = json_object_get(processor, "processors");
    const json_t *first = json_array_get(json_object_get(processor, "single"), 0);
    const json_t *name = json_object_get(json_object_get(first, "SpecialToken"), "id");

    for (size_t i = 0; depth == 0 && i < json_array_size(parts); i++) {
        if (puts_bos(vocabulary, json_array_get(parts, i), bos, depth + 1)) {
            return true;
        }
    }
    return json_is_string(name) && bos != VOCABULARY_NONE &&
           vocabulary_find(vocabulary, json_string_value(name), json_string_length(name)) == bos;
}

/* True if a blank is put in front of a text: by the normalizer in older files, or by a step of its own. */
static bool puts_blank(const json_t *tokenizer)
{
    const json_t *normalizer = json_object_get(tokenizer, "normalizer");
    const json_t *parts = json_object_get(normalizer, "normalizers");
    const json_t *pre = json_object_get(tokenizer, "pre_tokenizer");

    for (size_t i = 0; i < json_array_size(parts); i++) {
        if (json_says(json_array_get(parts, i), "type", "Prepend")) {
            return true;
        }
    }
    return json_says(normalizer, "type", "Prepend") ||
           (json_says(pre, "type", "Metaspace") && !json_says(pre, "prepend_scheme", "never") &&
            !json_is_false(json_object_get(pre, "add_prefix_space")));
}

int vocabulary_put_flags(struct vocabulary *vocabulary)
{
    const struct folder *folder = vocabulary->import->folder;
    const uint32_t bos = find_id(vocabulary, "bos_token", "bos_token_id");
    bool adds_bos = puts_bos(vocabulary, json_object_get(folder->tokenizer, "post_processor"), bos, 0);
    bool adds_eos = false;

    if (json_get_bool(folder->tokenizer_config, "add_bos_token", &adds_bos, vocabulary->diag) == JSON_WRONG ||
        json_get_bool(folder->tokenizer_config, "add_eos_token", &adds_eos, vocabulary->diag) == JSON_WRONG) {
        return IMPORT_REFUSED;
    }
    gguf_put_bool(vocabulary->import->writer, PREFIX "add_bos_token", adds_bos && bos != VOCABULARY_NONE);
    if (adds_eos) {
        gguf_put_bool(vocabulary->import->writer, PREFIX "add_eos_token", true);
    }
    if (!vocabulary->is_bytes) {
        gguf_put_bool(vocabulary->import->writer, PREFIX "add_space_prefix", puts_blank(folder->tokenizer));
    }
    return IMPORT_OK;
}

/* ---- templates ---- */

static void put_named(const struct vocabulary *vocabulary, const json_t *item)
{
    const char *name = json_string_value(json_object_get(item, "name"));
    const json_t *text = json_object_get(item, "template");
    char key[96];

    if (!name || !json_is_string(text) || strlen(name) > 32) {
        return;
    }
    if (strcmp(name, "default") == 0) {
        gguf_put_text(vocabulary->import->writer, TEMPLATE, json_string_value(text), json_string_length(text));
        return;
    }
    snprintf(key, sizeof(key), TEMPLATE ".%s", name);
    gguf_put_text(vocabulary->import->writer, key, json_string_value(text), json_string_length(text));
}

int vocabulary_put_templates(struct vocabulary *vocabulary)
{
    const struct folder *folder = vocabulary->import->folder;
    const json_t *text = json_object_get(folder->tokenizer_config, "chat_template");

    if (folder->template_file) {
        gguf_put_text(vocabulary->import->writer, TEMPLATE, folder->template_file, folder->n_template);
    } else if (json_is_string(text)) {
        gguf_put_text(vocabulary->import->writer, TEMPLATE, json_string_value(text), json_string_length(text));
    }
    for (size_t i = 0; i < json_array_size(text); i++) {
        put_named(vocabulary, json_array_get(text, i));
    }
    return IMPORT_OK;
}
