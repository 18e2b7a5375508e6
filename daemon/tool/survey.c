/*
 * Survey: the steps, one function each
 */
#include "tool/survey.h"
#include "base/err.h"
#include "base/mem.h"
#include "model/model.h"
#include "text/chat.h"
#include <stdio.h>
#include <string.h>

static bool is_named(const struct gguf_tensor *tensor, const char *name)
{
    return tensor->name.n == strlen(name) && memcmp(tensor->name.bytes, name, tensor->name.n) == 0;
}

const char *survey_use(const struct survey *survey, const struct gguf_tensor *tensor)
{
    if (!survey->has_params) {
        return "unknown";
    }
    return arch_find_row(survey->arch, &survey->params, tensor->name) ? "used" : "surplus";
}

/*
 * Sums sizes. A token reads every weight once, except the embedding, of which it reads a row; without an output tensor
 * the embedding is read as the output.
 */
static void weigh(struct survey *survey)
{
    bool has_output = gguf_find_tensor(survey->gguf, "output.weight") != NULL;

    for (size_t i = 0; i < gguf_n_tensors(survey->gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(survey->gguf, i);
        uint64_t n = tensor->dims[0] * tensor->dims[1] * tensor->dims[2] * tensor->dims[3];
        bool is_used = strcmp(survey_use(survey, tensor), "used") == 0;

        survey->n_elems += n;
        survey->n_bytes += tensor->n_bytes;
        if (tensor->type < ELEM_TYPE_COUNT) {
            survey->formats[tensor->type].n_tensors++;
            survey->formats[tensor->type].n_elems += n;
            survey->formats[tensor->type].n_bytes += tensor->n_bytes;
        }
        survey->n_surplus += survey->has_params && !is_used;
        if (is_used && is_named(tensor, "token_embd.weight") && has_output) {
            survey->n_passed += tensor->dims[1] ? tensor->n_bytes / tensor->dims[1] : 0;
        } else if (is_used) {
            survey->n_passed += tensor->n_bytes;
        }
    }
}

/* Binds the tensors to the backend that would run them, which checks names, shapes and types, but not data. */
static int try_bind(struct survey *survey, const uint8_t *map)
{
    static const struct exec_ops *const backends[] = { &exec_cpu, NULL };
    struct diag *diag = &survey->refusals[SURVEY_TENSORS];
    struct arch_weights weights = { .layers = NULL };
    struct exec_facts facts;
    struct exec *exec;
    int r =
        exec_open(&exec, &(struct exec_setup){ .backends = backends, .backend = "cpu", .cpu_mask = "", .n_threads = 1 },
                  diag);

    if (r) {
        return r < 0 ? err_up(r) : 0;
    }
    exec_facts(exec, &facts);
    snprintf(survey->backend, sizeof(survey->backend), "%s%s%s", facts.backend, *facts.set ? "/" : "", facts.set);
    if (survey->has_params) {
        r = arch_bind(survey->arch, &survey->params, survey->gguf, map, exec, &weights, diag);
        mem_free(weights.layers);
    }
    exec_close(exec);
    return r < 0 ? err_up(r) : 0;
}

static int try_vocab(struct survey *survey)
{
    struct diag *diag = &survey->refusals[SURVEY_TEMPLATE];
    struct chat *chat = NULL;
    int r = vocab_create(&survey->vocab, survey->gguf, &survey->refusals[SURVEY_VOCAB]);

    if (r) {
        return r < 0 ? err_up(r) : 0;
    }
    r = chat_create(&chat, survey->vocab, diag);
    chat_destroy(chat);
    return r < 0 ? err_up(r) : 0;
}

int survey_create(struct survey *survey, struct model_file *file)
{
    int r;

    *survey = (struct survey){ .gguf = file->gguf };
    if (!arch_find(file->gguf, &survey->arch, &survey->refusals[SURVEY_FAMILY])) {
        survey->has_params =
            arch_read_params(survey->arch, file->gguf, &survey->params, &survey->refusals[SURVEY_PARAMS]) == MODEL_OK;
    } else {
        survey->arch = NULL;
    }
    weigh(survey);
    r = model_file_map(file);
    if (!r) {
        r = try_bind(survey, file->map);
    }
    if (!r) {
        r = try_vocab(survey);
    }
    if (r) {
        survey_finish(survey);
        return err_up(r);
    }
    return 0;
}

void survey_finish(struct survey *survey)
{
    vocab_destroy(survey->vocab);
    survey->vocab = NULL;
}

bool survey_runs(const struct survey *survey)
{
    for (int step = 0; step < SURVEY_TEMPLATE; step++) {
        if (diag_is_set(&survey->refusals[step])) {
            return false;
        }
    }
    return true;
}

int survey_new_file(const char *path, bool must_run, uint64_t *ret_bytes, struct diag *diag)
{
    struct model_file file = { .fd = -1 };
    struct survey survey;
    int r = model_file_open(&file, path, diag);

    if (!r) {
        r = survey_create(&survey, &file);
    }
    if (r) {
        model_file_close(&file);
        return r;
    }
    *ret_bytes = survey.n_bytes;
    for (int step = 0; step < SURVEY_TEMPLATE && must_run; step++) {
        if (diag_is_set(&survey.refusals[step])) {
            diag_set(diag, "sotto would not run the new file: %s", survey.refusals[step].text);
            r = MODEL_FILE_REFUSED;
        }
    }
    survey_finish(&survey);
    model_file_close(&file);
    return r;
}

/* ---- keys and values ---- */

const struct kvsize kvsizes[KVSIZE_COUNT] = {
    { "f32", EXEC_KV_F32 },
    { "f16", EXEC_KV_F16 },
    { "q8", EXEC_KV_Q8 },
    { "q4", EXEC_KV_Q4 },
};

uint64_t kvsize_token(const struct kvsize *kvsize, const struct arch_params *params)
{
    const struct exec_kv_shape shape = { .n_layers = params->n_layers - params->n_recurrent,
                                         .n_kv_heads = params->n_kv_heads,
                                         .head_dim = params->head_dim,
                                         .format = kvsize->format };

    return exec_kv_page_bytes(&shape) / EXEC_PAGE_TOK;
}
