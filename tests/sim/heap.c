/*
 * Heap: an array; each node knows its index
 */
#include "heap.h"
#include "base/err.h"
#include <assert.h>
#include <errno.h>

#define LEAST_NODES 16

void heap_init(struct heap *heap, enum mem_kind kind, heap_before_fn before)
{
    *heap = (struct heap){ .kind = kind, .before = before };
}

void heap_finish(struct heap *heap)
{
    mem_free(heap->nodes);
    heap_init(heap, heap->kind, heap->before);
}

static void put(struct heap *heap, struct heap_node *node, size_t place)
{
    heap->nodes[place] = node;
    node->place = place;
}

static void rise(struct heap *heap, struct heap_node *node)
{
    size_t place = node->place;

    while (place > 0) {
        size_t parent = (place - 1) / 2;

        if (!heap->before(node, heap->nodes[parent])) {
            break;
        }
        put(heap, heap->nodes[parent], place);
        place = parent;
    }
    put(heap, node, place);
}

static void sink(struct heap *heap, struct heap_node *node)
{
    size_t place = node->place;

    for (;;) {
        size_t child = 2 * place + 1;

        if (child >= heap->n) {
            break;
        }
        if (child + 1 < heap->n && heap->before(heap->nodes[child + 1], heap->nodes[child])) {
            child++;
        }
        if (!heap->before(heap->nodes[child], node)) {
            break;
        }
        put(heap, heap->nodes[child], place);
        place = child;
    }
    put(heap, node, place);
}

int heap_push(struct heap *heap, struct heap_node *node)
{
    if (heap->n == heap->cap) {
        size_t cap = heap->cap ? 2 * heap->cap : LEAST_NODES;
        struct heap_node **nodes = mem_realloc(heap->kind, heap->nodes, cap * sizeof(struct heap_node *));

        if (!nodes) {
            return err_new(-ENOMEM);
        }
        heap->nodes = nodes;
        heap->cap = cap;
    }
    put(heap, node, heap->n++);
    rise(heap, node);
    return 0;
}

struct heap_node *heap_first(const struct heap *heap)
{
    return heap->n ? heap->nodes[0] : NULL;
}

void heap_remove(struct heap *heap, struct heap_node *node)
{
    size_t place = node->place;
    struct heap_node *last;

    assert(place < heap->n && heap->nodes[place] == node);

    last = heap->nodes[--heap->n];
    node->place = HEAP_NONE;
    if (last != node) {
        put(heap, last, place);
        heap_moved(heap, last);
    }
}

void heap_moved(struct heap *heap, struct heap_node *node)
{
    assert(node->place < heap->n && heap->nodes[node->place] == node);

    rise(heap, node);
    sink(heap, node);
}
