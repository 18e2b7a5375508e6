/* Least first, also after removals from the middle and changes of order. */
#include "base/clean.h"
#include "failed_alloc.h"
#include "heap.h"
#include "unit.h"

struct item {
    struct heap_node node;
    uint32_t key;
};

static bool item_before(const struct heap_node *a, const struct heap_node *b)
{
    return ((const struct item *)a)->key < ((const struct item *)b)->key;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static uint32_t pop(struct heap *heap)
{
    struct item *item = container_of(heap_first(heap), struct item, node);

    heap_remove(heap, &item->node);
    return item->key;
}

static void fill(struct heap *heap, struct item *items, size_t n)
{
    uint32_t state = 7;

    heap_init(heap, MEM_SCHED, item_before);
    for (size_t i = 0; i < n; i++) {
        items[i].key = next_random(&state) % 500;
        ck_assert_int_eq(heap_push(heap, &items[i].node), 0);
    }
}

START_TEST(empty_heap_has_no_first)
{
    struct heap heap;

    heap_init(&heap, MEM_SCHED, item_before);

    ck_assert_ptr_null(heap_first(&heap));
    heap_finish(&heap);
}
END_TEST

START_TEST(nodes_come_in_order)
{
    struct heap heap;
    struct item items[1000];
    uint32_t last = 0;

    fill(&heap, items, COUNTOF(items));

    while (heap_first(&heap)) {
        uint32_t key = pop(&heap);

        ck_assert_uint_ge(key, last);
        last = key;
    }
    heap_finish(&heap);
}
END_TEST

START_TEST(order_survives_removal_from_the_middle)
{
    struct heap heap;
    struct item items[1000];
    uint32_t last = 0;
    size_t n = 0;

    fill(&heap, items, COUNTOF(items));
    for (size_t i = 0; i < COUNTOF(items); i += 3) {
        heap_remove(&heap, &items[i].node);
        ck_assert_uint_eq(items[i].node.place, HEAP_NONE);
    }

    for (; heap_first(&heap); n++) {
        uint32_t key = pop(&heap);

        ck_assert_uint_ge(key, last);
        last = key;
    }
    ck_assert_uint_eq(n, 666);
    heap_finish(&heap);
}
END_TEST

START_TEST(changed_node_finds_its_place)
{
    struct heap heap;
    struct item items[300];
    uint32_t state = 3;
    uint32_t last = 0;

    fill(&heap, items, COUNTOF(items));
    for (size_t i = 0; i < COUNTOF(items); i++) {
        items[i].key = next_random(&state) % 500;
        heap_moved(&heap, &items[i].node);
    }

    while (heap_first(&heap)) {
        uint32_t key = pop(&heap);

        ck_assert_uint_ge(key, last);
        last = key;
    }
    heap_finish(&heap);
}
END_TEST

START_TEST(lack_of_memory_leaves_the_heap_as_it_was)
{
    struct heap heap;
    struct item items[17];

    fill(&heap, items, 16);
    mem_fail_nth(0);

    ck_assert_int_eq(heap_push(&heap, &items[16].node), -ENOMEM);
    ck_assert_uint_eq(heap.n, 16);
    heap_finish(&heap);
}
END_TEST

int main(void)
{
    return unit_facts("heap", empty_heap_has_no_first, nodes_come_in_order, order_survives_removal_from_the_middle,
                      changed_node_finds_its_place, lack_of_memory_leaves_the_heap_as_it_was);
}
