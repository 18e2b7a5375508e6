/*
 * Inspect text: a survey for people: file, model, vocabulary, keys, tensors, and the verdict
 */
#include "tool/inspect.h"
#include <inttypes.h>
#include <string.h>

#define SPECIAL_MAX 12 /* control tokens that are shown */

static void put(FILE *out, struct gguf_text text)
{
    tool_put_text(out, text.bytes, text.n);
}

static void show_sizes(const struct survey *survey, FILE *out)
{
    char text[TOOL_BYTES];

    fprintf(out, "parameters  %" PRIu64 " in %zu tensors, %s\n", survey->n_elems, gguf_n_tensors(survey->gguf),
            tool_bytes(survey->n_bytes, text));
    for (uint32_t type = 0; type < ELEM_TYPE_COUNT; type++) {
        const struct survey_format *format = &survey->formats[type];

        if (format->n_tensors > 0) {
            fprintf(out, "  %-9s %" PRIu64 " in %" PRIu64 " tensor%s, %s\n", elem_info(type)->name, format->n_elems,
                    format->n_tensors, format->n_tensors == 1 ? "" : "s", tool_bytes(format->n_bytes, text));
        }
    }
}

static void show_model(const struct survey *survey, FILE *out)
{
    const struct arch_params *params = &survey->params;
    char text[TOOL_BYTES];

    if (!survey->has_params) {
        return;
    }
    fprintf(out, "family      %s: %u layers of %u columns, %u heads of %u, %u KV heads, feed-forward %u\n",
            survey->arch->name, params->n_layers, params->n_embd, params->n_heads, params->head_dim, params->n_kv_heads,
            params->n_ff);
    fprintf(out, "context     %u tokens in training\n", params->n_trained);
    fputs("KV/token  ", out);
    for (size_t i = 0; i < KVSIZE_COUNT; i++) {
        uint64_t n = kvsize_token(&kvsizes[i], params);

        if (n > 0) {
            fprintf(out, "%s %s %s", i ? "," : " ", kvsizes[i].name, tool_bytes(n, text));
        }
    }
    fprintf(out, "\nreads       %s of weights for each token\n", tool_bytes(survey->n_passed, text));
}

/* Shows the first control tokens. */
static void show_special(const struct vocab *vocab, FILE *out)
{
    uint32_t n = 0;

    for (uint32_t id = 0; id < vocab_n(vocab); id++) {
        if (vocab_type(vocab, id) == TOKEN_CONTROL && n++ < SPECIAL_MAX) {
            fprintf(out, "%s%u ", n == 1 ? "control     " : ", ", id);
            put(out, vocab_text(vocab, id));
        }
    }
    if (n > SPECIAL_MAX) {
        fprintf(out, ", and %u more", n - SPECIAL_MAX);
    }
    fputs(n ? "\n" : "", out);
}

static void show_vocab(const struct survey *survey, FILE *out)
{
    const struct vocab *vocab = survey->vocab;
    struct gguf_text pre = { .n = 0 };
    const char *separator = "ends        ";

    if (!vocab) {
        return;
    }
    (void)gguf_get_text(survey->gguf, "tokenizer.ggml.pre", &pre, NULL);
    fprintf(out, "vocabulary  %u tokens, %s", vocab_n(vocab),
            vocab->kind == VOCAB_SPM ? "SentencePiece BPE" : "byte-level BPE");
    fputs(pre.n && vocab->kind == VOCAB_BPE ? ", split as " : "", out);
    if (vocab->kind == VOCAB_BPE) {
        put(out, pre);
    }
    fputs(vocab_adds_bos(vocab) ? ", BOS before a text\n" : "\n", out);
    if (vocab_bos(vocab) != VOCAB_NO_ID) {
        fprintf(out, "begins      %u ", vocab_bos(vocab));
        put(out, vocab_text(vocab, vocab_bos(vocab)));
        fputs("\n", out);
    }
    for (size_t i = 0; i < vocab->n_ends; i++) {
        fprintf(out, "%s%u ", separator, vocab->ends[i]);
        put(out, vocab_text(vocab, vocab->ends[i]));
        separator = ", ";
    }
    fputs(vocab->n_ends ? "\n" : "", out);
    show_special(vocab, out);
    if (vocab_chat_template(vocab).n == 0) {
        fputs("template    none\n", out);
    } else {
        const struct diag *diag = &survey->refusals[SURVEY_TEMPLATE];

        fprintf(out, "template    %s%s\n", diag_is_set(diag) ? "not understood: " : "understood", diag->text);
    }
}

static void show_keys(const struct survey *survey, FILE *out)
{
    fprintf(out, "\n%zu keys\n", gguf_n_keys(survey->gguf));
    for (size_t i = 0; i < gguf_n_keys(survey->gguf); i++) {
        const struct gguf_key *key = gguf_key_at(survey->gguf, i);

        fputs("  ", out);
        put(out, key->name);
        fprintf(out, " (%s%s) ", inspect_type_name(key->type == GGUF_ARRAY ? key->elem : key->type),
                key->type == GGUF_ARRAY ? "s" : "");
        inspect_put_value(key, out);
        fputs("\n", out);
    }
}

static void show_tensors(const struct survey *survey, FILE *out)
{
    fprintf(out, "\n%zu tensors\n", gguf_n_tensors(survey->gguf));
    for (size_t i = 0; i < gguf_n_tensors(survey->gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(survey->gguf, i);
        const struct elem_info *info = elem_info(tensor->type);
        char dims[96];
        int n = 0;

        for (uint32_t d = 0; d < tensor->n_dims; d++) {
            n += snprintf(dims + n, sizeof(dims) - (size_t)n, "%s%" PRIu64, d ? " x " : "", tensor->dims[d]);
        }
        fprintf(out, "  %-7s %-6s %-18s %12" PRIu64 "  ", survey_use(survey, tensor), info ? info->name : "?", dims,
                tensor->n_bytes);
        put(out, tensor->name);
        fputs(tensor->in_panels ? " (in panels)\n" : "\n", out);
    }
}

static void show_verdict(const struct survey *survey, FILE *out)
{
    fputs("\n", out);
    if (survey->n_surplus > 0) {
        fprintf(out, "%" PRIu64 " tensors are surplus: the family does not read them\n", survey->n_surplus);
    }
    if (survey_runs(survey)) {
        fprintf(out, "sotto runs it: family %s on %s\n", survey->arch->name, survey->backend);
        return;
    }
    fputs("sotto does not run it:\n", out);
    for (int step = 0; step < SURVEY_TEMPLATE; step++) {
        if (diag_is_set(&survey->refusals[step])) {
            fprintf(out, "  %s\n", survey->refusals[step].text);
        }
    }
}

void inspect_text(const struct model_file *file, const struct survey *survey, FILE *out)
{
    struct gguf_text name;
    char text[TOOL_BYTES];

    fprintf(out, "file        %s: GGUF %u, %s\n", file->path, gguf_version(file->gguf),
            tool_bytes(gguf_file_bytes(file->gguf), text));
    if (gguf_get_text(file->gguf, "general.name", &name, NULL) == GGUF_GOT) {
        fputs("name        ", out);
        put(out, name);
        fputs("\n", out);
    }
    show_model(survey, out);
    show_sizes(survey, out);
    show_vocab(survey, out);
    show_keys(survey, out);
    show_tensors(survey, out);
    show_verdict(survey, out);
}
