/*
 * Pool: a word that rises, a range for each worker, and a count that falls
 *
 * @generation rises by one with each operation that is opened, and once more at the end of a chain; all threads wait
 * for that. They spin for a while and then sleep on the word itself (futex): the kernel compares the value again before
 * a thread sleeps, so no wake-up is lost. A thread announces its sleep first (@n_asleep, @caller_sleeps), and a thread
 * that changes the word looks there afterwards. All of this is sequentially consistent, so one of the two always sees
 * the other, and a wake-up costs a system call only when a thread sleeps. The caller sleeps under a bit of its own, so
 * the end of a chain wakes no other thread.
 *
 * Blocks (grains, or a few of them) are dealt out: @claim of a worker holds the generation and both ends of what is
 * left of its range. The owner takes a part of the rest from the front, so undisturbed workers meet no other's cache
 * line and find their rows in their own cache the next time; thieves take from the back. Pieces shrink towards the end
 * of a range, so workers finish together. A latecomer's generation no longer matches, so it can't take a piece of an
 * operation that it has not seen begin.
 *
 * @n_left falls to 0 as blocks are done. The worker that brings it there is alone: no thread holds a piece, and none is
 * left. It asks for the next operation, deals it out, and raises the generation.
 *
 * With more workers than processors no worker spins: it would keep the processor from the one that it waits for.
 */
#include "kern/pool.h"

#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>

/* Rounds of `pause` before sleeping: some 50 to 100 us, longer than the gap between two operations of a step and
 * too short to show in a power meter. */
#define POOL_SPINS 2000

/* A piece is this part of what is left of a range, and at least a block. */
#define POOL_PART 4

/* Blocks of an operation: a claim counts them in 16 bits. */
#define POOL_BLOCKS_MAX 0xffffu

/* Threads to wake. */
#define BIT_CALLER  1u
#define BIT_WORKERS 2u

struct worker {
    _Alignas(64) _Atomic uint64_t claim; /* generation << 32 | first free block << 16 | end of the free ones */
    struct pool *pool;
    pthread_t thread;
    uint32_t index;
};

struct pool {
    /* The chain; written by the caller before it runs. */
    pool_next_fn next;
    void *owner;

    /* The operation; written before its claims open, read by workers that have taken a piece. */
    struct pool_op op;
    uint32_t block; /* items; a multiple of op.grain */

    uint32_t n_workers;
    uint32_t n_started; /* threads, which are workers 1 to @n_started */
    uint32_t n_spins;

    _Alignas(64) _Atomic uint32_t generation;
    _Atomic uint32_t over_at; /* the generation that ends the chain; written before it is raised */
    _Atomic bool ending;
    _Alignas(64) _Atomic uint32_t n_left; /* blocks of this generation that are not done */
    _Alignas(64) _Atomic uint32_t n_asleep;
    _Atomic bool caller_sleeps;

    struct worker workers[];
};

static void futex_wait(_Atomic uint32_t *word, uint32_t value, uint32_t bit)
{
    /* After any error (the value changed, a signal) the caller looks again. */
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, NULL, NULL, bit);
}

