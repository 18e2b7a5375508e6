/*
 * Pool: the worker threads of an engine, and the barrier between operations
 *
 * The caller is worker 0, so a pool of one has no thread. pool_run() cuts a range into a few pieces for each worker,
 * wakes the others, takes pieces as they do, and waits for those that others have begun: one barrier for each
 * operation. Workers spin briefly (operations follow each other within microseconds), then sleep on a futex, so an idle
 * pool uses no processor. A worker that loses its core delays only the piece that it has begun; the others do the rest.
 * Which worker does which piece is chance, and no result may depend on it.
 *
 * Nothing is allocated after pool_create(). One thread at a time may run a pool.
 */
#ifndef SOTTO_KERN_POOL_H
#define SOTTO_KERN_POOL_H

#include "base/diag.h"
#include <stddef.h>
#include <stdint.h>

#define POOL_MAX_WORKERS 256

struct pool;

struct pool_setup {
    uint32_t n_workers;   /* with the caller, 1 to POOL_MAX_WORKERS; 0: cores_count() */
    const uint32_t *cpus; /* worker i > 0 is bound to cpus[i % n_cpus]; NULL: none is */
    uint32_t n_cpus;
};

/* Computes a piece of an operation: items @first .. @first + @n - 1. @worker selects scratch memory. */
typedef void (*pool_fn)(void *ctx, uint32_t first, uint32_t n, uint32_t worker);

/* Returns 0 or a fault. Failing to bind to a core is no fault: affinity is only a hint. Threads block all signals. */
int pool_create(struct pool **ret_pool, const struct pool_setup *setup);

/* Ends and joins the workers. Takes NULL. */
void pool_destroy(struct pool *pool);
void pool_destroyp(struct pool **pool);

uint32_t pool_n_workers(const struct pool *pool);

/* Calls @fn for pieces that cover each item once, and returns when all are done. Pieces differ by at most @grain items
 * and begin at multiples of @grain (1: anywhere). Writes of @fn are visible to the caller. */
void pool_run(struct pool *pool, pool_fn fn, void *ctx, uint32_t n_items, uint32_t grain);

#endif
