/*
 * Finding the family of a folder, and binding its tables to the tensors of the folder
 *
 * No tensor is dropped silently: a tensor of the language model that no row names is refused like one that is missing,
 * since a model without one of its parts is another model.
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

/* Prefixes of the language model's tensors: alone, or inside a multimodal model. */
static const char *const prefixes[] = { "model.", "language_model.model.", "model.language_model." };

static const struct family *refuse(const char *type, struct diag *diag)
{
    char known[192];
    size_t used = 0;

    for (size_t i = 0; i < COUNTOF(families); i++) {
        for (size_t k = 0; k < FAMILY_TYPES_MAX && families[i]->types[k] && used < sizeof(known); k++) {
            used +=
                (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "", families[i]->types[k]);
        }
    }
    diag_blame(diag, "model_type", "config.json: model_type \"%.40s\" is not supported; there are %s", type, known);
    return NULL;
}

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
    return refuse(type ? type : "", diag);
}

/* ---- binding ---- */

/* The state of a binding. */
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

/* Finds the packed form of "X.weight" in the folder. */
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
    return fault ? err_up(fault) : import_source_check(import, entry, binding->diag);
}

/* Writes the name of a tensor in the folder; "lm_head" stands beside the model, not in it. */
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

/* True for tensors that the next token does not depend on: values that old writers derived from the configuration, and
 * heads that predict tokens further ahead. */
static bool is_idle(const char *name)
{
    return ends_with(name, "rotary_emb.inv_freq") || strncmp(name, "mtp.", 4) == 0;
}

/* True if @name belongs to the language model, not to another part of a multimodal model. */
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
                         "tensor %.100s has no place in the family %s: without it the model would be another one", name,
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
