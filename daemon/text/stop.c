/*
 * A trie; each node knows where the search continues when no child fits. Children hang in lists: requests have few stop
 * strings, so a list has one or two steps, while a table would take 1 KiB a node.
 */
#include "text/stop.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include <assert.h>
#include <errno.h>

struct stop_node {
    uint32_t child;   /* first one, or 0 */
    uint32_t sibling; /* next one, or 0 */
    uint32_t fall;    /* the longest proper suffix of this node's text that is in the trie */
    uint32_t depth;   /* length of this node's text */
    int32_t hit;      /* index of the stop string that ends here, or STOP_NONE */
    uint32_t n_hit;   /* its length */
    uint8_t byte;
};

struct stop {
    struct stop_node *nodes; /* owned; nodes[0] is the root */
    uint32_t n;
};

static uint32_t find_child(const struct stop *stop, uint32_t at, uint8_t byte)
{
    uint32_t child = stop->nodes[at].child;

    while (child != 0 && stop->nodes[child].byte != byte) {
        child = stop->nodes[child].sibling;
    }
    return child;
}

static void add_text(struct stop *stop, const struct stop_text *text, int32_t index)
{
    uint32_t at = 0;

    for (size_t i = 0; i < text->n; i++) {
        uint32_t child = find_child(stop, at, text->bytes[i]);

        if (child == 0) {
            child = stop->n++;
            stop->nodes[child] = (struct stop_node){
                .sibling = stop->nodes[at].child, .depth = (uint32_t)i + 1, .hit = STOP_NONE, .byte = text->bytes[i]
            };
            stop->nodes[at].child = child;
        }
        at = child;
    }
    if (stop->nodes[at].hit == STOP_NONE) {
        stop->nodes[at].hit = index;
        stop->nodes[at].n_hit = (uint32_t)text->n;
    }
}

/* Sets the fallback of each node, in order of depth: a fallback is always shorter than its node. */
static int link_falls(struct stop *stop)
{
    cleanup(mem_freep) uint32_t *queue = mem_calloc(MEM_STREAM, stop->n, sizeof(*queue));
    uint32_t n_queue = 1; /* the root */

    if (!queue) {
        return err_new(-ENOMEM);
    }
    for (uint32_t i = 0; i < n_queue; i++) {
        const uint32_t at = queue[i];

        for (uint32_t child = stop->nodes[at].child; child != 0; child = stop->nodes[child].sibling) {
            struct stop_node *node = &stop->nodes[child];
            const struct stop_node *fall;

            node->fall = at == 0 ? 0 : stop_step(stop, stop->nodes[at].fall, node->byte);
            fall = &stop->nodes[node->fall];
            if (node->hit == STOP_NONE) {
                node->hit = fall->hit;
                node->n_hit = fall->n_hit;
            }
            queue[n_queue++] = child;
        }
    }
    return 0;
}

static void stop_destroyp(struct stop **stop)
{
    stop_destroy(*stop);
}

int stop_create(struct stop **ret_stop, const struct stop_text *texts, size_t n_texts)
{
    cleanup(stop_destroyp) struct stop *stop = mem_calloc(MEM_STREAM, 1, sizeof(*stop));
    size_t n_bytes = 0;
    int r;

    if (!stop) {
        return err_new(-ENOMEM);
    }
    for (size_t i = 0; i < n_texts; i++) {
        assert(texts[i].n > 0);
        n_bytes += texts[i].n;
    }
    stop->nodes = mem_calloc(MEM_STREAM, n_bytes + 1, sizeof(*stop->nodes));
    if (!stop->nodes) {
        return err_new(-ENOMEM);
    }
    stop->nodes[0].hit = STOP_NONE;
    stop->n = 1;
    for (size_t i = 0; i < n_texts; i++) {
        add_text(stop, &texts[i], (int32_t)i);
    }
    r = link_falls(stop);
    if (r) {
        return err_up(r);
    }
    *ret_stop = steal(&stop);
    return 0;
}

void stop_destroy(struct stop *stop)
{
    if (!stop) {
        return;
    }
    mem_free(stop->nodes);
    mem_free(stop);
}

uint32_t stop_step(const struct stop *stop, uint32_t state, uint8_t byte)
{
    for (;;) {
        const uint32_t child = find_child(stop, state, byte);

        if (child != 0 || state == 0) {
            return child;
        }
        state = stop->nodes[state].fall;
    }
}

uint32_t stop_depth(const struct stop *stop, uint32_t state)
{
    return stop->nodes[state].depth;
}

int stop_hit(const struct stop *stop, uint32_t state, uint32_t *ret_n)
{
    *ret_n = stop->nodes[state].n_hit;
    return stop->nodes[state].hit;
}
