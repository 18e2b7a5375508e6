/*
 * Awq: weights of 4 bits with zero points, imported without loss
 *
 * A weight is (q - z) * s: q and z are 4 bits, s is a half for each group of columns (128 in practice). The difference
 * is a whole number from -15 to 15, which the 5 bits of Q5_0 hold around 16, and the scale of Q5_0 is a half too: so a
 * group becomes group / 32 blocks of Q5_0 with one scale, and d * (q5 - 16) is the same float. Where every zero point
 * of a tensor is 8, the difference fits Q4_0. A format with a min (Q4_1) would be smaller than Q5_0, but its min is a
 * half, and z * s often is not: it would round.
 *
 * Layout, as the public tools pack it ("gemm"): qweight[n_cols][n_rows / 8] of 32-bit words, the 4 bits of output 8 k +
 * j at place order[j] of word k; qzeros[n_cols / group][n_rows / 8] in the same way; scales[n_cols / group][n_rows].
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "import/draft.h"
#include "tensor/block.h"
#include <errno.h>
#include <inttypes.h>
#include <strings.h>

#define IN_WORD 8u

/* The place of the j-th output in a word, in steps of 4 bits. */
static const uint8_t order[IN_WORD] = { 0, 4, 1, 5, 2, 6, 3, 7 };

struct awq_cache {
    const struct st_tensor *of; /* the packed weights in the cache */
    uint8_t *weights;
    uint8_t *zeros;
    uint8_t *scales;
};

void awq_forget(struct import *import)
{
    if (!import->awq) {
        return;
    }
    mem_free(import->awq->weights);
    mem_free(import->awq->zeros);
    mem_free(import->awq->scales);
    mem_free(import->awq);
    import->awq = NULL;
}

int awq_read_config(struct import *import, struct diag *diag)
{
    const json_t *config = json_object_get(import->folder->config, "quantization_config");
    const char *method = "";
    const char *version = "gemm";
    uint32_t n_bits = 0;
    bool has_zeros = false;

    if (!json_is_object(config)) {
        return IMPORT_OK;
    }
    if (json_get_text(config, "quant_method", &method, diag) == JSON_WRONG) {
        return IMPORT_REFUSED;
    }
    if (strcasecmp(method, "awq") != 0) {
        diag_blame(diag, "quant_method",
                   "config.json: weights quantised by \"%.40s\" are not read, only those by awq: take the model "
                   "before quantisation",
                   method);
        return IMPORT_REFUSED;
    }
    if (json_get_text(config, "version", &version, diag) == JSON_WRONG ||
        json_get_u32(config, "bits", &n_bits, diag) == JSON_WRONG ||
        json_get_bool(config, "zero_point", &has_zeros, diag) == JSON_WRONG ||
        json_get_u32(config, "group_size", &import->awq_group, diag) == JSON_WRONG) {
        return IMPORT_REFUSED;
    }
    if (strcasecmp(version, "gemm") != 0 || n_bits != 4 || !has_zeros || import->awq_group == 0 ||
        import->awq_group % BLOCK_SMALL != 0) {
        diag_blame(diag, "quantization_config",
                   "config.json: of awq, 4 bits with zero points in groups of a multiple of %u in the layout "
                   "\"gemm\" are "
                   "read, not %u bits in groups of %u in \"%.20s\"%s",
                   BLOCK_SMALL, n_bits, import->awq_group, version, has_zeros ? "" : " without zero points");
        return IMPORT_REFUSED;
    }
    return IMPORT_OK;
}

