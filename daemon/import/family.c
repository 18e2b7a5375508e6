/*
 * Family: finding the row, and binding its tables to what is there
 *
 * Nothing is dropped in silence: a tensor of the language model that no row wants is as much a reason to refuse as one
 * that is missing, since a model with a part left out is another model.
 */
#include "import/family.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/map.h"
#include <errno.h>
#include <stdio.h>

static const struct family *const families[] = {
    &family_llama, &family_smollm3, &family_qwen2,  &family_qwen3, &family_qwen35,
    &family_gemma, &family_gemma2,  &family_gemma3, &family_phi3,
};

/* Where the language model's tensors lie: alone, or within a model that sees and hears as well. */
static const char *const prefixes[] = { "model.", "language_model.model.", "model.language_model." };

static const struct family_tensor ends[] = {
    { "embed_tokens.weight", "token_embd.weight", 0 },
    { "norm.weight", "output_norm.weight", FAMILY_FLOATS },
    { "lm_head.weight", "output.weight", FAMILY_OPTIONAL },
};
static const struct family_tensor ends_plus[] = {
    { "embed_tokens.weight", "token_embd.weight", 0 },
    { "norm.weight", "output_norm.weight", FAMILY_FLOATS | FAMILY_PLUS_ONE },
    { "lm_head.weight", "output.weight", FAMILY_OPTIONAL },
};
static const struct family_tensor attention[] = {
    { "self_attn.q_proj.weight", "attn_q.weight", FAMILY_LAYER },
    { "self_attn.k_proj.weight", "attn_k.weight", FAMILY_LAYER },
    { "self_attn.v_proj.weight", "attn_v.weight", FAMILY_LAYER },
    { "self_attn.o_proj.weight", "attn_output.weight", FAMILY_LAYER },
    { "self_attn.q_proj.bias", "attn_q.bias", FAMILY_LAYER | FAMILY_OPTIONAL },
    { "self_attn.k_proj.bias", "attn_k.bias", FAMILY_LAYER | FAMILY_OPTIONAL },
    { "self_attn.v_proj.bias", "attn_v.bias", FAMILY_LAYER | FAMILY_OPTIONAL },
    { "self_attn.o_proj.bias", "attn_output.bias", FAMILY_LAYER | FAMILY_OPTIONAL },
};
static const struct family_tensor pairs[] = {
    { "self_attn.q_proj.weight", "attn_q.weight", FAMILY_LAYER | FAMILY_PAIRS },
    { "self_attn.k_proj.weight", "attn_k.weight", FAMILY_LAYER | FAMILY_PAIRS },
    { "self_attn.v_proj.weight", "attn_v.weight", FAMILY_LAYER },
    { "self_attn.o_proj.weight", "attn_output.weight", FAMILY_LAYER },
    { "self_attn.q_proj.bias", "attn_q.bias", FAMILY_LAYER | FAMILY_OPTIONAL | FAMILY_PAIRS },
    { "self_attn.k_proj.bias", "attn_k.bias", FAMILY_LAYER | FAMILY_OPTIONAL | FAMILY_PAIRS },
    { "self_attn.v_proj.bias", "attn_v.bias", FAMILY_LAYER | FAMILY_OPTIONAL },
    { "self_attn.o_proj.bias", "attn_output.bias", FAMILY_LAYER | FAMILY_OPTIONAL },
};
static const struct family_tensor head_norms[] = {
    { "self_attn.q_norm.weight", "attn_q_norm.weight", FAMILY_LAYER | FAMILY_FLOATS },
    { "self_attn.k_norm.weight", "attn_k_norm.weight", FAMILY_LAYER | FAMILY_FLOATS },
};
static const struct family_tensor norms[] = {
    { "input_layernorm.weight", "attn_norm.weight", FAMILY_LAYER | FAMILY_FLOATS },
    { "post_attention_layernorm.weight", "ffn_norm.weight", FAMILY_LAYER | FAMILY_FLOATS },
};
static const struct family_tensor gated[] = {
    { "mlp.gate_proj.weight", "ffn_gate.weight", FAMILY_LAYER },
    { "mlp.up_proj.weight", "ffn_up.weight", FAMILY_LAYER },
    { "mlp.down_proj.weight", "ffn_down.weight", FAMILY_LAYER },
};

