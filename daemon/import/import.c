/*
 * The steps in their order: what it is, its numbers, its rotation, its tensors, its words.
 */
#include "import/import.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "import/family.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

void import_close(struct import *import)
{
    if (!import) {
        return;
    }
    for (size_t i = 0; i < import->n; i++) {
        mem_free(import->entries[i].source.made);
    }
    awq_forget(import);
    mem_free(import->entries);
    gguf_writer_destroy(import->writer);
    folder_close(import->folder);
    mem_free(import);
}

void import_closep(struct import **import)
{
    import_close(*import);
    *import = NULL;
}

struct gguf_writer *import_writer(struct import *import)
{
    return import->writer;
}

const char *import_family(const struct import *import)
{
    return import->family->arch;
}

size_t import_n_tensors(const struct import *import)
{
    return import->n;
}

const struct import_tensor *import_tensor_at(const struct import *import, size_t i)
{
    return &import->entries[i].tensor;
}

int import_rows(struct import *import, size_t i, uint64_t first, uint64_t n, float *out, struct diag *diag)
{
    return source_rows(import, &import->entries[i], first, n, out, diag);
}

int import_blocks(struct import *import, size_t i, uint64_t first, uint64_t n, void *out, struct diag *diag)
{
    return awq_blocks(import, &import->entries[i], first, n, out, diag);
}

const char *import_key(struct import *import, const char *suffix)
{
    snprintf(import->key, sizeof(import->key), "%s.%s", import->family->arch, suffix);
    return import->key;
}

struct import_entry *import_add(struct import *import, const char *name)
{
    struct import_entry *entry;

    if (import->n == import->cap) {
        const size_t cap = import->cap ? 2 * import->cap : 64;
        struct import_entry *entries = mem_realloc(MEM_FILE, import->entries, cap * sizeof(*entries));

        if (!entries) {
            return NULL;
        }
        import->entries = entries;
        import->cap = cap;
    }
    entry = &import->entries[import->n++];
    memset(entry, 0, sizeof(*entry));
    snprintf(entry->tensor.name, sizeof(entry->tensor.name), "%s", name);
    return entry;
}

int import_add_made(struct import *import, const char *name, const float *values, size_t n)
{
    struct import_entry *entry = import_add(import, name);

    if (!entry) {
        return err_new(-ENOMEM);
    }
    entry->source.kind = SOURCE_MADE;
    entry->source.made = mem_alloc(MEM_FILE, n * sizeof(float));
    if (!entry->source.made) {
        return err_new(-ENOMEM);
    }
    memcpy(entry->source.made, values, n * sizeof(float));
    entry->tensor.n_dims = 1;
    entry->tensor.n_cols = n;
    entry->tensor.n_rows = 1;
    entry->tensor.type = ELEM_F32;
    entry->tensor.is_floats = true;
    return 0;
}

/* The embedding has a row for each token: its height says how many there are. */
static int count_rows(struct import *import, struct diag *diag)
{
    for (size_t i = 0; i < import->n; i++) {
        const struct import_tensor *tensor = &import->entries[i].tensor;

        if (strcmp(tensor->name, "token_embd.weight") == 0 && tensor->n_dims == 2 && tensor->n_rows <= UINT32_MAX) {
            import->facts.n_rows = (uint32_t)tensor->n_rows;
            gguf_put_u32(import->writer, import_key(import, "vocab_size"), import->facts.n_rows);
            return IMPORT_OK;
        }
    }
    diag_set(diag, "the embedding must be a matrix with a row for each token");
    return IMPORT_REFUSED;
}

static int fill(struct import *import, struct diag *diag)
{
    static int (*const steps[])(struct import *, struct diag *) = {
        awq_read_config, family_common, rope_import, family_bind, count_rows, vocabulary_import,
    };
    int r = IMPORT_OK;

    import->family = family_find(import->folder, diag);
    if (!import->family) {
        return IMPORT_REFUSED;
    }
    for (size_t i = 0; !r && i < COUNTOF(steps); i++) {
        r = steps[i](import, diag);
    }
    return !r && import->family->more ? import->family->more(import, diag) : r;
}

int import_open(struct import **ret_import, const char *path, struct diag *diag)
{
    cleanup(import_closep) struct import *import = mem_calloc(MEM_FILE, 1, sizeof(*import));
    int r;

    if (!import) {
        return err_new(-ENOMEM);
    }
    r = gguf_writer_create(&import->writer);
    if (r) {
        return err_up(r);
    }
    r = folder_open(&import->folder, path, diag);
    if (!r) {
        r = fill(import, diag);
    }
    if (r) {
        return r < 0 ? err_up(r) : IMPORT_REFUSED;
    }
    *ret_import = steal(&import);
    return IMPORT_OK;
}
