/*
 * Special: entries that match in the text as they are spelled, before anything is split or merged
 *
 * User-defined pieces match always, control tokens only where the caller asks. The longest match at the leftmost
 * place wins. A trie; a lookup takes at most SPECIAL_BYTES_MAX steps, so a text takes time linear in its length.
 * Read-only once filled: any thread.
 */
#ifndef SOTTO_TOKEN_SPECIAL_H
#define SOTTO_TOKEN_SPECIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest that published vocabularies hold is 31 newlines, or some 30 characters of a marker. */
#define SPECIAL_BYTES_MAX 256u

struct special_node {
    uint32_t child;   /* first one, or 0 */
    uint32_t sibling; /* next one, or 0 */
    uint32_t id;      /* of the entry that ends here, or SPECIAL_NONE */
    uint8_t byte;
    bool control;
};

#define SPECIAL_NONE UINT32_MAX

/* A node is 16 times as large as the byte it stands for; published vocabularies need 60,000. */
#define SPECIAL_NODES_MAX (1u << 20)

struct special {
    struct special_node *nodes; /* owned; nodes[0] stands for nothing */
    uint32_t n;
    uint32_t cap;
    uint32_t roots[256]; /* node of each first byte, or 0 */
};

void special_init(struct special *special);
void special_finish(struct special *special);
size_t special_bytes(const struct special *special);

enum special_outcome {
    SPECIAL_OK,
    SPECIAL_FULL, /* SPECIAL_NODES_MAX */
};

/* Enters @n bytes (1 to SPECIAL_BYTES_MAX); of equal ones the first stays. SPECIAL_FULL or -ENOMEM. */
int special_put(struct special *special, const void *bytes, size_t n, uint32_t id, bool control);

/* Length of the longest entry at the head of @bytes, 0 for none. Control tokens count only if @control. */
size_t special_match(const struct special *special, const uint8_t *bytes, size_t n, bool control, uint32_t *ret_id);

#endif