const struct family_table family_ends = { ends, COUNTOF(ends) };
const struct family_table family_ends_plus = { ends_plus, COUNTOF(ends_plus) };
const struct family_table family_attention = { attention, COUNTOF(attention) };
const struct family_table family_pairs = { pairs, COUNTOF(pairs) };
const struct family_table family_head_norms = { head_norms, COUNTOF(head_norms) };
const struct family_table family_norms = { norms, COUNTOF(norms) };
const struct family_table family_gated = { gated, COUNTOF(gated) };

const struct family *family_find(const struct folder *folder, struct diag *diag)
{
    const char *type = json_string_value(json_object_get(folder->text, "model_type"));

    if (!type) {
        type = json_string_value(json_object_get(folder->config, "model_type"));
    }
    for (size_t i = 0; type && i < COUNTOF(families); i++) {
        for (size_t k = 0; k < FAMILY_TYPES_MAX && families[i]->types[k]; k++) {
            if (strcmp(families[i]->types[k], type) == 0) {
                return families[i];
            }
        }
    }
    diag_blame(diag, "model_type",
               "config.json: model_type \"%.40s\" is not known; there are llama, mistral, smollm3, qwen2, "
               "qwen3, gemma, "
               "gemma2, gemma3_text and phi3",
               type ? type : "");
    return NULL;
}

/* ---- binding ---- */

/* What is looked for, and what was found so far. */
struct binding {
    struct import *import;
    struct diag *diag;
    struct map used; /* names in the folder */
    char first_missing[160];
    size_t n_missing;
};

static void use(struct binding *binding, const struct st_tensor *tensor, int *fault)
{
    const int r = map_put_bytes(&binding->used, tensor->name, strlen(tensor->name), (union map_value){ .number = 1 });

    if (r < 0) {
        *fault = r;
    }
}

/* The packed form of "X.weight" in the folder, into @source. */
static bool find_packed(const struct import *import, const char *name, struct import_source *source)
{
    const size_t n = strlen(name);
    char part[256];

    if (import->awq_group == 0 || n < 6 || n > sizeof(part) - 8 || strcmp(name + n - 6, "weight") != 0) {
        return false;
    }
    memcpy(part, name, n);
    memcpy(part + n - 6, "qweight", 8);
    source->stored = folder_find(import->folder, part);
    memcpy(part + n - 6, "qzeros", 7);
    source->zeros = folder_find(import->folder, part);
    memcpy(part + n - 6, "scales", 7);
    source->scales = folder_find(import->folder, part);
    source->kind = SOURCE_AWQ;
    source->group = import->awq_group;
    return source->stored && source->zeros && source->scales;
}

static int bind_one(struct binding *binding, const struct family_tensor *row, const char *from, const char *to)
{
    struct import *import = binding->import;
    struct import_source source = { .kind = SOURCE_STORED, .stored = folder_find(import->folder, from) };
    struct import_entry *entry;
    int fault = 0;

    if (!source.stored && !find_packed(import, from, &source)) {
        if (!(row->flags & FAMILY_OPTIONAL) && binding->n_missing++ == 0) {
            snprintf(binding->first_missing, sizeof(binding->first_missing), "%s", from);
        }
        return IMPORT_OK;
    }
    if (row->flags & FAMILY_PAIRS) {
        source.rows = (struct shuffle){ .n_outer = 2, .n_inner = import->facts.head_dim / 2, .n_unit = 1 };
    }
    if (import->family->place) {
        import->family->place(import, row, &source);
    }
    source.plus_one = row->flags & FAMILY_PLUS_ONE;
    entry = import_add(import, to);
    if (!entry) {
        return err_new(-ENOMEM);
    }
    entry->source = source;
    entry->tensor.from = source.stored->name;
    entry->tensor.is_floats = row->flags & FAMILY_FLOATS;
    use(binding, source.stored, &fault);
    if (source.kind == SOURCE_AWQ) {
        use(binding, source.zeros, &fault);
        use(binding, source.scales, &fault);
    }
    return fault ? err_up(fault) : source_check(import, entry, binding->diag);
}

/* "lm_head" stands beside the model, not in it. */
static void name_in_folder(const struct import *import, const char *from, char *out, size_t cap)
{
    const bool is_beside = strncmp(from, "lm_head", 7) == 0;
    const char *head = strcmp(import->prefix, prefixes[1]) == 0 ? "language_model." : "";

    snprintf(out, cap, "%s%s", is_beside ? head : import->prefix, from);
}

