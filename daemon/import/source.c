/*
 * Source: rows of floats out of the folder, in GGUF's order
 *
 * Where neighbours rotate, GGUF has element 2i of a head next to element 2i + 1, which the folder keeps half a head
 * apart. A permutation of rows, so it costs a seek a row and no arithmetic.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "import/inside.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>

float source_half(uint16_t bits)
{
    const uint32_t exponent = (bits >> 10) & 31u;
    const uint32_t fraction = bits & 1023u;
    const float sign = bits >> 15 ? -1.0f : 1.0f;

    if (exponent == 31) {
        return fraction ? NAN : sign * INFINITY;
    }
    if (exponent == 0) {
        return sign * ldexpf((float)fraction, -24);
    }
    return sign * ldexpf((float)(fraction | 1024u), (int)exponent - 25);
}

uint64_t source_row(const struct source *source, uint64_t row)
{
    const uint64_t head_dim = source->head_dim;
    uint64_t in_head;

    if (head_dim == 0) {
        return row;
    }
    in_head = row % head_dim;
    return row - in_head + in_head / 2 + (in_head % 2) * (head_dim / 2);
}

static int refuse_shape(const struct entry *entry, struct diag *diag)
{
    diag_set(diag, "tensor %.80s: has %u dimensions, where 1 or 2 are expected", entry->source.stored->name,
             entry->source.stored->n_dims);
    return IMPORT_REFUSED;
}

/* The type that holds the stored values exactly, after what is done to them. */
static int choose_type(struct entry *entry, struct diag *diag)
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

int source_check(struct import *import, struct entry *entry, struct diag *diag)
{
    const struct st_tensor *stored = entry->source.stored;
    uint64_t n_permuted;

    if (entry->source.kind == SOURCE_AWQ) {
        return awq_check(import, entry, diag);
    }
    if (stored->n_dims < 1 || stored->n_dims > 2) {
        return refuse_shape(entry, diag);
    }
    entry->tensor.n_dims = stored->n_dims;
    entry->tensor.n_cols = stored->dims[stored->n_dims - 1];
    entry->tensor.n_rows = stored->n_dims == 2 ? stored->dims[0] : 1;
    if (entry->tensor.n_cols == 0 || entry->tensor.n_rows == 0) {
        diag_set(diag, "tensor %.80s: is empty", stored->name);
        return IMPORT_REFUSED;
    }
    n_permuted = stored->n_dims == 2 ? entry->tensor.n_rows : entry->tensor.n_cols;
    if (entry->source.head_dim && n_permuted % entry->source.head_dim != 0) {
        diag_set(diag, "tensor %.80s: its %" PRIu64 " rows are no whole number of heads of %u", stored->name,
                 n_permuted, entry->source.head_dim);
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
            out[i] = source_half((uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8));
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

/* Rows of @n_cols elements each, in the source's own counting. */
static int read_rows(const struct source *source, uint64_t n_cols, uint64_t first, uint64_t n, float *out,
                     struct diag *diag)
{
    const uint64_t row_bytes = n_cols * st_elem_bytes(source->stored);
    const uint64_t step = source->head_dim ? 1 : n;
    cleanup(mem_freep) uint8_t *bytes = mem_alloc(MEM_SCRATCH, step * row_bytes);

    if (!bytes) {
        return err_new(-ENOMEM);
    }
    for (uint64_t done = 0; done < n; done += step) {
        const int r = st_read(source->stored, source_row(source, first + done) * row_bytes, bytes,
                              step * row_bytes, diag);

        if (r) {
            return r < 0 ? err_up(r) : IMPORT_REFUSED;
        }
        widen(source->stored, bytes, step * n_cols, out + done * n_cols);
    }
    return IMPORT_OK;
}

static int read_stored(const struct entry *entry, uint64_t first, uint64_t n, float *out, struct diag *diag)
{
    const struct source *source = &entry->source;
    const uint64_t n_cols = entry->tensor.n_cols;
    int r;

    /* The elements of a permuted bias are rows of one. */
    if (entry->tensor.n_dims == 1 && source->head_dim) {
        r = read_rows(source, 1, 0, n_cols, out, diag);
    } else {
        r = read_rows(source, n_cols, first, n, out, diag);
    }
    for (uint64_t i = 0; !r && source->plus_one && i < n * n_cols; i++) {
        out[i] += 1.0f;
    }
    return r;
}

int source_rows(struct import *import, const struct entry *entry, uint64_t first, uint64_t n, float *out,
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
