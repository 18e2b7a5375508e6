/*
 * Pool: the worker threads of an engine, and the barrier between operations
 *
 * The caller is worker 0, so a pool of one has no thread. pool_chain() runs operations one after the other. The items
 * of an operation are dealt out to the workers in equal ranges; a worker that is done with its own takes from the ends
 * of the others'. Between two operations is one barrier, and no thread is in charge of it: whichever worker finishes
 * the last item asks for the next operation and opens it. So a worker that loses its core to another process, the
 * caller too, delays only the piece that it has begun; the others do the rest, and all operations behind it.
 *
 * A worker that finds nothing to do spins briefly (operations follow each other within microseconds), then sleeps on a
 * futex, so neither an idle pool nor one that waits for a robbed core uses a processor. Which worker does which piece
 * is chance, and no result may depend on it.
 *
 * Nothing is allocated after pool_create(). One thread at a time may run a pool.
 */
#ifndef SOTTO_KERN_POOL_H
#define SOTTO_KERN_POOL_H

#include "kern/cores.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POOL_MAX_WORKERS 256

struct pool;

/* Computes a piece of an operation: items @first .. @first + @n - 1. @worker selects scratch memory. */
typedef void (*pool_fn)(void *ctx, uint32_t first, uint32_t n, uint32_t worker);

/* Pieces begin at multiples of @grain (1: anywhere). An operation of one grain or less runs on the thread that asked
 * for it, without a barrier. */
struct pool_op {
    pool_fn fn;
    void *ctx;
    uint32_t n_items;
    uint32_t grain; /* above 0 */
};

/* Gives the next operation, or returns false at the end. Any worker's thread calls it, one at a time, after all pieces
 * of the operation before; it sees what they wrote. */
typedef bool (*pool_next_fn)(void *owner, struct pool_op *ret_op);

/* Makes a pool of cores->n_threads workers, the calling thread included, and binds all of them to the cores. Returns
 * 0 or a fault. Failing to bind is no fault: affinity is only a hint. Threads block all signals. */
int pool_create(struct pool **ret_pool, const struct cores *cores);

/* Ends and joins the workers. Takes NULL. */
void pool_destroy(struct pool *pool);
void pool_destroyp(struct pool **pool);

uint32_t pool_n_workers(const struct pool *pool);

/* Runs operations until @next returns false. Each item of each is done once, and what was written is visible to the
 * caller. */
void pool_chain(struct pool *pool, pool_next_fn next, void *owner);

/* Runs a single operation. */
void pool_run(struct pool *pool, pool_fn fn, void *ctx, uint32_t n_items, uint32_t grain);

#endif
