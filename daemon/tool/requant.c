/*
 * Requant: batches of rows on a pool of threads
 */
#include "tool/requant.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "kern/cpu.h"
#include "kern/kern.h"
#include "kern/pool.h"
#include "kern/quant.h"
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define BATCH_ELEMS (1u << 22) /* floats in memory at a time: 16 MiB, and as much again beside them */

struct requant {
    struct pool *pool;          /* owned */
    struct kern_ops kern;       /* all sets unpack to the same bits */
    float *floats;              /* [n_elems], owned like the next three */
    float *back;                /* [n_elems], the result unpacked again */
    uint8_t *rows;              /* the result */
    struct requant_cost *costs; /* one for each row of a batch */
    uint64_t n_elems;
    uint64_t n_rows; /* capacity of @costs */
    uint64_t n_bytes;

    /* The current batch. */
    uint32_t from_type;
    uint32_t type;
    uint32_t n_cols;
    const uint8_t *from;
    uint64_t from_bytes; /* of a row */
    uint64_t row_bytes;
    atomic_int outcome; /* of the first row that failed */
};

int requant_create(struct requant **ret_requant)
{
    cleanup(requant_destroyp) struct requant *requant = mem_calloc(MEM_SCRATCH, 1, sizeof(*requant));
    struct cores cores;
    int r;

    if (!requant) {
        return err_new(-ENOMEM);
    }
    kern_choose(&requant->kern, cpu_detect());
    cores_choose(&cores, "", NULL, 0);
    r = pool_create(&requant->pool, &cores);
    if (r) {
        return err_up(r);
    }
    *ret_requant = steal(&requant);
    return 0;
}

void requant_destroy(struct requant *requant)
{
    if (requant) {
        pool_destroy(requant->pool);
        mem_free(requant->floats);
        mem_free(requant->back);
        mem_free(requant->rows);
        mem_free(requant->costs);
        mem_free(requant);
    }
}

void requant_destroyp(struct requant **requant)
{
    requant_destroy(*requant);
    *requant = NULL;
}

double requant_loss(const struct requant_cost *cost)
{
    return cost->weight > 0 ? sqrt(cost->error / cost->weight) : 0;
}

static bool grow(void *slot, uint64_t *n_now, uint64_t n_wanted, size_t size)
{
    void *block;

    if (*n_now >= n_wanted) {
        return true;
    }
    mem_freep(slot);
    *n_now = 0;
    block = mem_calloc(MEM_SCRATCH, n_wanted, size);
    memcpy(slot, &block, sizeof(block));
    *n_now = block ? n_wanted : 0;
    return block != NULL;
}

static bool make_room(struct requant *requant, uint64_t n_rows)
{
    uint64_t n_elems = requant->n_elems;

    return grow(&requant->floats, &n_elems, n_rows * requant->n_cols, sizeof(*requant->floats)) &&
           grow(&requant->back, &requant->n_elems, n_rows * requant->n_cols, sizeof(*requant->back)) &&
           grow(&requant->rows, &requant->n_bytes, n_rows * requant->row_bytes, 1) &&
           grow(&requant->costs, &requant->n_rows, n_rows, sizeof(*requant->costs));
}

/* Computes a piece of the batch; a pool_fn. */
static void do_rows(void *ctx, uint32_t first, uint32_t n, uint32_t worker)
{
    struct requant *requant = ctx;

    for (uint32_t row = first; row < first + n; row++) {
        float *floats = requant->floats + (size_t)row * requant->n_cols;
        float *back = requant->back + (size_t)row * requant->n_cols;
        uint8_t *out = requant->rows + row * requant->row_bytes;
        struct requant_cost cost = { 0, 0 };
        int none = QUANT_OK;
        int r;

        requant->kern.unpack(requant->from_type, requant->from + row * requant->from_bytes, requant->n_cols, floats);
        r = quant_row(requant->type, floats, requant->n_cols, out);
        if (r) {
            atomic_compare_exchange_strong(&requant->outcome, &none, r);
            return;
        }
        requant->kern.unpack(requant->type, out, requant->n_cols, back);
        for (uint32_t i = 0; i < requant->n_cols; i++) {
            double lost = (double)back[i] - (double)floats[i];

            cost.error += lost * lost;
            cost.weight += (double)floats[i] * (double)floats[i];
        }
        requant->costs[row] = cost;
    }
}

static void copy(const struct gguf_tensor *tensor, const uint8_t *bytes, struct gguf_writer *writer)
{
    if (tensor->n_bytes > 0) {
        gguf_write_data(writer, bytes, tensor->n_bytes);
    }
}

static int do_batch(struct requant *requant, uint32_t n_rows, struct gguf_writer *writer, struct requant_cost *cost)
{
    pool_run(requant->pool, do_rows, requant, n_rows, 1);
    if (atomic_load(&requant->outcome) != QUANT_OK) {
        return REQUANT_NOT_FINITE;
    }
    for (uint32_t row = 0; row < n_rows; row++) { /* in order, so that the sum is the same on every machine */
        cost->error += requant->costs[row].error;
        cost->weight += requant->costs[row].weight;
    }
    gguf_write_data(writer, requant->rows, n_rows * requant->row_bytes);
    return REQUANT_OK;
}

int requant_tensor(struct requant *requant, const struct gguf_tensor *tensor, const uint8_t *bytes, uint32_t type,
                   struct gguf_writer *writer, struct requant_cost *cost)
{
    uint64_t n_rows = tensor->dims[1] * tensor->dims[2] * tensor->dims[3];
    uint64_t n_batch;
    bool fits;

    if (tensor->type == type || tensor->n_bytes == 0) {
        copy(tensor, bytes, writer);
        return REQUANT_OK;
    }
    if (tensor->dims[0] > UINT32_MAX) {
        return err_new(-EFBIG);
    }
    requant->from_type = tensor->type;
    requant->type = type;
    requant->n_cols = (uint32_t)tensor->dims[0];
    fits = elem_row_bytes(type, tensor->dims[0], &requant->row_bytes) &&
           elem_row_bytes(tensor->type, tensor->dims[0], &requant->from_bytes);
    assert(fits);
    (void)fits;
    atomic_store(&requant->outcome, QUANT_OK);
    n_batch = num_max(1, num_min(n_rows, BATCH_ELEMS / requant->n_cols));
    if (!make_room(requant, n_batch)) {
        return err_new(-ENOMEM);
    }
    for (uint64_t at = 0; at < n_rows; at += n_batch) {
        int r;

        requant->from = bytes + at * requant->from_bytes;
        r = do_batch(requant, (uint32_t)num_min(n_batch, n_rows - at), writer, cost);
        if (r) {
            return r;
        }
    }
    return REQUANT_OK;
}
