/*
 * Pool: one word that rises, one that falls, and one to take pieces from
 *
 * @generation rises by one for each operation; workers wait for that. @n_left falls to 0 as pieces are finished; the
 * caller waits for that. Both sides spin for a while and then sleep on the word itself (futex): the kernel compares the
 * value again before a thread sleeps, so no wake-up is lost. A thread announces its sleep first (@n_asleep,
 * @caller_sleeps), and a thread that changes the word looks there afterwards. All of this is sequentially consistent,
 * so one of the two always sees the other, and a wake-up costs a system call only when a thread sleeps.
 *
 * Pieces are taken, not given: @claim holds the generation and the two ends of the range that is not begun. Even
 * workers take from the front and odd ones from the back, so that two undisturbed workers meet in the middle and each
 * finds its rows in its own cache the next time. A worker that lost its core to another process takes nothing, and
 * the others do its share; only one begun piece can be delayed. A latecomer's generation no longer matches, so it can't
 * take a piece of an operation that it has not seen begin.
 *
 * With more workers than processors no worker spins: it would keep the processor from the one that it waits for.
 */
#include "kern/pool.h"

#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "kern/cores.h"

#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>

/* Rounds of `pause` before sleeping: some 50 to 100 us, longer than the gap between two operations of a step and
 * too short to show in a power meter. */
#define POOL_SPINS 2000

/* Pieces of an operation for each worker: the last to finish is late by at most one such part of its share. */
#define POOL_PIECES 4

struct worker {
    struct pool *pool;
    pthread_t thread;
    uint32_t index;
};

struct pool {
    /* The operation; written by the caller before @claim opens, read by workers that have taken a piece. */
    pool_fn fn;
    void *ctx;
    uint32_t n_items;
    uint32_t grain;
    uint32_t n_pieces;

    uint32_t n_workers;
    uint32_t n_started; /* threads, which are workers 1 to @n_started */
    uint32_t n_spins;

    _Alignas(64) _Atomic uint32_t generation;
    _Atomic bool ending;
    _Alignas(64) _Atomic uint64_t claim;  /* generation << 32 | first free piece << 16 | end of the free ones */
    _Alignas(64) _Atomic uint32_t n_left; /* pieces of this generation that are not done */
    _Alignas(64) _Atomic uint32_t n_asleep;
    _Atomic uint32_t caller_sleeps;

    struct worker workers[];
};

static void futex_wait(_Atomic uint32_t *word, uint32_t value)
{
    /* After any error (the value changed, a signal) the caller looks again. */
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int n)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* Returns the generation when it is no longer @seen. */
static uint32_t wait_generation(struct pool *pool, uint32_t seen)
{
    uint32_t generation;

    for (uint32_t i = 0; i < pool->n_spins; i++) {
        generation = atomic_load_explicit(&pool->generation, memory_order_acquire);
        if (generation != seen) {
            return generation;
        }
        relax();
    }
    atomic_fetch_add(&pool->n_asleep, 1);
    while ((generation = atomic_load(&pool->generation)) == seen) {
        futex_wait(&pool->generation, seen);
    }
    atomic_fetch_sub(&pool->n_asleep, 1);
    return generation;
}

static void wait_done(struct pool *pool)
{
    uint32_t n_left;

    for (uint32_t i = 0; i < pool->n_spins; i++) {
        if (atomic_load_explicit(&pool->n_left, memory_order_acquire) == 0) {
            return;
        }
        relax();
    }
    atomic_store(&pool->caller_sleeps, 1);
    while ((n_left = atomic_load(&pool->n_left)) != 0) {
        futex_wait(&pool->n_left, n_left);
    }
    atomic_store(&pool->caller_sleeps, 0);
}

static uint64_t claim_of(uint32_t generation, uint32_t front, uint32_t back)
{
    return (uint64_t)generation << 32 | front << 16 | back;
}

/* Takes a piece of @generation from the front or the back. Returns false if none is left, or the generation is over. */
static bool take_piece(struct pool *pool, uint32_t generation, bool from_back, uint32_t *ret_piece)
{
    uint64_t claim = atomic_load_explicit(&pool->claim, memory_order_acquire);

    for (;;) {
        const uint32_t front = claim >> 16 & 0xffff;
        const uint32_t back = claim & 0xffff;
        const uint64_t taken =
            from_back ? claim_of(generation, front, back - 1) : claim_of(generation, front + 1, back);

        if (claim >> 32 != generation || front >= back) {
            return false;
        }
        if (atomic_compare_exchange_weak_explicit(&pool->claim, &claim, taken, memory_order_acq_rel,
                                                  memory_order_acquire)) {
            *ret_piece = from_back ? back - 1 : front;
            return true;
        }
    }
}

