/*
 * Rows of floats from the folder, in the order of GGUF
 *
 * The two formats order heads and halves of heads differently. That is a permutation of whole rows (or columns), which
 * costs a seek a row and no arithmetic. Values that are stored in another form (a norm minus one, a logarithm) are
 * converted.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "import/draft.h"
#include "tensor/real.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>

/* Reads shape and size. A middle dimension of 1 is ignored: [channels][1][width] is a matrix. */
static int read_shape(struct import_entry *entry, struct diag *diag)
{
    const struct st_tensor *stored = entry->source.stored;
    const bool is_thin = stored->n_dims == 3 && stored->dims[1] == 1;

    if (stored->n_dims < 1 || (stored->n_dims > 2 && !is_thin)) {
        diag_set(diag, "tensor %.80s: has %u dimensions, where 1 or 2 are expected", stored->name, stored->n_dims);
        return IMPORT_REFUSED;
    }
    entry->tensor.n_dims = stored->n_dims == 1 ? 1 : 2;
    entry->tensor.n_cols = stored->dims[stored->n_dims - 1];
    entry->tensor.n_rows = stored->n_dims == 1 ? 1 : stored->dims[0];
    if (entry->tensor.n_cols == 0 || entry->tensor.n_rows == 0) {
        diag_set(diag, "tensor %.80s: is empty", stored->name);
        return IMPORT_REFUSED;
    }
    return IMPORT_OK;
}

/* Chooses the type that holds the values exactly after their conversion. */
static int choose_type(struct import_entry *entry, struct diag *diag)
{
    const struct st_tensor *stored = entry->source.stored;

    switch (stored->type) {
    case ST_F32:
        entry->tensor.type = ELEM_F32;
        break;
    case ST_F16:
        entry->tensor.type = ELEM_F16;
        break;
    case ST_BF16:
        entry->tensor.type = ELEM_BF16;
        break;
    case ST_I32:
    case ST_OTHER:
    case ST_TYPE_COUNT:
        diag_set(diag, "tensor %.80s: its dtype is %s; weights are read in F32, F16 and BF16", stored->name,
                 stored->dtype);
        return IMPORT_REFUSED;
    }
    if (entry->tensor.is_floats || entry->tensor.n_dims == 1) {
        entry->tensor.is_floats = true;
        entry->tensor.type = ELEM_F32;
    }
    return IMPORT_OK;
}

int import_source_check(struct import *import, struct import_entry *entry, struct diag *diag)
{
    const struct import_source *source = &entry->source;
    uint64_t n_lines;

    if (source->kind == SOURCE_AWQ) {
        return awq_check(import, entry, diag);
    }
    if (read_shape(entry, diag)) {
        return IMPORT_REFUSED;
    }
    n_lines = entry->tensor.n_dims == 2 ? entry->tensor.n_rows : entry->tensor.n_cols;
    if (!shuffle_fits(&source->rows, n_lines) || !shuffle_fits(&source->cols, entry->tensor.n_cols)) {
        diag_set(diag, "tensor %.80s: its %" PRIu64 " by %" PRIu64 " numbers are not a whole number of heads",
                 source->stored->name, entry->tensor.n_rows, entry->tensor.n_cols);
        return IMPORT_REFUSED;
    }
    return choose_type(entry, diag);
}

static void widen(const struct st_tensor *stored, const uint8_t *bytes, uint64_t n, float *out)
{
    for (uint64_t i = 0; i < n; i++) {
        uint32_t bits = 0;

        switch (stored->type) {
        case ST_F32:
            memcpy(&bits, bytes + 4 * i, 4);
            break;
        case ST_BF16:
            bits = (uint32_t)bytes[2 * i] << 16 | (uint32_t)bytes[2 * i + 1] << 24;
            break;
        case ST_F16:
            out[i] = import_half((uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8));
            continue;
        case ST_I32:
        case ST_OTHER:
        case ST_TYPE_COUNT:
            assert(!"checked when the folder was opened");
            break;
        }
        memcpy(&out[i], &bits, 4);
    }
}

/* Reads @n rows of @n_cols elements each. */
static int read_rows(const struct import_source *source, uint64_t n_cols, uint64_t first, uint64_t n, float *out,
                     struct diag *diag)
{
    const uint64_t row_bytes = n_cols * st_elem_bytes(source->stored);
    const uint64_t step = source->rows.n_outer ? 1 : n;
    cleanup(mem_freep) uint8_t *bytes = mem_alloc(MEM_SCRATCH, step * row_bytes);

    if (!bytes) {
        return err_new(-ENOMEM);
    }
    for (uint64_t done = 0; done < n; done += step) {
        const int r = st_read(source->stored, shuffle_line(&source->rows, first + done) * row_bytes, bytes,
                              step * row_bytes, diag);

        if (r) {
            return r < 0 ? err_up(r) : IMPORT_REFUSED;
        }
        widen(source->stored, bytes, step * n_cols, out + done * n_cols);
    }
    return IMPORT_OK;
}

static int shuffle_cols(const struct shuffle *shuffle, uint64_t n_cols, uint64_t n, float *rows)
{
    cleanup(mem_freep) float *row = mem_calloc(MEM_SCRATCH, n_cols, sizeof(float));

    if (!row) {
        return err_new(-ENOMEM);
    }
    for (uint64_t i = 0; i < n; i++) {
        memcpy(row, rows + i * n_cols, n_cols * sizeof(float));
        for (uint64_t col = 0; col < n_cols; col++) {
            rows[i * n_cols + col] = row[shuffle_line(shuffle, col)];
        }
    }
    return 0;
}

static int read_stored(const struct import_entry *entry, uint64_t first, uint64_t n, float *out, struct diag *diag)
{
    const struct import_source *source = &entry->source;
    const uint64_t n_cols = entry->tensor.n_cols;
    int r;

    /* A bias with reordered rows is read as rows of one element. */
    if (entry->tensor.n_dims == 1 && source->rows.n_outer) {
        r = read_rows(source, 1, 0, n_cols, out, diag);
    } else {
        r = read_rows(source, n_cols, first, n, out, diag);
    }
    if (!r && source->cols.n_outer) {
        r = shuffle_cols(&source->cols, n_cols, n, out);
    }
    for (uint64_t i = 0; !r && (source->plus_one || source->minus_exp) && i < n * n_cols; i++) {
        out[i] = source->plus_one ? out[i] + 1.0f : -real_exp(out[i]);
    }
    return r;
}

int import_source_rows(struct import *import, const struct import_entry *entry, uint64_t first, uint64_t n, float *out,
                       struct diag *diag)
{
    switch (entry->source.kind) {
    case SOURCE_STORED:
        return read_stored(entry, first, n, out, diag);
    case SOURCE_AWQ:
        return awq_rows(import, entry, first, n, out, diag);
    case SOURCE_MADE:
    case SOURCE_KIND_COUNT:
        break;
    }
    memcpy(out, entry->source.made, entry->tensor.n_cols * sizeof(float));
    return IMPORT_OK;
}
