/*
 * Pool: a bell, a range for each worker, and a count that falls
 *
 * @bell rises with each operation that is opened and at the end of a chain; threads without work wait for that. They
 * spin for a while and then sleep on the word itself (futex): the kernel compares the value again before a thread
 * sleeps, so no wake-up is lost. A thread announces its sleep first (@n_asleep, @caller_sleeps), and a thread that
 * rings looks there afterwards. All of this is sequentially consistent, so one of the two always sees the other, and a
 * wake-up costs a system call only when a thread sleeps. The caller sleeps under a bit of its own, so the end of a
 * chain wakes no other thread. The bell says only that it is worth looking again.
 *
 * Items are dealt out in grains: @range of a worker holds both ends of what is left to it. The owner takes a part of
 * the rest from the front, so undisturbed workers meet no other's cache line and find their rows in their own cache the
 * next time; thieves take from the back. Pieces shrink towards the end of a range, so workers finish together. Whatever
 * a latecomer takes is a piece of the operation that runs, since it reads that only afterwards, and no other begins
 * before the piece is done.
 *
 * @n_left falls to 0 as grains are done. The worker that brings it there is alone: no thread holds a piece, and none is
 * left. It asks for the next operation, deals it out, and rings.
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

/* A piece is this part of what is left of a range, and at least a grain. */
#define POOL_PART 4

/* Threads to wake. */
#define BIT_CALLER  1u
#define BIT_WORKERS 2u

struct worker {
    _Alignas(64) _Atomic uint64_t range; /* first free grain << 32 | end of the free ones */
    struct pool *pool;
    pthread_t thread;
    uint32_t index;
};

struct pool {
    /* The chain; written by the caller before it runs. */
    pool_next_fn next;
    void *owner;

    /* The operation; written before its ranges open, read by workers that have taken a piece. */
    struct pool_op op;

    uint32_t n_workers;
    uint32_t n_started; /* threads, which are workers 1 to @n_started */
    uint32_t n_spins;

    _Alignas(64) _Atomic uint32_t bell;
    _Atomic bool is_over; /* the chain */
    _Atomic bool ending;
    _Alignas(64) _Atomic uint32_t n_left; /* grains of the operation that are not done */
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

/* Waits until the bell is no longer @seen. */
static void wait_bell(struct pool *pool, uint32_t seen, uint32_t worker)
{
    for (uint32_t i = 0; i < pool->n_spins; i++) {
        if (atomic_load_explicit(&pool->bell, memory_order_acquire) != seen) {
            return;
        }
        relax();
    }
    atomic_fetch_add(&pool->n_asleep, 1);
    if (worker == 0) {
        atomic_store(&pool->caller_sleeps, true);
    }
    while (atomic_load(&pool->bell) == seen) {
        futex_wait(&pool->bell, seen, worker == 0 ? BIT_CALLER : BIT_WORKERS);
    }
    if (worker == 0) {
        atomic_store(&pool->caller_sleeps, false);
    }
    atomic_fetch_sub(&pool->n_asleep, 1);
}

/* Rings, and wakes up to @n sleeping threads. */
static void ring(struct pool *pool, uint32_t n)
{
    atomic_fetch_add(&pool->bell, 1);
    if (atomic_load(&pool->n_asleep) > 0) {
        futex_wake(&pool->bell, n, BIT_CALLER | BIT_WORKERS);
    }
}

/* ---- pieces ---- */

static uint64_t range_of(uint32_t front, uint32_t back)
{
    return (uint64_t)front << 32 | back;
}

/* Takes a piece of @owner's range. Returns its grains; 0: none is left. */
static uint32_t take_piece(struct worker *owner, bool is_thief, uint32_t *ret_first)
{
    uint64_t range = atomic_load_explicit(&owner->range, memory_order_acquire);

    for (;;) {
        const uint32_t front = (uint32_t)(range >> 32);
        const uint32_t back = (uint32_t)range;
        const uint32_t n = back > front ? (back - front - 1) / POOL_PART + 1 : 0;
        const uint64_t rest = is_thief ? range_of(front, back - n) : range_of(front + n, back);

        if (n == 0) {
            return 0;
        }
        if (atomic_compare_exchange_weak_explicit(&owner->range, &range, rest, memory_order_acq_rel,
                                                  memory_order_acquire)) {
            *ret_first = is_thief ? back - n : front;
            return n;
        }
    }
}

/* Does pieces until none is free: its own, then those of the others. Returns the grains done. */
static uint32_t run_pieces(struct pool *pool, uint32_t worker)
{
    uint32_t n_done = 0;

    for (uint32_t i = 0; i < pool->n_workers; i++) {
        struct worker *owner = &pool->workers[(worker + i) % pool->n_workers];
        uint32_t first, n;

        while ((n = take_piece(owner, i > 0, &first)) > 0) {
            const struct pool_op *op = &pool->op;
            const uint64_t end = (uint64_t)(first + n) * op->grain;
            const uint32_t from = first * op->grain;

            op->fn(op->ctx, from, (uint32_t)(end < op->n_items ? end : op->n_items) - from, worker);
            n_done += n;
        }
    }
    return n_done;
}

/* ---- operations ---- */

/* Deals out pool->op. Its items are more than a grain. */
static void open_op(struct pool *pool)
{
    const uint32_t n_grains = (pool->op.n_items - 1) / pool->op.grain + 1;

    atomic_store_explicit(&pool->n_left, n_grains, memory_order_relaxed);
    for (uint32_t i = 0; i < pool->n_workers; i++) {
        const uint32_t from = (uint32_t)((uint64_t)n_grains * i / pool->n_workers);
        const uint32_t to = (uint32_t)((uint64_t)n_grains * (i + 1) / pool->n_workers);

        atomic_store_explicit(&pool->workers[i].range, range_of(from, to), memory_order_release);
    }
    ring(pool, n_grains - 1);
}

/* The caller may go and begin another chain before the bell rings; that is then one ring too many. */
static void end_chain(struct pool *pool)
{
    atomic_store(&pool->is_over, true);
    atomic_fetch_add(&pool->bell, 1);
    if (atomic_load(&pool->caller_sleeps)) {
        futex_wake(&pool->bell, 1, BIT_CALLER);
    }
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

/* Works while there are pieces to take. Returns the bell from before it found none. */
static uint32_t work_along(struct pool *pool, uint32_t worker)
{
    for (;;) {
        const uint32_t seen = atomic_load(&pool->bell);
        const uint32_t n = run_pieces(pool, worker);

        if (n == 0) {
            return seen;
        }
        if (atomic_fetch_sub(&pool->n_left, n) == n) {
            go_on(pool, worker);
        }
    }
}

static void *work(void *ctx)
{
    struct worker *worker = ctx;
    struct pool *pool = worker->pool;

    for (;;) {
        const uint32_t seen = work_along(pool, worker->index);

        if (atomic_load(&pool->ending)) {
            return NULL;
        }
        wait_bell(pool, seen, worker->index);
    }
}

void pool_chain(struct pool *pool, pool_next_fn next, void *owner)
{
    pool->next = next;
    pool->owner = owner;
    atomic_store(&pool->is_over, false);
    go_on(pool, 0);
    for (;;) {
        const uint32_t seen = work_along(pool, 0);

        if (atomic_load(&pool->is_over)) {
            return;
        }
        wait_bell(pool, seen, 0);
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
    ring(pool, INT32_MAX);
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
