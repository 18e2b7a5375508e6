/* Numbers and bytes to values, through growth, removal and reuse. */
#include "base/map.h"
#include "failed_alloc.h"
#include "unit.h"
#include <string.h>

static union map_value number(uint64_t n)
{
    return (union map_value){ .number = n };
}

START_TEST(empty_map_finds_nothing)
{
    struct map map;
    size_t at = 0;

    map_init(&map, MEM_MISC);

    ck_assert_ptr_null(map_find(&map, 0));
    ck_assert_ptr_null(map_find_bytes(&map, "a", 1));
    ck_assert(!map_remove(&map, 0));
    ck_assert_ptr_null(map_next(&map, &at));
    map_finish(&map);
}
END_TEST

START_TEST(numbers_are_found_after_growth)
{
    struct map map;

    map_init(&map, MEM_MISC);
    for (uint64_t i = 0; i < 10000; i++) {
        ck_assert_int_eq(map_put(&map, i << 32, number(i)), MAP_OK);
    }

    ck_assert_uint_eq(map.n, 10000);
    for (uint64_t i = 0; i < 10000; i++) {
        ck_assert_uint_eq(map_find(&map, i << 32)->number, i);
    }
    ck_assert_ptr_null(map_find(&map, 1));
    map_finish(&map);
}
END_TEST

START_TEST(bytes_are_compared_whole)
{
    struct map map;

    map_init(&map, MEM_MISC);
    map_put_bytes(&map, "a\0b", 3, number(1));
    map_put_bytes(&map, "a\0c", 3, number(2));
    map_put_bytes(&map, "a", 1, number(3));
    map_put_bytes(&map, "", 0, number(4));
    map_put_bytes(&map, "longer than one word", 20, number(5));

    ck_assert_uint_eq(map_find_bytes(&map, "a\0b", 3)->number, 1);
    ck_assert_uint_eq(map_find_bytes(&map, "a\0c", 3)->number, 2);
    ck_assert_uint_eq(map_find_bytes(&map, "a", 1)->number, 3);
    ck_assert_uint_eq(map_find_bytes(&map, NULL, 0)->number, 4);
    ck_assert_uint_eq(map_find_bytes(&map, "longer than one word", 20)->number, 5);
    ck_assert_ptr_null(map_find_bytes(&map, "longer than one wore", 20));
    map_finish(&map);
}
END_TEST

START_TEST(second_put_of_a_key_changes_nothing)
{
    struct map map;

    map_init(&map, MEM_MISC);
    map_put(&map, 7, number(1));

    ck_assert_int_eq(map_put(&map, 7, number(2)), MAP_EXISTS);
    ck_assert_uint_eq(map_find(&map, 7)->number, 1);
    ck_assert_uint_eq(map.n, 1);
    map_finish(&map);
}
END_TEST

START_TEST(removed_key_is_gone_and_may_come_back)
{
    struct map map;

    map_init(&map, MEM_MISC);
    map_put_bytes(&map, "key", 3, number(1));

    ck_assert(map_remove_bytes(&map, "key", 3));
    ck_assert(!map_remove_bytes(&map, "key", 3));
    ck_assert_ptr_null(map_find_bytes(&map, "key", 3));
    ck_assert_int_eq(map_put_bytes(&map, "key", 3, number(2)), MAP_OK);
    ck_assert_uint_eq(map_find_bytes(&map, "key", 3)->number, 2);
    map_finish(&map);
}
END_TEST

START_TEST(coming_and_going_does_not_grow_the_table)
{
    struct map map;

    map_init(&map, MEM_MISC);
    for (uint64_t i = 0; i < 100000; i++) {
        ck_assert_int_eq(map_put(&map, i, number(i)), MAP_OK);
        ck_assert_uint_eq(map_find(&map, i)->number, i);
        if (i >= 8) {
            ck_assert(map_remove(&map, i - 8));
        }
    }

    ck_assert_uint_le(map.cap, 32);
    map_finish(&map);
}
END_TEST

START_TEST(visit_meets_each_entry_once_and_may_remove_it)
{
    struct map map;
    struct map_entry *entry;
    uint64_t sum = 0;
    size_t at = 0;

    map_init(&map, MEM_MISC);
    for (uint64_t i = 1; i <= 100; i++) {
        map_put(&map, i, number(i));
    }
    while ((entry = map_next(&map, &at))) {
        sum += entry->value.number;
        ck_assert(map_remove(&map, entry->n_key));
    }

    ck_assert_uint_eq(sum, 5050);
    ck_assert_uint_eq(map.n, 0);
    map_finish(&map);
}
END_TEST

START_TEST(reserved_room_needs_no_more_memory)
{
    struct map map;
    uint64_t n_allocs;

    map_init(&map, MEM_MISC);
    ck_assert_int_eq(map_reserve(&map, 1000), 0);
    n_allocs = mem_n_allocs();
    for (uint64_t i = 0; i < 1000; i++) {
        map_put(&map, i, number(i));
    }

    ck_assert_uint_eq(mem_n_allocs(), n_allocs);
    map_finish(&map);
}
END_TEST

START_TEST(absurd_reserve_is_refused)
{
    struct map map;

    map_init(&map, MEM_MISC);

    ck_assert_int_eq(map_reserve(&map, SIZE_MAX), -ENOMEM);
    map_finish(&map);
}
END_TEST

START_TEST(two_maps_order_their_entries_differently)
{
    struct map a;
    struct map b;

    map_init(&a, MEM_MISC);
    map_init(&b, MEM_MISC);

    ck_assert_uint_ne(a.salt, b.salt);
}
END_TEST

static int fill(void *data)
{
    struct map map;
    int r = 0;

    map_init(&map, MEM_MISC);
    for (uint64_t i = 0; i < 200 && r == 0; i++) {
        r = map_put(&map, i, number(i));
    }
    map_finish(&map);
    return r;
}

START_TEST(failed_growth_leaks_nothing)
{
    for_each_failed_alloc(fill, NULL);
}
END_TEST

int main(void)
{
    return unit_facts("map", empty_map_finds_nothing, numbers_are_found_after_growth, bytes_are_compared_whole,
                      second_put_of_a_key_changes_nothing, removed_key_is_gone_and_may_come_back,
                      coming_and_going_does_not_grow_the_table, visit_meets_each_entry_once_and_may_remove_it,
                      reserved_room_needs_no_more_memory, absurd_reserve_is_refused,
                      two_maps_order_their_entries_differently, failed_growth_leaks_nothing);
}