static int bind_ends(struct binding *binding, const struct family_table *table)
{
    char from[256];

    for (size_t i = 0; i < table->n; i++) {
        const struct family_tensor *row = &table->rows[i];
        int r = IMPORT_OK;

        name_in_folder(binding->import, row->from, from, sizeof(from));
        if (row->flags & FAMILY_LAYER) {
            continue;
        }
        if (binding->import->facts.is_tied && strcmp(row->to, "output.weight") == 0) {
            const struct st_tensor *again = folder_find(binding->import->folder, from);

            /* A second copy of the embedding under another name. */
            if (again) {
                use(binding, again, &r);
            }
        } else {
            r = bind_one(binding, row, from, row->to);
        }
        if (r) {
            return r;
        }
    }
    return IMPORT_OK;
}

static int bind_layer(struct binding *binding, const struct family_table *table, uint32_t layer)
{
    const struct family *family = binding->import->family;
    char from[256];
    char to[IMPORT_NAME_BYTES];

    for (size_t i = 0; i < table->n; i++) {
        const struct family_tensor *row = &table->rows[i];
        int r;

        if (!(row->flags & FAMILY_LAYER) || (family->has && !family->has(binding->import, row, layer))) {
            continue;
        }
        snprintf(from, sizeof(from), "%slayers.%u.%s", binding->import->prefix, layer, row->from);
        snprintf(to, sizeof(to), "blk.%u.%s", layer, row->to);
        r = bind_one(binding, row, from, to);
        if (r) {
            return r;
        }
    }
    return IMPORT_OK;
}

static bool ends_with(const char *name, const char *end)
{
    const size_t n = strlen(name);

    return n >= strlen(end) && strcmp(name + n - strlen(end), end) == 0;
}

/* What the next token does not depend on: old writers kept what follows from the configuration, and some models come
 * with heads that guess tokens further ahead. */
static bool is_idle(const char *name)
{
    return ends_with(name, "rotary_emb.inv_freq") || strncmp(name, "mtp.", 4) == 0;
}

/* True if @name is of the language model, and no other part of a larger one. */
static bool is_ours(const struct import *import, const char *name)
{
    return strncmp(name, import->prefix, strlen(import->prefix)) == 0 || strstr(name, "lm_head") ||
           strcmp(import->prefix, prefixes[0]) == 0;
}

static int refuse_surplus(const struct binding *binding)
{
    const struct folder *folder = binding->import->folder;

    for (size_t i = 0; i < folder->n_shards; i++) {
        for (size_t k = 0; k < st_n_tensors(folder->shards[i]); k++) {
            const char *name = st_tensor_at(folder->shards[i], k)->name;

            if (!map_find_bytes(&binding->used, name, strlen(name)) && is_ours(binding->import, name) &&
                !is_idle(name)) {
                diag_set(binding->diag,
                         "tensor %.100s has no place in the family %s: leaving it out would make another model", name,
                         binding->import->family->arch);
                return IMPORT_REFUSED;
            }
        }
    }
    return IMPORT_OK;
}

static int bind_all(struct binding *binding)
{
    const struct family_table *const *tables = binding->import->family->tables;
    int r = IMPORT_OK;

    for (size_t i = 0; !r && tables[i]; i++) {
        r = bind_ends(binding, tables[i]);
    }
    for (uint32_t layer = 0; !r && layer < binding->import->facts.n_layers && binding->n_missing == 0; layer++) {
        for (size_t i = 0; !r && tables[i]; i++) {
            r = bind_layer(binding, tables[i], layer);
        }
    }
    if (!r && binding->n_missing > 0) {
        diag_set(binding->diag, "the folder lacks tensor %s%s", binding->first_missing,
                 binding->n_missing > 1 ? " and others" : "");
        return IMPORT_REFUSED;
    }
    return r ? r : refuse_surplus(binding);
}

static const char *find_prefix(const struct folder *folder)
{
    char name[64];

    for (size_t i = 0; i < COUNTOF(prefixes); i++) {
        snprintf(name, sizeof(name), "%sembed_tokens.weight", prefixes[i]);
        if (folder_find(folder, name)) {
            return prefixes[i];
        }
    }
    return NULL;
}

int family_bind(struct import *import, struct diag *diag)
{
    struct binding binding = { .import = import, .diag = diag };
    int r;

    import->prefix = find_prefix(import->folder);
    if (!import->prefix) {
        diag_set(diag, "the folder has no tensor model.embed_tokens.weight: is it a language model?");
        return IMPORT_REFUSED;
    }
    map_init(&binding.used, MEM_FILE);
    r = bind_all(&binding);
    map_finish(&binding.used);
    return r;
}
