/*
 * Inspect JSON: a survey for programs; without memory members are missing, but nothing crashes
 */
#include "tool/inspect.h"
#include <string.h>

static json_t *text_of(struct gguf_text text)
{
    return tool_text(text.bytes, text.n);
}

static json_t *string(const char *text)
{
    return tool_text(text, strlen(text));
}

static json_t *keys_of(const struct gguf *gguf)
{
    json_t *array = json_array();

    for (size_t i = 0; i < gguf_n_keys(gguf); i++) {
        const struct gguf_key *key = gguf_key_at(gguf, i);
        json_t *object = json_object();
        json_t *value = inspect_value(key);

        json_object_set_new(object, "key", text_of(key->name));
        json_object_set_new(object, "type", json_string(inspect_type_name(key->type)));
        if (key->type == GGUF_ARRAY) {
            json_object_set_new(object, "element", json_string(inspect_type_name(key->elem)));
            json_object_set_new(object, "length", tool_number(key->n));
        }
        if (value) {
            json_object_set_new(object, "value", value);
        }
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *tensors_of(const struct survey *survey)
{
    json_t *array = json_array();

    for (size_t i = 0; i < gguf_n_tensors(survey->gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(survey->gguf, i);
        json_t *object = json_object();
        json_t *dims = json_array();

        for (uint32_t d = 0; d < tensor->n_dims; d++) {
            json_array_append_new(dims, tool_number(tensor->dims[d]));
        }
        json_object_set_new(object, "name", text_of(tensor->name));
        json_object_set_new(object, "type", json_string(elem_info(tensor->type)->name));
        json_object_set_new(object, "in_panels", json_boolean(tensor->in_panels));
        json_object_set_new(object, "dims", dims);
        json_object_set_new(object, "bytes", tool_number(tensor->n_bytes));
        json_object_set_new(object, "offset", tool_number(tensor->offset));
        json_object_set_new(object, "use", json_string(survey_use(survey, tensor)));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *formats_of(const struct survey *survey)
{
    json_t *formats = json_object();

    for (uint32_t type = 0; type < ELEM_TYPE_COUNT; type++) {
        const struct survey_format *format = &survey->formats[type];

        if (format->n_tensors > 0) {
            json_t *object = json_object();

            json_object_set_new(object, "tensors", tool_number(format->n_tensors));
            json_object_set_new(object, "elements", tool_number(format->n_elems));
            json_object_set_new(object, "bytes", tool_number(format->n_bytes));
            json_object_set_new(formats, elem_info(type)->name, object);
        }
    }
    return formats;
}

static json_t *model_of(const struct survey *survey)
{
    const struct arch_params *params = &survey->params;
    json_t *object = json_object();
    json_t *kv = json_object();

    for (size_t i = 0; i < KVSIZE_COUNT; i++) {
        uint64_t n = kvsize_token(&kvsizes[i], params);

        if (n > 0) {
            json_object_set_new(kv, kvsizes[i].name, tool_number(n));
        }
    }
    json_object_set_new(object, "family", json_string(survey->arch->name));
    json_object_set_new(object, "layers", tool_number(params->n_layers));
    json_object_set_new(object, "columns", tool_number(params->n_embd));
    json_object_set_new(object, "heads", tool_number(params->n_heads));
    json_object_set_new(object, "kv_heads", tool_number(params->n_kv_heads));
    json_object_set_new(object, "head_size", tool_number(params->head_dim));
    json_object_set_new(object, "feed_forward", tool_number(params->n_ff));
    json_object_set_new(object, "context_tokens", tool_number(params->n_trained));
    json_object_set_new(object, "kv_bytes_per_token", kv);
    json_object_set_new(object, "weight_bytes_per_token", tool_number(survey->n_passed));
    return object;
}

static json_t *token_of(const struct vocab *vocab, uint32_t id)
{
    json_t *object = json_object();

    json_object_set_new(object, "id", tool_number(id));
    json_object_set_new(object, "text", text_of(vocab_text(vocab, id)));
    return object;
}

static json_t *vocabulary_of(const struct survey *survey)
{
    const struct vocab *vocab = survey->vocab;
    json_t *object = json_object();
    json_t *ends = json_array();
    json_t *control = json_array();
    struct gguf_text pre;

    for (size_t i = 0; i < vocab->n_ends; i++) {
        json_array_append_new(ends, token_of(vocab, vocab->ends[i]));
    }
    for (uint32_t id = 0; id < vocab_n(vocab); id++) {
        if (vocab_type(vocab, id) == TOKEN_CONTROL) {
            json_array_append_new(control, token_of(vocab, id));
        }
    }
    json_object_set_new(object, "kind", json_string(vocab->kind == VOCAB_SPM ? "sentencepiece" : "byte-level-bpe"));
    if (gguf_get_text(survey->gguf, "tokenizer.ggml.pre", &pre, NULL) == GGUF_GOT) {
        json_object_set_new(object, "split", text_of(pre));
    }
    json_object_set_new(object, "tokens", tool_number(vocab_n(vocab)));
    json_object_set_new(object, "adds_bos", json_boolean(vocab_adds_bos(vocab)));
    if (vocab_bos(vocab) != VOCAB_NO_ID) {
        json_object_set_new(object, "bos", token_of(vocab, vocab_bos(vocab)));
    }
    json_object_set_new(object, "ends", ends);
    json_object_set_new(object, "control", control);
    return object;
}

static json_t *template_of(const struct survey *survey)
{
    const struct diag *diag = &survey->refusals[SURVEY_TEMPLATE];
    bool is_there = vocab_chat_template(survey->vocab).n > 0;
    json_t *object = json_object();

    json_object_set_new(object, "present", json_boolean(is_there));
    json_object_set_new(object, "understood", json_boolean(is_there && !diag_is_set(diag)));
    if (is_there && diag_is_set(diag)) {
        json_object_set_new(object, "reason", string(diag->text));
    }
    return object;
}

static json_t *verdict_of(const struct survey *survey)
{
    json_t *object = json_object();
    json_t *refusals = json_array();

    for (int step = 0; step < SURVEY_TEMPLATE; step++) {
        if (diag_is_set(&survey->refusals[step])) {
            json_array_append_new(refusals, string(survey->refusals[step].text));
        }
    }
    json_object_set_new(object, "runs", json_boolean(survey_runs(survey)));
    json_object_set_new(object, "backend", string(survey->backend));
    json_object_set_new(object, "refusals", refusals);
    return object;
}

json_t *inspect_json(const struct model_file *file, const struct survey *survey)
{
    json_t *object = json_object();

    json_object_set_new(object, "file", string(file->path));
    json_object_set_new(object, "bytes", tool_number(gguf_file_bytes(file->gguf)));
    json_object_set_new(object, "version", tool_number(gguf_version(file->gguf)));
    json_object_set_new(object, "parameters", tool_number(survey->n_elems));
    json_object_set_new(object, "tensor_bytes", tool_number(survey->n_bytes));
    json_object_set_new(object, "formats", formats_of(survey));
    json_object_set_new(object, "model", survey->has_params ? model_of(survey) : json_null());
    json_object_set_new(object, "vocabulary", survey->vocab ? vocabulary_of(survey) : json_null());
    json_object_set_new(object, "template", survey->vocab ? template_of(survey) : json_null());
    json_object_set_new(object, "verdict", verdict_of(survey));
    json_object_set_new(object, "keys", keys_of(file->gguf));
    json_object_set_new(object, "tensors", tensors_of(survey));
    return object;
}
