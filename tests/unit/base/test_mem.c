/* Accounts, alignment, and the three tools for tests. */
#include "base/mem.h"
#include "failed_alloc.h"
#include "unit.h"
#include <signal.h>
#include <string.h>

static struct mem_account read_account(enum mem_kind kind)
{
    struct mem_account account;

    mem_read(kind, &account);
    return account;
}

START_TEST(blocks_are_aligned_to_64_bytes)
{
    for (size_t size = 0; size < 300; size += 7) {
        void *plain = mem_alloc(MEM_MISC, size);
        void *zeroed = mem_calloc(MEM_MISC, size, 1);
        void *large = mem_calloc(MEM_MISC, (1 << 20) + size, 1);

        ck_assert_uint_eq((uintptr_t)plain % 64, 0);
        ck_assert_uint_eq((uintptr_t)zeroed % 64, 0);
        ck_assert_uint_eq((uintptr_t)large % 64, 0);
        mem_free(plain);
        mem_free(zeroed);
        mem_free(large);
    }
}
END_TEST

START_TEST(size_0_gives_a_block_of_its_own)
{
    void *a = mem_alloc(MEM_MISC, 0);
    void *b = mem_alloc(MEM_MISC, 0);

    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_ne(a, b);
    mem_free(a);
    mem_free(b);
}
END_TEST

START_TEST(account_follows_alloc_and_free)
{
    struct mem_account before = read_account(MEM_KV);
    void *block = mem_alloc(MEM_KV, 1000);

    ck_assert_uint_eq(read_account(MEM_KV).bytes, before.bytes + 1000);
    ck_assert_uint_eq(read_account(MEM_KV).blocks, before.blocks + 1);
    mem_free(block);
    ck_assert_uint_eq(read_account(MEM_KV).bytes, before.bytes);
    ck_assert_uint_eq(read_account(MEM_KV).blocks, before.blocks);
    ck_assert_uint_eq(read_account(MEM_KV).peak_bytes, 1000);
}
END_TEST

START_TEST(calloc_gives_zeros_small_and_large)
{
    const size_t sizes[] = { 1, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1 };

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint8_t *dirty = mem_alloc(MEM_MISC, sizes[i]);
        uint8_t *zeroed;

        memset(dirty, 0xAA, sizes[i]);
        mem_free(dirty);
        zeroed = mem_calloc(MEM_MISC, sizes[i], 1);
        ck_assert_uint_eq(zeroed[0], 0);
        ck_assert_int_eq(memcmp(zeroed, zeroed + 1, sizes[i] - 1), 0);
        mem_free(zeroed);
    }
}
END_TEST

START_TEST(product_that_wraps_is_refused)
{
    ck_assert_ptr_null(mem_calloc(MEM_MISC, SIZE_MAX / 2, 3));
    ck_assert_ptr_null(mem_calloc(MEM_MISC, (size_t)1 << 32, (size_t)1 << 32));
}
END_TEST

START_TEST(size_near_the_end_of_the_address_space_is_refused)
{
    struct mem_account before = read_account(MEM_MISC);

    ck_assert_ptr_null(mem_alloc(MEM_MISC, SIZE_MAX));
    ck_assert_ptr_null(mem_calloc(MEM_MISC, SIZE_MAX, 1));
    ck_assert_uint_eq(read_account(MEM_MISC).blocks, before.blocks);
}
END_TEST

START_TEST(realloc_keeps_content_and_kind)
{
    char *block = mem_strndup(MEM_TEXT, "hello", 5);
    uint64_t misc = read_account(MEM_MISC).bytes;

    block = mem_realloc(MEM_MISC, block, 3000);

    ck_assert_str_eq(block, "hello");
    ck_assert_uint_eq(read_account(MEM_MISC).bytes, misc);
    ck_assert_uint_eq(read_account(MEM_TEXT).bytes, 3000);
    block = mem_realloc(MEM_MISC, block, 2);
    ck_assert_int_eq(memcmp(block, "he", 2), 0);
    mem_free(block);
}
END_TEST

START_TEST(failed_realloc_leaves_the_old_block)
{
    char *block = mem_strndup(MEM_TEXT, "hello", 5);

    mem_fail_nth(0);

    ck_assert_ptr_null(mem_realloc(MEM_TEXT, block, 3000));
    ck_assert_str_eq(block, "hello");
    mem_free(block);
}
END_TEST

START_TEST(strndup_copies_bytes_with_zeros_inside)
{
    char *copy = mem_strndup(MEM_MISC, "a\0b", 3);

    ck_assert_int_eq(memcmp(copy, "a\0b\0", 4), 0);
    mem_free(copy);
    copy = mem_strndup(MEM_MISC, NULL, 0);
    ck_assert_str_eq(copy, "");
    mem_free(copy);
}
END_TEST

