/*
 * Pool: every item exactly once, no wait for a worker that has not begun, wake-ups, no cost while idle
 */
#include "unit.h"

#include "base/mem.h"
#include "kern/pool.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define MAX_ITEMS 1000

static struct pool *pool_of(uint32_t n_workers)
{
    const struct pool_setup setup = { .n_workers = n_workers };
    struct pool *pool = NULL;

    ck_assert_int_eq(pool_create(&pool, &setup), 0);
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
            ck_assert_uint_le(tally.n_calls, n_workers[_i] * 4);
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

START_TEST(pieces_differ_by_one_grain_at_most)
{
    struct pool *pool = pool_of(3);
    struct tally tally = { .grain = 16 };

    pool_run(pool, count, &tally, 16 * 31, 16);

    ck_assert_uint_eq(tally.n_calls, 12);
    ck_assert_uint_ge(tally.least, 2 * 16);
    ck_assert_uint_le(tally.most, 3 * 16);
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
    const struct pool_setup setup = { .n_workers = 2 };
    struct pool *pool = NULL;

    mem_fail_nth(0);

    ck_assert_int_lt(pool_create(&pool, &setup), 0);
    ck_assert_ptr_null(pool);
    mem_fail_nth(-1);
}
END_TEST

START_TEST(a_core_that_is_not_there_is_no_fault)
{
    const uint32_t cpus[] = { 0, 100000, 1023 };
    const struct pool_setup setup = { .n_workers = 3, .cpus = cpus, .n_cpus = 3 };
    struct tally tally = { .grain = 1 };
    struct pool *pool = NULL;

    ck_assert_int_eq(pool_create(&pool, &setup), 0);
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
    unit_add(tcase, a_worker_that_is_held_up_keeps_only_the_piece_that_it_has_begun, pieces_differ_by_one_grain_at_most,
             many_operations_in_a_row_see_each_others_results, sleeping_workers_and_a_sleeping_caller_are_woken,
             an_idle_pool_uses_no_processor, an_operation_allocates_nothing, a_pool_without_memory_is_a_fault,
             a_core_that_is_not_there_is_no_fault);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
