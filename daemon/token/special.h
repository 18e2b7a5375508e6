/*
 * Special: entries that match in the text as they are spelled, before anything is split or merged
 *
 * User-defined pieces always match, control tokens only where the caller asks. The longest match at the leftmost
 * position wins. The entries form a trie; a lookup takes at most SPECIAL_BYTES_MAX steps, so a text takes linear time.
 * Read-only once filled: any thread.
 */
#ifndef SOTTO_TOKEN_SPECIAL_H
#define SOTTO_TOKEN_SPECIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest entries of published vocabularies are 31 newlines and markers of about 30 characters. */
#define SPECIAL_BYTES_MAX 256u

struct special_node {
    uint32_t child;   /* first one, or 0 */
    uint32_t sibling; /* next one, or 0 */
    uint32_t id;      /* of the entry that ends here, or SPECIAL_NONE */
    uint8_t byte;
    bool control;
};

#define SPECIAL_NONE UINT32_MAX

/* A node has 16 bytes for one of an entry; published vocabularies need 60,000 nodes. */
#define SPECIAL_NODES_MAX (1u << 20)

struct special {
    struct special_node *nodes; /* owned; nodes[0] stands for nothing */
    uint32_t n;
    uint32_t cap;
    uint32_t roots[256]; /* node of each first byte, or 0 */
};

void special_init(struct special *special);
void special_finish(struct special *special);

enum special_outcome {
    SPECIAL_OK,
    SPECIAL_FULL, /* SPECIAL_NODES_MAX */
};

/* Enters @n bytes (1 to SPECIAL_BYTES_MAX); of equal entries the first stays. SPECIAL_FULL or -ENOMEM. */
int special_put(struct special *special, const void *bytes, size_t n, uint32_t id, bool control);

/* Returns the length of the longest entry at the head of @bytes, or 0. Control tokens count only if @control. */
size_t special_match(const struct special *special, const uint8_t *bytes, size_t n, bool control, uint32_t *ret_id);

#endif
