/*
 * Any_order_pool: a pool in place of kern/pool.c that does the pieces of each operation in any order
 *
 * It is linked in front of the real one. One thread does everything: pieces of random sizes, in random order, in the
 * name of random workers. What depends on order, on size or on the worker comes out differently each time.
 */
#include "base/err.h"
#include "base/mem.h"
#include "kern/pool.h"
#include <errno.h>

#define PIECES_MAX 64

struct pool {
    uint32_t n_workers;
    uint64_t random; /* state */
};

static uint64_t draw(struct pool *pool, uint64_t n)
{
    pool->random = pool->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (pool->random >> 33) % n;
}

int pool_create(struct pool **ret_pool, const struct cores *cores)
{
    static uint64_t n_pools;
    struct pool *pool = mem_calloc(MEM_SCRATCH, 1, sizeof(*pool));

    if (!pool) {
        return err_new(-ENOMEM);
    }
    pool->n_workers = cores->n_threads;
    pool->random = ++n_pools;
    *ret_pool = pool;
    return 0;
}

void pool_destroy(struct pool *pool)
{
    mem_free(pool);
}

void pool_destroyp(struct pool **pool)
{
    pool_destroy(*pool);
    *pool = NULL;
}

uint32_t pool_n_workers(const struct pool *pool)
{
    return pool->n_workers;
}

struct piece {
    uint32_t first;
    uint32_t n;
};

/* Cuts @op at random multiples of its grain. Returns the number of pieces. */
static uint32_t cut(struct pool *pool, const struct pool_op *op, struct piece *pieces)
{
    uint32_t n_grains = (op->n_items - 1) / op->grain + 1;
    uint32_t at = 0;
    uint32_t n = 0;

    while (at < n_grains) {
        uint32_t n_taken = 1 + (uint32_t)draw(pool, (n_grains - at) / 4 + 1);
        uint64_t end;

        n_taken = n == PIECES_MAX - 1 ? n_grains - at : n_taken;
        end = (uint64_t)(at + n_taken) * op->grain;
        pieces[n].first = at * op->grain;
        pieces[n++].n = (uint32_t)(end < op->n_items ? end : op->n_items) - at * op->grain;
        at += n_taken;
    }
    return n;
}

static void run(struct pool *pool, const struct pool_op *op)
{
    struct piece pieces[PIECES_MAX];
    uint32_t n = op->n_items > 0 ? cut(pool, op, pieces) : 0;

    while (n > 0) {
        uint32_t i = (uint32_t)draw(pool, n);

        op->fn(op->ctx, pieces[i].first, pieces[i].n, (uint32_t)draw(pool, pool->n_workers));
        pieces[i] = pieces[--n];
    }
}

void pool_chain(struct pool *pool, pool_next_fn next, void *owner)
{
    struct pool_op op;

    while (next(owner, &op)) {
        run(pool, &op);
    }
}

void pool_run(struct pool *pool, pool_fn fn, void *ctx, uint32_t n_items, uint32_t grain)
{
    run(pool, &(struct pool_op){ .fn = fn, .ctx = ctx, .n_items = n_items, .grain = grain });
}
