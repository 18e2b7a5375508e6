/*
 * Peaks: no figure is judged, only that there is one where the processor has the instructions.
 */
#include "base/mem.h"
#include "kern/cpu.h"
#include "kern/peak.h"
#include "unit.h"
#include <math.h>
#include <string.h>

static struct pool *pool_of(uint32_t n_workers)
{
    struct cores cores;
    struct pool *pool;

    cores_choose(&cores, "", NULL, n_workers);
    ck_assert_int_eq(pool_create(&pool, &cores), 0);
    return pool;
}

START_TEST(a_rate_is_there_where_the_instructions_are)
{
    struct pool *pool = pool_of(2);
    const bool has_avx2 = (cpu_detect() & CPU_AVX2) && (cpu_detect() & CPU_FMA);

    for (int kind = 0; kind < PEAK_KIND_COUNT; kind++) {
        double rate = peak_compute(pool, (enum peak_kind)kind);

        ck_assert(isfinite(rate) && rate >= 0);
        ck_assert(kind == PEAK_BF16 || !has_avx2 || rate > 0);
        ck_assert_ptr_nonnull(peak_name((enum peak_kind)kind));
    }
    pool_destroy(pool);
}
END_TEST

START_TEST(values_in_vector_registers_survive_a_measurement)
{
    struct pool *pool = pool_of(1);
    volatile double before = 1.25;
    double held = before * 3;

    peak_compute(pool, PEAK_INT8);
    peak_compute(pool, PEAK_F32);

    ck_assert_double_eq(held, before * 3);
    pool_destroy(pool);
}
END_TEST

START_TEST(reading_stays_within_the_block)
{
    struct pool *pool = pool_of(3);

    for (size_t n = 0; n <= 100000; n = n * 3 + 1) {
        uint8_t *block = mem_alloc(MEM_SCRATCH, n);

        memset(block, 1, n);
        ck_assert(isfinite(peak_read(pool, block, n)));
        mem_free(block);
    }
    pool_destroy(pool);
}
END_TEST

int main(void)
{
    return unit_facts("kern-peak", a_rate_is_there_where_the_instructions_are,
                      values_in_vector_registers_survive_a_measurement, reading_stays_within_the_block);
}