static uint32_t word_at(const uint8_t *bytes, uint64_t i)
{
    const uint8_t *at = bytes + 4 * i;

    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static int nibble(const uint8_t *words, uint64_t n_rows, uint64_t line, uint64_t row)
{
    const uint32_t word = word_at(words, line * (n_rows / IN_WORD) + row / IN_WORD);

    return (int)(word >> (4 * order[row % IN_WORD]) & 15u);
}

/* Reads all of @tensor; *ret is owned by the caller. */
static int read_all(const struct st_tensor *tensor, uint8_t **ret, struct diag *diag)
{
    int r;

    *ret = mem_alloc(MEM_SCRATCH, tensor->n_bytes);
    if (!*ret) {
        return err_new(-ENOMEM);
    }
    r = st_read(tensor, 0, *ret, tensor->n_bytes, diag);
    return err_pass(r);
}

/* *ret_plain: whether all zero points are 8; a word holds eight of them. */
static int are_plain(const struct import_source *source, bool *ret_plain, struct diag *diag)
{
    cleanup(mem_freep) uint8_t *words = NULL;
    const int r = read_all(source->zeros, &words, diag);

    *ret_plain = true;
    for (uint64_t i = 0; !r && i < source->zeros->n_bytes / 4; i++) {
        *ret_plain = *ret_plain && word_at(words, i) == 0x88888888u;
    }
    return r;
}

static bool has_shape(const struct st_tensor *tensor, enum st_type type, uint64_t n_lines, uint64_t n)
{
    return tensor->type == type && tensor->n_dims == 2 && tensor->dims[0] == n_lines && tensor->dims[1] == n;
}

int awq_check(struct import *import, struct import_entry *entry, struct diag *diag)
{
    const struct import_source *source = &entry->source;
    const struct st_tensor *stored = source->stored;
    const uint64_t n_cols = stored->dims[0];
    const uint64_t n_rows = stored->dims[1] * IN_WORD; /* the file has 4 bytes for each word: no wrap */
    bool is_plain;
    int r;

    if (!has_shape(stored, ST_I32, n_cols, stored->dims[1]) || n_cols == 0 || n_rows == 0 ||
        n_cols % source->group != 0) {
        diag_set(diag, "tensor %.80s: must be a matrix of I32 with whole groups of %u lines", stored->name,
                 source->group);
        return IMPORT_REFUSED;
    }
    if (!has_shape(source->zeros, ST_I32, n_cols / source->group, n_rows / IN_WORD) ||
        !has_shape(source->scales, ST_F16, n_cols / source->group, n_rows)) {
        diag_set(diag, "tensor %.80s: its zero points or scales do not fit its %" PRIu64 " by %" PRIu64 " weights",
                 stored->name, n_cols, n_rows);
        return IMPORT_REFUSED;
    }
    if (!shuffle_fits(&source->rows, n_rows) || source->cols.n_outer) {
        diag_set(diag, "tensor %.80s: its %" PRIu64 " rows are not a whole number of heads", stored->name, n_rows);
        return IMPORT_REFUSED;
    }
    r = are_plain(source, &is_plain, diag);
    if (r) {
        return r;
    }
    entry->tensor.n_dims = 2;
    entry->tensor.n_cols = n_cols;
    entry->tensor.n_rows = n_rows;
    entry->tensor.type = is_plain ? ELEM_Q4_0 : ELEM_Q5_0;
    return IMPORT_OK;
}

/* Reads the whole packed tensor into memory, since a row in GGUF is a column of it. */
static int load(struct import *import, const struct import_entry *entry, struct diag *diag)
{
    struct awq_cache *cache;
    int r;

    if (import->awq && import->awq->of == entry->source.stored) {
        return IMPORT_OK;
    }
    awq_forget(import);
    cache = mem_calloc(MEM_SCRATCH, 1, sizeof(*cache));
    if (!cache) {
        return err_new(-ENOMEM);
    }
    import->awq = cache;
    r = read_all(entry->source.stored, &cache->weights, diag);
    r = r ? r : read_all(entry->source.zeros, &cache->zeros, diag);
    r = r ? r : read_all(entry->source.scales, &cache->scales, diag);
    cache->of = r ? NULL : entry->source.stored;
    return r;
}

/* Writes the differences q - z of the @n columns of row @row from @col on, which are in one group, and returns their
 * scale. */
static uint16_t unpack(const struct import *import, const struct import_entry *entry, uint64_t row, uint64_t col,
                       uint64_t n, int *out)
{
    const struct awq_cache *cache = import->awq;
    const uint64_t n_rows = entry->tensor.n_rows;
    const uint64_t group = col / entry->source.group;
    const int zero = nibble(cache->zeros, n_rows, group, row);
    const uint8_t *scale = cache->scales + 2 * (group * n_rows + row);

    for (uint64_t i = 0; i < n; i++) {
        out[i] = nibble(cache->weights, n_rows, col + i, row) - zero;
    }
    return (uint16_t)(scale[0] | scale[1] << 8);
}

int awq_rows(struct import *import, const struct import_entry *entry, uint64_t first, uint64_t n, float *out,
             struct diag *diag)
{
    const uint64_t n_cols = entry->tensor.n_cols;
    int q[BLOCK_SMALL];
    const int r = load(import, entry, diag);

    if (r) {
        return r;
    }
    for (uint64_t i = 0; i < n; i++) {
        for (uint64_t col = 0; col < n_cols; col += BLOCK_SMALL) {
            const float scale =
                import_half(unpack(import, entry, shuffle_line(&entry->source.rows, first + i), col, BLOCK_SMALL, q));

            for (unsigned k = 0; k < BLOCK_SMALL; k++) {
                out[i * n_cols + col + k] = scale * (float)q[k];
            }
        }
    }
    return IMPORT_OK;
}

static void pack4(const int *q, uint16_t scale, struct block_q4_0 *out)
{
    out->d[0] = (uint8_t)scale;
    out->d[1] = (uint8_t)(scale >> 8);
    for (unsigned k = 0; k < 16; k++) {
        out->qs[k] = (uint8_t)((q[k] + 8) | (q[k + 16] + 8) << 4);
    }
}

static void pack5(const int *q, uint16_t scale, struct block_q5_0 *out)
{
    uint32_t high = 0;

    out->d[0] = (uint8_t)scale;
    out->d[1] = (uint8_t)(scale >> 8);
    for (unsigned k = 0; k < 16; k++) {
        out->qs[k] = (uint8_t)(((q[k] + 16) & 15) | ((q[k + 16] + 16) & 15) << 4);
    }
    for (unsigned k = 0; k < BLOCK_SMALL; k++) {
        high |= (uint32_t)(q[k] + 16) >> 4 << k;
    }
    for (unsigned k = 0; k < 4; k++) {
        out->qh[k] = (uint8_t)(high >> (8 * k));
    }
}

int awq_blocks(struct import *import, const struct import_entry *entry, uint64_t first, uint64_t n, void *out,
               struct diag *diag)
{
    const bool is_plain = entry->tensor.type == ELEM_Q4_0;
    uint8_t *at = out;
    int q[BLOCK_SMALL];
    const int r = load(import, entry, diag);

    if (r) {
        return r;
    }
    for (uint64_t i = 0; i < n; i++) {
        for (uint64_t col = 0; col < entry->tensor.n_cols; col += BLOCK_SMALL) {
            const uint16_t scale =
                unpack(import, entry, shuffle_line(&entry->source.rows, first + i), col, BLOCK_SMALL, q);

            if ((scale >> 10 & 31u) == 31u) {
                diag_set(diag, "tensor %.80s: a scale of its row %" PRIu64 " is not a finite number",
                         entry->source.scales->name, first + i);
                return IMPORT_REFUSED;
            }
            if (is_plain) {
                pack4(q, scale, (struct block_q4_0 *)at);
                at += sizeof(struct block_q4_0);
            } else {
                pack5(q, scale, (struct block_q5_0 *)at);
                at += sizeof(struct block_q5_0);
            }
        }
    }
    return IMPORT_OK;
}
