/*
 * Pool: every item exactly once, no wait for a worker that has not begun, operations one after the other although
 * threads are stopped, wake-ups, no cost while idle
 */
#include "unit.h"

#include "base/mem.h"
#include "kern/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define MAX_ITEMS 1000

static struct pool *pool_of(uint32_t n_workers)
{
    struct pool *pool = NULL;
    struct cores cores;

    cores_choose(&cores, "", NULL, n_workers);
    ck_assert_int_eq(pool_create(&pool, &cores), 0);
    ck_assert_uint_eq(pool_n_workers(pool), n_workers);
    return pool;
}

struct tally {
    uint32_t grain;
    uint32_t seen[MAX_ITEMS]; /* plain: items of a piece belong to one worker alone */
    uint32_t worker[MAX_ITEMS];
    _Atomic uint32_t n_calls;
    _Atomic uint32_t least; /* items of the smallest piece; 0: none yet */
    _Atomic uint32_t most;
};

static void note_size(struct tally *tally, uint32_t n)
{
    uint32_t least = tally->least;
    uint32_t most = tally->most;

    while ((least == 0 || n < least) && !atomic_compare_exchange_weak(&tally->least, &least, n)) {
    }
    while (n > most && !atomic_compare_exchange_weak(&tally->most, &most, n)) {
    }
}

static void count(void *ctx, uint32_t first, uint32_t n, uint32_t worker)
{
    struct tally *tally = ctx;

    ck_assert_uint_gt(n, 0);
    ck_assert_uint_eq(first % tally->grain, 0);
    atomic_fetch_add(&tally->n_calls, 1);
    note_size(tally, n);
    for (uint32_t i = first; i < first + n; i++) {
        tally->seen[i]++;
        tally->worker[i] = worker;
    }
}

static void count_items(void *ctx, uint32_t first, uint32_t n, uint32_t worker)
{
    atomic_fetch_add((_Atomic uint32_t *)ctx, n);
    (void)first;
    (void)worker;
}

START_TEST(every_item_is_done_once_whatever_the_split)
{
    static const uint32_t n_workers[] = { 1, 2, 3, 5, 8 };
    static const uint32_t grains[] = { 1, 3, 16 };
    struct pool *pool = pool_of(n_workers[_i]);

    for (uint32_t n = 0; n <= MAX_ITEMS; n += 1 + n / 7) {
        for (size_t g = 0; g < 3; g++) {
            struct tally tally = { .grain = grains[g] };

            pool_run(pool, count, &tally, n, grains[g]);

            for (uint32_t i = 0; i < MAX_ITEMS; i++) {
                ck_assert_uint_eq(tally.seen[i], i < n ? 1 : 0);
            }
        }
    }
    pool_destroy(pool);
}
END_TEST

static void sleep_ms(long ms)
{
    const struct timespec time = { .tv_nsec = ms * 1000000 };

    nanosleep(&time, NULL);
}

#define ROBBED_ITEMS 8
#define PATIENCE_MS  60000

/* Worker 1 loses its core in its first piece until all others are done: they must not wait for pieces that it has not
 * begun. */
static void robbed(void *ctx, uint32_t first, uint32_t n, uint32_t worker)
{
    struct tally *tally = ctx;

    count(ctx, first, n, worker);
    for (int i = 0; worker == 1 && tally->n_calls < ROBBED_ITEMS && i < PATIENCE_MS; i++) {
        sleep_ms(1);
    }
    sleep_ms(1);
}

START_TEST(a_worker_that_is_held_up_keeps_only_the_piece_that_it_has_begun)
{
    struct pool *pool = pool_of(2);
    struct tally tally = { .grain = 1 };
    uint32_t n_of_1 = 0;

    pool_run(pool, robbed, &tally, ROBBED_ITEMS, 1);

    for (uint32_t i = 0; i < ROBBED_ITEMS; i++) {
        ck_assert_uint_eq(tally.seen[i], 1);
        n_of_1 += tally.worker[i] == 1;
    }
    ck_assert_uint_le(n_of_1, 1);
    pool_destroy(pool);
}
END_TEST

START_TEST(a_piece_is_a_quarter_of_what_is_left_at_most)
{
    struct pool *pool = pool_of(3);
    struct tally tally = { .grain = 16 };

    pool_run(pool, count, &tally, 16 * 31, 16);

    ck_assert_uint_le(tally.n_calls, 21); /* of ranges of 10, 10 and 11 grains */
    ck_assert_uint_eq(tally.least, 16);
    ck_assert_uint_le(tally.most, 3 * 16);
    pool_destroy(pool);
}
END_TEST

