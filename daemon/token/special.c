/*
 * Nodes lie in one block and refer to each other by index, so that the block may move while it grows.
 */
#include "token/special.h"
#include "base/err.h"
#include "base/mem.h"
#include <assert.h>
#include <errno.h>

void special_init(struct special *special)
{
    *special = (struct special){ .n = 0 };
}

void special_finish(struct special *special)
{
    mem_free(special->nodes);
    special->nodes = NULL;
}

/* Makes room for @n more nodes. SPECIAL_FULL or -ENOMEM. */
static int reserve(struct special *special, uint32_t n)
{
    struct special_node *nodes;
    uint32_t cap = special->cap ? special->cap : 64;

    if (special->n + n > SPECIAL_NODES_MAX) {
        return SPECIAL_FULL;
    }
    while (cap < special->n + n) {
        cap *= 2;
    }
    if (cap == special->cap) {
        return 0;
    }
    nodes = mem_realloc(MEM_TEXT, special->nodes, cap * sizeof(*nodes));
    if (!nodes) {
        return err_new(-ENOMEM);
    }
    special->nodes = nodes;
    special->cap = cap;
    if (special->n == 0) {
        nodes[0] = (struct special_node){ .id = SPECIAL_NONE };
        special->n = 1;
    }
    return 0;
}

/* Returns the node of @byte among the siblings from *@first on, or adds one at their head. */
static uint32_t find_or_add(struct special *special, uint32_t *first, uint8_t byte)
{
    for (uint32_t i = *first; i != 0; i = special->nodes[i].sibling) {
        if (special->nodes[i].byte == byte) {
            return i;
        }
    }
    special->nodes[special->n] = (struct special_node){ .sibling = *first, .id = SPECIAL_NONE, .byte = byte };
    *first = special->n;
    return special->n++;
}

int special_put(struct special *special, const void *bytes, size_t n, uint32_t id, bool control)
{
    const uint8_t *at = bytes;
    uint32_t i;
    int r;

    assert(n > 0 && n <= SPECIAL_BYTES_MAX);
    r = reserve(special, (uint32_t)n + 1);
    if (r) {
        return r < 0 ? err_up(r) : SPECIAL_FULL;
    }
    i = find_or_add(special, &special->roots[at[0]], at[0]);
    for (size_t k = 1; k < n; k++) {
        i = find_or_add(special, &special->nodes[i].child, at[k]);
    }
    if (special->nodes[i].id == SPECIAL_NONE) {
        special->nodes[i].id = id;
        special->nodes[i].control = control;
    }
    return 0;
}

size_t special_match(const struct special *special, const uint8_t *bytes, size_t n, bool control, uint32_t *ret_id)
{
    size_t n_best = 0;
    uint32_t i = n > 0 ? special->roots[bytes[0]] : 0;

    for (size_t k = 1; i != 0; k++) {
        const struct special_node *node = &special->nodes[i];

        if (node->id != SPECIAL_NONE && (control || !node->control)) {
            n_best = k;
            *ret_id = node->id;
        }
        if (k == n) {
            break;
        }
        i = node->child;
        while (i != 0 && special->nodes[i].byte != bytes[k]) {
            i = special->nodes[i].sibling;
        }
    }
    return n_best;
}
