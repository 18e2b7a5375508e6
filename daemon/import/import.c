/*
 * The steps of an import: family, numbers, rotation, tensors, vocabulary.
 */
#include "import/import.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "import/family.h"
#include <errno.h>
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
    return import_source_rows(import, &import->entries[i], first, n, out, diag);
}

int import_blocks(struct import *import, size_t i, uint64_t first, uint64_t n, void *out, struct diag *diag)
{
    return awq_blocks(import, &import->entries[i], first, n, out, diag);
}

/* Sets the number of tokens, which is that of the rows of the embedding. */
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
        awq_read_config, family_common, rope_keys_import, family_bind, count_rows, vocabulary_import,
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
    r = r ? r : fill(import, diag);
    if (r) {
        return r < 0 ? err_up(r) : IMPORT_REFUSED;
    }
    *ret_import = steal(&import);
    return IMPORT_OK;
}