START_TEST(many_items_are_all_done)
{
    struct pool *pool = pool_of(2);
    _Atomic uint32_t n_done = 0;

    pool_run(pool, count_items, &n_done, 7 * 65536 + 5, 3);

    ck_assert_uint_eq(n_done, 7 * 65536 + 5);
    pool_destroy(pool);
}
END_TEST

static void add_up(void *ctx, uint32_t first, uint32_t n, uint32_t worker)
{
    uint64_t *sums = ctx;

    for (uint32_t i = first; i < first + n; i++) {
        sums[8 + i] = sums[i % 8] + 1;
    }
    (void)worker;
}

START_TEST(many_operations_in_a_row_see_each_others_results)
{
    struct pool *pool = pool_of(4);
    uint64_t sums[8 + 8] = { 0 };

    for (uint32_t round = 0; round < 3000; round++) {
        pool_run(pool, add_up, sums, 8, 1);
        memcpy(sums, sums + 8, 8 * sizeof(sums[0]));
    }

    for (uint32_t i = 0; i < 8; i++) {
        ck_assert_uint_eq(sums[i], 3000);
    }
    pool_destroy(pool);
}
END_TEST

/* Operations that each read what the one before has written. */
struct chain {
    uint32_t n_ops;
    uint32_t n_begun;
    uint32_t grain;
    uint64_t sums[2][8];
    _Atomic uint32_t n_beginners; /* threads within next_add() */
    _Atomic bool met;             /* two were there at once */
};

static void add_chain(void *ctx, uint32_t first, uint32_t n, uint32_t worker)
{
    struct chain *chain = ctx;
    uint32_t now = chain->n_begun % 2;

    for (uint32_t i = first; i < first + n; i++) {
        chain->sums[now][i] = chain->sums[1 - now][7 - i] + 1;
    }
    (void)worker;
}

static bool next_add(void *owner, struct pool_op *ret_op)
{
    struct chain *chain = owner;

    if (atomic_fetch_add(&chain->n_beginners, 1) > 0) {
        chain->met = true;
    }
    *ret_op = (struct pool_op){ .fn = add_chain, .ctx = chain, .n_items = 8, .grain = chain->grain };
    chain->n_begun++;
    atomic_fetch_sub(&chain->n_beginners, 1);
    return chain->n_begun <= chain->n_ops;
}

START_TEST(operations_of_a_chain_follow_each_other)
{
    struct pool *pool = pool_of(4);
    struct chain chain = { .n_ops = 5000, .grain = _i == 0 ? 1 : 8 }; /* 8: without a barrier */

    for (uint32_t i = 0; i < 3; i++) {
        chain.n_begun = 0;
        memset(chain.sums, 0, sizeof(chain.sums));

        pool_chain(pool, next_add, &chain);

        ck_assert_uint_eq(chain.n_begun, 5001);
        for (uint32_t k = 0; k < 8; k++) {
            ck_assert_uint_eq(chain.sums[chain.n_ops % 2][k], chain.n_ops);
        }
    }
    ck_assert(!chain.met);
    pool_destroy(pool);
}
END_TEST

#define STOPS 200

static void stop(int signal)
{
    (void)signal;
    sleep_ms(1);
}

static void *run_chain(void *ctx)
{
    struct pool *pool = pool_of(3);
    struct chain *chain = ctx;

    pool_chain(pool, next_add, chain);
    pool_destroy(pool);
    return NULL;
}

START_TEST(a_caller_that_is_stopped_anywhere_changes_nothing)
{
    const struct sigaction action = { .sa_handler = stop };
    struct chain chain = { .n_ops = 100000, .grain = 1 };
    pthread_t caller;

    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    ck_assert_int_eq(pthread_create(&caller, NULL, run_chain, &chain), 0);
    for (uint32_t i = 0; i < STOPS; i++) {
        ck_assert_int_eq(pthread_kill(caller, SIGUSR1), 0);
        sleep_ms(1);
    }
    ck_assert_int_eq(pthread_join(caller, NULL), 0);

    for (uint32_t k = 0; k < 8; k++) {
        ck_assert_uint_eq(chain.sums[chain.n_ops % 2][k], chain.n_ops);
    }
}
END_TEST

/* Operations of two items, until one was begun by another thread than the caller. */
struct relay {
    pthread_t caller;
    bool is_passed_on;
    _Atomic uint32_t n_done;
};