static void futex_wake(_Atomic uint32_t *word, uint32_t n, uint32_t bits)
{
    syscall(SYS_futex, word, FUTEX_WAKE_BITSET_PRIVATE, n, NULL, NULL, bits);
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
static uint32_t wait_generation(struct pool *pool, uint32_t seen, uint32_t worker)
{
    const uint32_t bit = worker == 0 ? BIT_CALLER : BIT_WORKERS;
    uint32_t generation;

    for (uint32_t i = 0; i < pool->n_spins; i++) {
        generation = atomic_load_explicit(&pool->generation, memory_order_acquire);
        if (generation != seen) {
            return generation;
        }
        relax();
    }
    atomic_fetch_add(&pool->n_asleep, 1);
    if (worker == 0) {
        atomic_store(&pool->caller_sleeps, true);
    }
    while ((generation = atomic_load(&pool->generation)) == seen) {
        futex_wait(&pool->generation, seen, bit);
    }
    if (worker == 0) {
        atomic_store(&pool->caller_sleeps, false);
    }
    atomic_fetch_sub(&pool->n_asleep, 1);
    return generation;
}

/* ---- pieces ---- */

static uint64_t claim_of(uint32_t generation, uint32_t front, uint32_t back)
{
    return (uint64_t)generation << 32 | front << 16 | back;
}

/* Takes a piece of @owner's range in @generation. Returns its blocks; 0: none is left, or the generation is over. */
static uint32_t take_piece(struct worker *owner, uint32_t generation, bool is_thief, uint32_t *ret_first)
{
    uint64_t claim = atomic_load_explicit(&owner->claim, memory_order_acquire);

    for (;;) {
        const uint32_t front = claim >> 16 & 0xffff;
        const uint32_t back = claim & 0xffff;
        const uint32_t n = back > front ? (back - front - 1) / POOL_PART + 1 : 0;
        const uint64_t rest = is_thief ? claim_of(generation, front, back - n) : claim_of(generation, front + n, back);

        if (claim >> 32 != generation || n == 0) {
            return 0;
        }
        if (atomic_compare_exchange_weak_explicit(&owner->claim, &claim, rest, memory_order_acq_rel,
                                                  memory_order_acquire)) {
            *ret_first = is_thief ? back - n : front;
            return n;
        }
    }
}

/* Does pieces of @generation until none is free: its own, then those of the others. Returns the blocks done. */
static uint32_t run_pieces(struct pool *pool, uint32_t generation, uint32_t worker)
{
    uint32_t n_done = 0;

    for (uint32_t i = 0; i < pool->n_workers; i++) {
        struct worker *owner = &pool->workers[(worker + i) % pool->n_workers];
        uint32_t first, n;

        while ((n = take_piece(owner, generation, i > 0, &first)) > 0) {
            const uint64_t end = (uint64_t)(first + n) * pool->block;
            const uint32_t from = first * pool->block;

            pool->op.fn(pool->op.ctx, from, (uint32_t)(end < pool->op.n_items ? end : pool->op.n_items) - from, worker);
            n_done += n;
        }
    }
    return n_done;
}

/* ---- operations ---- */

/* Begins the next generation and wakes up to @n sleeping threads. */
static void raise_generation(struct pool *pool, uint32_t n)
{
    atomic_fetch_add(&pool->generation, 1);
    if (atomic_load(&pool->n_asleep) > 0) {
        futex_wake(&pool->generation, n, BIT_CALLER | BIT_WORKERS);
    }
}

static void end_chain(struct pool *pool)
{
    atomic_store(&pool->over_at, atomic_load_explicit(&pool->generation, memory_order_relaxed) + 1);
    atomic_fetch_add(&pool->generation, 1);
    if (atomic_load(&pool->caller_sleeps)) {
        futex_wake(&pool->generation, 1, BIT_CALLER);
    }
}

/* Deals out pool->op. Its items are more than a grain. */
static void open_op(struct pool *pool)
{
    const uint32_t generation = atomic_load_explicit(&pool->generation, memory_order_relaxed) + 1;
    const uint32_t n_grains = (pool->op.n_items - 1) / pool->op.grain + 1;
    const uint32_t n_together = (n_grains - 1) / POOL_BLOCKS_MAX + 1; /* grains of a block */
    const uint32_t n_blocks = (n_grains - 1) / n_together + 1;

    pool->block = n_together * pool->op.grain;
    atomic_store_explicit(&pool->n_left, n_blocks, memory_order_relaxed);
    for (uint32_t i = 0; i < pool->n_workers; i++) {
        const uint32_t from = (uint32_t)((uint64_t)n_blocks * i / pool->n_workers);
        const uint32_t to = (uint32_t)((uint64_t)n_blocks * (i + 1) / pool->n_workers);

        atomic_store_explicit(&pool->workers[i].claim, claim_of(generation, from, to), memory_order_release);
    }
    raise_generation(pool, n_blocks - 1);
}

/* Asks for operations, and runs those that are not worth a barrier, until one is opened or the chain ends. The thread
 * is the only one that works. */
static void go_on(struct pool *pool, uint32_t worker)
{
    while (pool->next(pool->owner, &pool->op)) {
        assert(pool->op.grain > 0);
        if (pool->op.n_items > pool->op.grain && pool->n_started > 0) {
            open_op(pool);
            return;
        }
        if (pool->op.n_items > 0) {
            pool->op.fn(pool->op.ctx, 0, pool->op.n_items, worker);
        }
    }
    end_chain(pool);
}

/* Works on @generation and those that follow while there are pieces to take. Returns the last generation seen. */
static uint32_t work_along(struct pool *pool, uint32_t generation, uint32_t worker)
{
    for (;;) {
        const uint32_t n = run_pieces(pool, generation, worker);

        if (n == 0) {
            return generation;
        }
        if (atomic_fetch_sub(&pool->n_left, n) == n) {
            go_on(pool, worker);
            generation++;
        }
    }
}

static void *work(void *ctx)
{
    struct worker *worker = ctx;
    struct pool *pool = worker->pool;
    uint32_t seen = 0;

    for (;;) {
        seen = wait_generation(pool, seen, worker->index);
        if (atomic_load(&pool->ending)) {
            return NULL;
        }
        seen = work_along(pool, seen, worker->index);
    }
}

void pool_chain(struct pool *pool, pool_next_fn next, void *owner)
{
    /* go_on() raises it, whether it opens an operation or ends the chain. */
    uint32_t seen = atomic_load_explicit(&pool->generation, memory_order_relaxed) + 1;

    pool->next = next;
    pool->owner = owner;
    go_on(pool, 0);
    seen = work_along(pool, seen, 0);
    while (atomic_load(&pool->over_at) != seen) {
        seen = wait_generation(pool, seen, 0);
        seen = work_along(pool, seen, 0);
    }
}

/* The only operation of a chain. */
struct single {
    struct pool_op op;
    bool is_done;
};

static bool next_single(void *owner, struct pool_op *ret_op)
{
    struct single *single = owner;

    if (single->is_done) {
        return false;
    }
    single->is_done = true;
    *ret_op = single->op;
    return true;
}

void pool_run(struct pool *pool, pool_fn fn, void *ctx, uint32_t n_items, uint32_t grain)
{
    struct single single = { .op = { .fn = fn, .ctx = ctx, .n_items = n_items, .grain = grain } };

    pool_chain(pool, next_single, &single);
}

/* ---- life ---- */

/* Starts workers 1 to n_workers - 1, with every signal blocked: signals are for the main thread. */
static int start_workers(struct pool *pool, const struct cores *cores)
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
            cores_bind(cores, worker->thread);
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r == 0 ? 0 : err_new(-r);
}

int pool_create(struct pool **ret_pool, const struct cores *cores)
{
    const uint32_t n = cores->n_threads < POOL_MAX_WORKERS ? cores->n_threads : POOL_MAX_WORKERS;
    cleanup(pool_destroyp) struct pool *pool = NULL;
    int r;

    pool = mem_calloc(MEM_SCRATCH, 1, sizeof(*pool) + n * sizeof(pool->workers[0]));
    if (!pool) {
        return err_new(-ENOMEM);
    }
    pool->n_workers = n;
    pool->n_spins = n <= cores->n_at_once ? POOL_SPINS : 0;
    cores_bind(cores, pthread_self());
    r = start_workers(pool, cores);
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
