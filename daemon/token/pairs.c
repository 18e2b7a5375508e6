/*
 * A slot holds a whole pair, so that a lookup, one for every two neighbours of a text, touches one cache line.
 */
#include "token/pairs.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include <errno.h>
#include <string.h>

int pairs_init(struct pairs *pairs, uint32_t n)
{
    size_t cap = 16;

    while (cap < n + (size_t)n / 2) {
        cap *= 2;
    }
    *pairs = (struct pairs){ .mask = (uint32_t)(cap - 1) };
    pairs->slots = mem_alloc(MEM_TEXT, cap * sizeof(*pairs->slots));
    if (!pairs->slots) {
        return err_new(-ENOMEM);
    }
    memset(pairs->slots, 0xff, cap * sizeof(*pairs->slots));
    clock_entropy(&pairs->salt, sizeof(pairs->salt));
    return 0;
}

void pairs_finish(struct pairs *pairs)
{
    mem_free(pairs->slots);
    pairs->slots = NULL;
}

/* Returns the slot of the two ids, or the free one where they belong. The hash is the finaliser of MurmurHash3. */
static struct pair *find_slot(const struct pairs *pairs, uint32_t left, uint32_t right)
{
    uint64_t h = ((uint64_t)left << 32 | right) ^ pairs->salt;

    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    h ^= h >> 33;
    for (uint32_t i = (uint32_t)h & pairs->mask;; i = (i + 1) & pairs->mask) {
        struct pair *slot = &pairs->slots[i];

        if (slot->left == PAIR_FREE || (slot->left == left && slot->right == right)) {
            return slot;
        }
    }
}

bool pairs_put(struct pairs *pairs, const struct pair *pair)
{
    struct pair *slot = find_slot(pairs, pair->left, pair->right);

    if (slot->left != PAIR_FREE) {
        return false;
    }
    *slot = *pair;
    return true;
}

const struct pair *pairs_find(const struct pairs *pairs, uint32_t left, uint32_t right)
{
    const struct pair *slot = find_slot(pairs, left, right);

    return slot->left == PAIR_FREE ? NULL : slot;
}