/* Worker 1 is the last to be done, if it got an item. */
static void finish_last(void *ctx, uint32_t first, uint32_t n, uint32_t worker)
{
    struct relay *relay = ctx;

    sleep_ms(1);
    while (worker == 1 && n == 1 && relay->n_done % 2 == 0) {
        sleep_ms(1);
    }
    atomic_fetch_add(&relay->n_done, n);
    (void)first;
}

static bool next_relay(void *owner, struct pool_op *ret_op)
{
    struct relay *relay = owner;

    relay->is_passed_on = !pthread_equal(pthread_self(), relay->caller);
    *ret_op = (struct pool_op){ .fn = finish_last, .ctx = relay, .n_items = 2, .grain = 1 };
    return !relay->is_passed_on;
}

START_TEST(the_worker_that_is_done_last_begins_the_next_operation)
{
    struct pool *pool = pool_of(2);
    struct relay relay = { .caller = pthread_self() };

    pool_chain(pool, next_relay, &relay);

    ck_assert(relay.is_passed_on);
    ck_assert_uint_eq(relay.n_done % 2, 0);
    pool_destroy(pool);
}
END_TEST

static void dawdle(void *ctx, uint32_t first, uint32_t n, uint32_t worker)
{
    sleep_ms(worker > 0 ? 5 : 1); /* the caller must go to sleep, and be woken */
    atomic_fetch_add((_Atomic uint32_t *)ctx, n);
    (void)first;
}

START_TEST(sleeping_workers_and_a_sleeping_caller_are_woken)
{
    struct pool *pool = pool_of(3);
    _Atomic uint32_t n_done = 0;

    for (uint32_t round = 0; round < 20; round++) {
        sleep_ms(5);
        pool_run(pool, dawdle, &n_done, 3, 1);
        ck_assert_uint_eq(n_done, 3 * (round + 1));
    }
    pool_destroy(pool);
}
END_TEST

static uint64_t cpu_us(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

START_TEST(an_idle_pool_uses_no_processor)
{
    struct pool *pool = pool_of(4);
    _Atomic uint32_t n_done = 0;
    uint64_t before;

    pool_run(pool, dawdle, &n_done, 4, 1);
    sleep_ms(50);
    before = cpu_us();
    sleep_ms(200);

    ck_assert_uint_lt(cpu_us() - before, 10000);
    pool_destroy(pool);
}
END_TEST

START_TEST(an_operation_allocates_nothing)
{
    struct pool *pool = pool_of(2);
    struct tally tally = { .grain = 1 };
    const uint64_t before = mem_n_allocs();

    pool_run(pool, count, &tally, 100, 1);

    ck_assert_uint_eq(mem_n_allocs(), before);
    pool_destroy(pool);
}
END_TEST

START_TEST(a_pool_without_memory_is_a_fault)
{
    const struct cores cores = { .n_threads = 2, .n_at_once = 2 };
    struct pool *pool = NULL;

    mem_fail_nth(0);

    ck_assert_int_lt(pool_create(&pool, &cores), 0);
    ck_assert_ptr_null(pool);
    mem_fail_nth(-1);
}
END_TEST

START_TEST(a_core_that_is_not_there_is_no_fault)
{
    struct cores cores = { .n_threads = 3, .n_at_once = 3, .n_left = 1 };
    struct tally tally = { .grain = 1 };
    struct pool *pool = NULL;

    CPU_SET_S(CORES_MAX - 1, sizeof(cores.chosen), cores.chosen.words);

    ck_assert_int_eq(pool_create(&pool, &cores), 0);
    pool_run(pool, count, &tally, 10, 1);

    ck_assert_uint_eq(tally.seen[9], 1);
    pool_destroyp(&pool);
    ck_assert_ptr_null(pool);
    pool_destroy(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kern-pool");
    TCase *tcase = tcase_create("pool");

    tcase_add_loop_test(tcase, every_item_is_done_once_whatever_the_split, 0, 5);
    unit_add(tcase, a_worker_that_is_held_up_keeps_only_the_piece_that_it_has_begun,
             a_piece_is_a_quarter_of_what_is_left_at_most, many_items_are_all_done,
             many_operations_in_a_row_see_each_others_results, sleeping_workers_and_a_sleeping_caller_are_woken,
             a_caller_that_is_stopped_anywhere_changes_nothing, the_worker_that_is_done_last_begins_the_next_operation,
             an_idle_pool_uses_no_processor, an_operation_allocates_nothing, a_pool_without_memory_is_a_fault,
             a_core_that_is_not_there_is_no_fault);
    tcase_add_loop_test(tcase, operations_of_a_chain_follow_each_other, 0, 2);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
