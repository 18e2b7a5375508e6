/*
 * The heap holds pairs by value, 16 bytes each, since a text may have a million symbols.
 */
#include "token/merge.h"
#include "base/err.h"
#include "base/mem.h"
#include <errno.h>

/* Steps that the best pair costs: taking it from the heap, joining it, offering the two beside it. */
#define TAKE_STEPS 4u

void merge_init(struct merge *merge, merge_find_fn find, const void *owner)
{
    *merge = (struct merge){ .find = find, .owner = owner };
}

void merge_finish(struct merge *merge)
{
    mem_free(merge->symbols);
    mem_free(merge->heap);
    *merge = (struct merge){ .n = 0 };
}

void merge_begin(struct merge *merge)
{
    merge->n = 0;
    merge->n_heap = 0;
    merge->n_bytes = 0;
    merge->n_offered = 0;
}

int merge_push(struct merge *merge, uint32_t at, uint32_t n, uint32_t id)
{
    if (merge->n == merge->cap) {
        const uint32_t cap = merge->cap ? 2 * merge->cap : 64;
        struct symbol *symbols = mem_realloc(MEM_TEXT, merge->symbols, cap * sizeof(*symbols));

        if (!symbols) {
            return err_new(-ENOMEM);
        }
        merge->symbols = symbols;
        merge->cap = cap;
    }
    merge->symbols[merge->n] = (struct symbol){
        .at = at, .n = n, .id = id, .prev = merge->n > 0 ? merge->n - 1 : MERGE_END, .next = MERGE_END
    };
    if (merge->n > 0) {
        merge->symbols[merge->n - 1].next = merge->n;
    }
    merge->n++;
    merge->n_bytes = at + n;
    return 0;
}

static bool goes_before(const struct bigram *a, const struct bigram *b)
{
    return a->order != b->order ? a->order < b->order : a->left < b->left;
}

static int heap_add(struct merge *merge, const struct bigram *bigram)
{
    uint32_t at = merge->n_heap;

    if (merge->n_heap == merge->cap_heap) {
        const uint32_t cap = merge->cap_heap ? 2 * merge->cap_heap : 64;
        struct bigram *heap = mem_realloc(MEM_TEXT, merge->heap, cap * sizeof(*heap));

        if (!heap) {
            return err_new(-ENOMEM);
        }
        merge->heap = heap;
        merge->cap_heap = cap;
    }
    for (; at > 0 && goes_before(bigram, &merge->heap[(at - 1) / 2]); at = (at - 1) / 2) {
        merge->heap[at] = merge->heap[(at - 1) / 2];
    }
    merge->heap[at] = *bigram;
    merge->n_heap++;
    return 0;
}

static struct bigram heap_take(struct merge *merge)
{
    const struct bigram best = merge->heap[0];
    const struct bigram last = merge->heap[--merge->n_heap];
    const uint32_t n = merge->n_heap;
    uint32_t at = 0;

    for (uint32_t child = 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && goes_before(&merge->heap[child + 1], &merge->heap[child])) {
            child++;
        }
        if (!goes_before(&merge->heap[child], &last)) {
            break;
        }
        merge->heap[at] = merge->heap[child];
        at = child;
    }
    if (n > 0) {
        merge->heap[at] = last;
    }
    return best;
}

/* Enters the pair of @left and its right neighbour into the heap if they may join. */
static int offer(struct merge *merge, const uint8_t *word, uint32_t left)
{
    const struct symbol *a = &merge->symbols[left];
    const struct symbol *b;
    struct bigram bigram = { .left = left };

    if (a->next == MERGE_END) {
        return 0;
    }
    b = &merge->symbols[a->next];
    if (!merge->find(merge->owner, word, a, b, &bigram)) {
        return 0;
    }
    bigram.n = a->n + b->n;
    return heap_add(merge, &bigram);
}

/* Joins the two symbols of @bigram unless it is out of date, and offers the two new pairs beside them. */
static int join(struct merge *merge, const uint8_t *word, const struct bigram *bigram)
{
    struct symbol *left = &merge->symbols[bigram->left];
    struct symbol *right;
    int r;

    if (left->n == 0 || left->next == MERGE_END) {
        return 0;
    }
    right = &merge->symbols[left->next];
    if (left->n + right->n != bigram->n) {
        return 0;
    }
    left->n = bigram->n;
    left->id = bigram->id;
    left->next = right->next;
    right->n = 0;
    if (left->next != MERGE_END) {
        merge->symbols[left->next].prev = bigram->left;
    }

    if (left->prev != MERGE_END) {
        r = offer(merge, word, left->prev);
        if (r) {
            return r;
        }
    }
    return offer(merge, word, bigram->left);
}

int merge_run(struct merge *merge, const uint8_t *word, uint64_t *left)
{
    int r;

    for (; merge->n_offered < merge->n; merge->n_offered++) {
        if (*left == 0) {
            return MERGE_MORE;
        }
        --*left;
        r = offer(merge, word, merge->n_offered);
        if (r) {
            return err_up(r);
        }
    }
    while (merge->n_heap > 0) {
        struct bigram best;

        if (*left == 0) {
            return MERGE_MORE;
        }
        *left -= *left < TAKE_STEPS ? *left : TAKE_STEPS;
        best = heap_take(merge);
        r = join(merge, word, &best);
        if (r) {
            return err_up(r);
        }
    }
    return MERGE_OK;
}