/* Returns the item at which piece @i begins. */
static uint32_t piece_at(const struct pool *pool, uint32_t i)
{
    const uint64_t n_grains = ((uint64_t)pool->n_items + pool->grain - 1) / pool->grain;
    const uint64_t item = n_grains * i / pool->n_pieces * pool->grain;

    return item < pool->n_items ? (uint32_t)item : pool->n_items;
}

/* Does pieces of @generation until none is free. */
static void run_pieces(struct pool *pool, uint32_t generation, uint32_t worker)
{
    uint32_t i;

    while (take_piece(pool, generation, worker % 2 == 1, &i)) {
        const uint32_t first = piece_at(pool, i);

        pool->fn(pool->ctx, first, piece_at(pool, i + 1) - first, worker);
        if (atomic_fetch_sub(&pool->n_left, 1) == 1 && worker > 0 && atomic_load(&pool->caller_sleeps)) {
            futex_wake(&pool->n_left, 1);
        }
    }
}

static void *work(void *ctx)
{
    struct worker *worker = ctx;
    struct pool *pool = worker->pool;
    uint32_t seen = 0;

    for (;;) {
        seen = wait_generation(pool, seen);
        if (atomic_load(&pool->ending)) {
            return NULL;
        }
        run_pieces(pool, seen, worker->index);
    }
}

/* Begins the next generation and wakes up to @n workers that sleep. */
static void raise_generation(struct pool *pool, uint32_t n)
{
    atomic_fetch_add(&pool->generation, 1);
    if (atomic_load(&pool->n_asleep) > 0) {
        futex_wake(&pool->generation, (int)n);
    }
}

void pool_run(struct pool *pool, pool_fn fn, void *ctx, uint32_t n_items, uint32_t grain)
{
    const uint32_t generation = atomic_load_explicit(&pool->generation, memory_order_relaxed) + 1;
    uint32_t n_grains;

    assert(grain > 0);
    if (n_items == 0) {
        return;
    }
    if (n_items <= grain || pool->n_started == 0) {
        fn(ctx, 0, n_items, 0);
        return;
    }
    n_grains = (n_items - 1) / grain + 1;
    pool->fn = fn;
    pool->ctx = ctx;
    pool->n_items = n_items;
    pool->grain = grain;
    pool->n_pieces = n_grains < pool->n_workers * POOL_PIECES ? n_grains : pool->n_workers * POOL_PIECES;
    atomic_store_explicit(&pool->n_left, pool->n_pieces, memory_order_relaxed);
    atomic_store_explicit(&pool->claim, claim_of(generation, 0, pool->n_pieces), memory_order_release);
    raise_generation(pool, pool->n_pieces - 1);
    run_pieces(pool, generation, 0);
    wait_done(pool);
}

/* Binds @thread to @cpu. Affinity is a hint: if the core went away or is forbidden, the worker stays where it was. */
static void bind_to(pthread_t thread, uint32_t cpu)
{
    cpu_set_t set;

    if (cpu < CPU_SETSIZE) {
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        pthread_setaffinity_np(thread, sizeof(set), &set);
    }
}

/* Starts workers 1 to n_workers - 1, with every signal blocked: signals are for the main thread. */
static int start_workers(struct pool *pool, const struct pool_setup *setup)
{
    sigset_t all, before;
    int r = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (uint32_t i = 1; i < pool->n_workers && r == 0; i++) {
        struct worker *worker = &pool->workers[i];

        worker->pool = pool;
        worker->index = i;
        r = pthread_create(&worker->thread, NULL, work, worker);
        if (r == 0) {
            pool->n_started = i;
            pthread_setname_np(worker->thread, "kern");
            if (setup->n_cpus > 0) {
                bind_to(worker->thread, setup->cpus[i % setup->n_cpus]);
            }
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r == 0 ? 0 : err_new(-r);
}

int pool_create(struct pool **ret_pool, const struct pool_setup *setup)
{
    const uint32_t n_cores = cores_count();
    const uint32_t n_wanted = setup->n_workers > 0 ? setup->n_workers : n_cores;
    const uint32_t n = n_wanted < POOL_MAX_WORKERS ? n_wanted : POOL_MAX_WORKERS;
    cleanup(pool_destroyp) struct pool *pool = NULL;
    int r;

    pool = mem_calloc(MEM_SCRATCH, 1, sizeof(*pool) + n * sizeof(pool->workers[0]));
    if (!pool) {
        return err_new(-ENOMEM);
    }
    pool->n_workers = n;
    pool->n_spins = n <= n_cores ? POOL_SPINS : 0;
    r = start_workers(pool, setup);
    if (r) {
        return err_up(r);
    }
    *ret_pool = steal(&pool);
    return 0;
}

void pool_destroy(struct pool *pool)
{
    if (!pool) {
        return;
    }
    atomic_store(&pool->ending, true);
    raise_generation(pool, INT32_MAX);
    for (uint32_t i = 1; i <= pool->n_started; i++) {
        pthread_join(pool->workers[i].thread, NULL);
    }
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
