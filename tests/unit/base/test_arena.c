/* Bump memory: aligned, below its ceiling, and given back at once. */
#include "base/arena.h"
#include "failed_alloc.h"
#include "unit.h"
#include <string.h>

START_TEST(blocks_are_aligned_and_apart)
{
    struct arena arena;
    uint8_t *blocks[200];

    arena_init(&arena, MEM_WIRE, 1 << 20);
    for (size_t i = 0; i < 200; i++) {
        blocks[i] = arena_alloc(&arena, i);
        ck_assert_ptr_nonnull(blocks[i]);
        ck_assert_uint_eq((uintptr_t)blocks[i] % 16, 0);
        memset(blocks[i], (int)i, i);
    }

    for (size_t i = 0; i < 200; i++) {
        for (size_t j = 0; j < i; j++) {
            ck_assert_uint_eq(blocks[i][j], i);
        }
    }
    arena_finish(&arena);
}
END_TEST

START_TEST(ceiling_is_exact_and_told)
{
    struct arena arena;

    arena_init(&arena, MEM_WIRE, 64);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 48));

    ck_assert_ptr_null(arena_alloc(&arena, 17));
    ck_assert(arena.exceeded);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 16));
    ck_assert_ptr_null(arena_alloc(&arena, 0));
    arena_finish(&arena);
}
END_TEST

START_TEST(huge_size_is_refused_not_wrapped)
{
    struct arena arena;

    arena_init(&arena, MEM_WIRE, SIZE_MAX);

    ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX));
    ck_assert(arena.exceeded);
}
END_TEST

START_TEST(lack_of_memory_is_not_the_ceiling)
{
    struct arena arena;

    arena_init(&arena, MEM_WIRE, 1000);
    mem_fail_nth(0);

    ck_assert_ptr_null(arena_alloc(&arena, 10));
    ck_assert(!arena.exceeded);
    arena_finish(&arena);
}
END_TEST

START_TEST(reset_keeps_one_chunk_and_forgets_the_refusal)
{
    struct arena arena;
    struct mem_account account;
    uint64_t n_allocs;

    arena_init(&arena, MEM_WIRE, 100000);
    while (arena_alloc(&arena, 100)) {
    }
    arena_reset(&arena);

    mem_read(MEM_WIRE, &account);
    ck_assert_uint_eq(account.blocks, 1);
    ck_assert(!arena.exceeded);
    n_allocs = mem_n_allocs();
    ck_assert_ptr_nonnull(arena_alloc(&arena, 100));
    ck_assert_uint_eq(mem_n_allocs(), n_allocs);
    arena_finish(&arena);
}
END_TEST

START_TEST(finished_arena_holds_nothing)
{
    struct arena arena;
    struct mem_account account;

    arena_init(&arena, MEM_WIRE, 100000);
    arena_alloc(&arena, 50000);
    arena_alloc(&arena, 40000);
    arena_finish(&arena);

    mem_read(MEM_WIRE, &account);
    ck_assert_uint_eq(account.bytes, 0);
}
END_TEST

START_TEST(chunks_stay_near_the_ceiling)
{
    struct arena arena;
    struct mem_account account;

    arena_init(&arena, MEM_WIRE, 1 << 20);
    while (arena_alloc(&arena, 1000)) {
    }

    mem_read(MEM_WIRE, &account);
    ck_assert_uint_lt(account.bytes, (1 << 20) + (64 << 10));
    arena_finish(&arena);
}
END_TEST

int main(void)
{
    return unit_facts("arena", blocks_are_aligned_and_apart, ceiling_is_exact_and_told,
                      huge_size_is_refused_not_wrapped, lack_of_memory_is_not_the_ceiling,
                      reset_keeps_one_chunk_and_forgets_the_refusal, finished_arena_holds_nothing,
                      chunks_stay_near_the_ceiling);
}
