/*
 * The numbers of config.json that all families have, and their keys in GGUF.
 */
#include "base/clean.h"
#include "base/err.h"
#include "import/family.h"
#include <limits.h>
#include <stdlib.h>

/* The size of a head times the heads must fit a row; model/params.c has the ranges. */
#define COUNT_MAX (1u << 24)

static int read_count(const json_t *config, const char *name, uint32_t *ret, struct diag *diag)
{
    const int r = json_get_u32(config, name, ret, diag);

    if (r == JSON_NONE) {
        diag_blame(diag, name, "config.json: \"%s\" is missing", name);
    }
    if (r == JSON_GOT && (*ret == 0 || *ret > COUNT_MAX)) {
        diag_blame(diag, name, "config.json: \"%s\" is %u; it must lie between 1 and %u", name, *ret, COUNT_MAX);
        return IMPORT_REFUSED;
    }
    return r ? IMPORT_REFUSED : IMPORT_OK;
}

static int read_facts(struct import *import, struct diag *diag)
{
    const json_t *config = import->folder->text;
    struct import_facts *facts = &import->facts;

    if (read_count(config, "num_hidden_layers", &facts->n_layers, diag) ||
        read_count(config, "hidden_size", &facts->n_embd, diag) ||
        read_count(config, "intermediate_size", &facts->n_ff, diag) ||
        read_count(config, "num_attention_heads", &facts->n_heads, diag) ||
        read_count(config, "max_position_embeddings", &facts->n_trained, diag)) {
        return IMPORT_REFUSED;
    }
    facts->n_kv_heads = facts->n_heads;
    facts->head_dim = facts->n_embd / facts->n_heads;
    if (json_get_u32(config, "num_key_value_heads", &facts->n_kv_heads, diag) == JSON_WRONG ||
        json_get_u32(config, "head_dim", &facts->head_dim, diag) == JSON_WRONG) {
        return IMPORT_REFUSED;
    }
    if (facts->head_dim == 0 || facts->head_dim % 2 != 0 || facts->head_dim > COUNT_MAX) {
        diag_set(diag, "config.json: heads of %u elements can't rotate in pairs", facts->head_dim);
        return IMPORT_REFUSED;
    }
    return IMPORT_OK;
}

/* A model is tied if config.json says so, or if it says nothing and its family is. */
static int read_tie(struct import *import, struct diag *diag)
{
    static const char key[] = "tie_word_embeddings";
    const struct folder *folder = import->folder;

    import->facts.is_tied = strncmp(import->family->arch, "gemma", 5) == 0;
    if (json_get_bool(folder->config, key, &import->facts.is_tied, diag) == JSON_WRONG ||
        json_get_bool(folder->text, key, &import->facts.is_tied, diag) == JSON_WRONG) {
        return IMPORT_REFUSED;
    }
    return IMPORT_OK;
}

/* Refuses a gate with another function than the family's, since the model's answers would be garbled silently. */
static int check_activation(const struct import *import, struct diag *diag)
{
    const bool is_gemma = strncmp(import->family->arch, "gemma", 5) == 0;
    const char *name = NULL;

    if (json_get_text(import->folder->text, is_gemma ? "hidden_activation" : "hidden_act", &name, diag) == JSON_WRONG) {
        return IMPORT_REFUSED;
    }
    if (name && strcmp(name, is_gemma ? "gelu_pytorch_tanh" : "silu") != 0) {
        diag_blame(diag, "hidden_act", "config.json: the activation %.40s is not that of the family %s", name,
                   import->family->arch);
        return IMPORT_REFUSED;
    }
    return IMPORT_OK;
}

static void put_name(struct import *import)
{
    const char *name = json_string_value(json_object_get(import->folder->config, "_name_or_path"));
    char real[PATH_MAX];

    /* The name of the folder is better than _name_or_path, which may be a path on another machine. */
    if (realpath(import->folder->path, real) && strrchr(real, '/')[1]) {
        name = strrchr(real, '/') + 1;
    }
    if (name && *name) {
        gguf_put_text(import->writer, "general.name", name, strlen(name));
    }
}

static void put_counts(struct import *import)
{
    const struct import_facts *facts = &import->facts;
    const struct {
        const char *suffix;
        uint32_t value;
    } rows[] = {
        { "block_count", facts->n_layers },          { "context_length", facts->n_trained },
        { "embedding_length", facts->n_embd },       { "feed_forward_length", facts->n_ff },
        { "attention.head_count", facts->n_heads },  { "attention.head_count_kv", facts->n_kv_heads },
        { "attention.key_length", facts->head_dim }, { "attention.value_length", facts->head_dim },
    };

    for (size_t i = 0; i < COUNTOF(rows); i++) {
        gguf_put_u32(import->writer, import_key(import, rows[i].suffix), rows[i].value);
    }
}

int family_common(struct import *import, struct diag *diag)
{
    const char *arch = import->family->arch;
    float eps = 0.0f;

    if (read_facts(import, diag) || read_tie(import, diag) || check_activation(import, diag)) {
        return IMPORT_REFUSED;
    }
    if (json_get_f32(import->folder->text, "rms_norm_eps", &eps, diag) || eps < 0.0f) {
        diag_blame(diag, "rms_norm_eps", "config.json: \"rms_norm_eps\" is missing or below 0");
        return IMPORT_REFUSED;
    }
    gguf_put_text(import->writer, "general.architecture", arch, strlen(arch));
    gguf_put_text(import->writer, "general.type", "model", 5);
    put_name(import);
    put_counts(import);
    gguf_put_f32(import->writer, import_key(import, "attention.layer_norm_rms_epsilon"), eps);
    return IMPORT_OK;
}
