/*
 * Lets each allocation of a scenario fail in turn and looks whether everything was given back.
 *
 * For rooms below those with libuv, which ends the process when it cannot grow its tables.
 */
#ifndef SOTTO_TESTS_FAILED_ALLOC_H
#define SOTTO_TESTS_FAILED_ALLOC_H

#include "base/mem.h"
#include <check.h>
#include <errno.h>

/* Builds something, uses it, and gives all of it back. 0, or -ENOMEM when an allocation failed. */
typedef int (*alloc_scenario_fn)(void *data);

struct alloc_totals {
    uint64_t bytes[MEM_KIND_COUNT];
    uint64_t blocks[MEM_KIND_COUNT];
};

static inline void alloc_totals_read(struct alloc_totals *ret_totals)
{
    for (int kind = 0; kind < MEM_KIND_COUNT; kind++) {
        struct mem_account account;

        mem_read((enum mem_kind)kind, &account);
        ret_totals->bytes[kind] = account.bytes;
        ret_totals->blocks[kind] = account.blocks;
    }
}

static inline void alloc_totals_compare(const struct alloc_totals *before, uint64_t nth)
{
    struct alloc_totals after;

    alloc_totals_read(&after);
    for (int kind = 0; kind < MEM_KIND_COUNT; kind++) {
        ck_assert_msg(after.blocks[kind] == before->blocks[kind] && after.bytes[kind] == before->bytes[kind],
                      "allocation %lu failed, and %ld blocks (%ld bytes) of kind %s were not given back",
                      (unsigned long)nth, (long)(after.blocks[kind] - before->blocks[kind]),
                      (long)(after.bytes[kind] - before->bytes[kind]), mem_kind_name((enum mem_kind)kind));
    }
}

/* Runs @scenario undisturbed, counting; then once for each of its allocations, which fails. */
static inline void for_each_failed_alloc(alloc_scenario_fn scenario, void *data)
{
    struct alloc_totals before;
    uint64_t n_before;
    uint64_t n;

    alloc_totals_read(&before);
    n_before = mem_n_allocs();
    ck_assert_int_eq(scenario(data), 0);
    n = mem_n_allocs() - n_before;
    ck_assert_uint_gt(n, 0);
    alloc_totals_compare(&before, n);

    for (uint64_t nth = 0; nth < n; nth++) {
        int r;

        mem_fail_nth((int64_t)nth);
        r = scenario(data);
        mem_fail_nth(-1);
        ck_assert_msg(r == -ENOMEM, "allocation %lu of %lu failed, and the scenario says %d", (unsigned long)nth,
                      (unsigned long)n, r);
        alloc_totals_compare(&before, nth);
    }
}

#endif
