/*
 * Heap: binary, intrusive, least first
 *
 * The element holds its place, so removal from the middle is O(log n). The order is the caller's.
 */
#ifndef SOTTO_TESTS_SIM_HEAP_H
#define SOTTO_TESTS_SIM_HEAP_H

#include "base/mem.h"

struct heap_node {
    size_t place; /* index in heap::nodes, or HEAP_NONE */
};

#define HEAP_NONE ((size_t)-1)

typedef bool (*heap_before_fn)(const struct heap_node *a, const struct heap_node *b);

struct heap {
    struct heap_node **nodes; /* owned; the nodes are not */
    size_t n;
    size_t cap;
    enum mem_kind kind;
    heap_before_fn before;
};

void heap_init(struct heap *heap, enum mem_kind kind, heap_before_fn before);
void heap_finish(struct heap *heap); /* forgets the nodes that are left */

int heap_push(struct heap *heap, struct heap_node *node); /* 0 or -ENOMEM */
struct heap_node *heap_first(const struct heap *heap);    /* or NULL */
void heap_remove(struct heap *heap, struct heap_node *node);

/* Puts @node right after its order has changed. */
void heap_moved(struct heap *heap, struct heap_node *node);

#endif