START_TEST(strndup_of_all_memory_is_refused)
{
    ck_assert_ptr_null(mem_strndup(MEM_MISC, "", SIZE_MAX));
}
END_TEST

START_TEST(charge_counts_bytes_without_blocks)
{
    struct mem_account before = read_account(MEM_STREAM);

    mem_charge(MEM_STREAM, 5000);

    ck_assert_uint_eq(read_account(MEM_STREAM).bytes, before.bytes + 5000);
    ck_assert_uint_eq(read_account(MEM_STREAM).blocks, before.blocks);
    mem_charge(MEM_STREAM, -5000);
    ck_assert_uint_eq(read_account(MEM_STREAM).bytes, before.bytes);
}
END_TEST

START_TEST(nth_allocation_fails_once)
{
    void *first;
    void *third;

    mem_fail_nth(1);
    first = mem_alloc(MEM_MISC, 1);

    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_null(mem_alloc(MEM_MISC, 1));
    third = mem_alloc(MEM_MISC, 1);
    ck_assert_ptr_nonnull(third);
    mem_free(first);
    mem_free(third);
}
END_TEST

START_TEST(guard_counts_breaches_of_its_phase)
{
    mem_free(mem_alloc(MEM_MISC, 1));
    mem_guard_begin("step", false);
    ck_assert_uint_eq(mem_guard_end(), 0);

    mem_guard_begin("step", false);
    mem_free(mem_alloc(MEM_MISC, 1));
    mem_free(mem_calloc(MEM_MISC, 1, 1));
    ck_assert_uint_eq(mem_guard_end(), 2);
}
END_TEST

START_TEST(guard_that_aborts_ends_the_process_on_allocation)
{
    mem_guard_begin("step", true);
    mem_alloc(MEM_MISC, 1);
}
END_TEST

START_TEST(foreign_pointer_ends_the_process)
{
    static _Alignas(64) char foreign[256];

    mem_free(foreign + 128);
}
END_TEST

START_TEST(nothing_may_be_freed)
{
    void *none = NULL;

    mem_free(NULL);
    mem_freep(&none);
}
END_TEST

START_TEST(pages_of_a_large_block_are_spare_until_they_are_returned)
{
    mem_return_spare();
    mem_free(mem_alloc(MEM_MISC, 1000));
    ck_assert(!mem_has_spare());
    mem_free(mem_alloc(MEM_MISC, 1000000));
    ck_assert(mem_has_spare());
    mem_return_spare();
    ck_assert(!mem_has_spare());
}
END_TEST

START_TEST(every_kind_has_a_name)
{
    for (int kind = 0; kind < MEM_KIND_COUNT; kind++) {
        ck_assert_ptr_nonnull(mem_kind_name((enum mem_kind)kind));
        ck_assert_str_ne(mem_kind_name((enum mem_kind)kind), "unknown");
    }
}
END_TEST

static int two_blocks(void *data)
{
    char *a = mem_alloc(MEM_MISC, 1);
    char *b = a ? mem_alloc(MEM_MISC, 1) : NULL;
    int r = b ? 0 : -ENOMEM;

    mem_free(b);
    mem_free(a);
    *(int *)data += 1;
    return r;
}

START_TEST(failed_alloc_helper_fails_each_in_turn)
{
    int n_runs = 0;

    for_each_failed_alloc(two_blocks, &n_runs);

    ck_assert_int_eq(n_runs, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mem");
    TCase *tcase = tcase_create("mem");

    unit_add(tcase, blocks_are_aligned_to_64_bytes, size_0_gives_a_block_of_its_own, account_follows_alloc_and_free,
             calloc_gives_zeros_small_and_large, product_that_wraps_is_refused,
             size_near_the_end_of_the_address_space_is_refused, realloc_keeps_content_and_kind,
             failed_realloc_leaves_the_old_block, strndup_copies_bytes_with_zeros_inside,
             strndup_of_all_memory_is_refused, charge_counts_bytes_without_blocks, nth_allocation_fails_once,
             guard_counts_breaches_of_its_phase);
    tcase_add_test_raise_signal(tcase, guard_that_aborts_ends_the_process_on_allocation, SIGABRT);
    tcase_add_test_raise_signal(tcase, foreign_pointer_ends_the_process, SIGABRT);
    unit_add(tcase, nothing_may_be_freed, pages_of_a_large_block_are_spare_until_they_are_returned,
             every_kind_has_a_name, failed_alloc_helper_fails_each_in_turn);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
