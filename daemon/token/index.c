/*
 * The hash takes eight bytes at a time and folds them into its state by a multiplication; the finaliser is that of
 * MurmurHash3. The salt protects it against chosen collisions.
 */
#include "token/index.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include <errno.h>
#include <string.h>

static uint64_t hash(uint64_t salt, const uint8_t *bytes, size_t n)
{
    uint64_t h = salt ^ n * 0x9e3779b97f4a7c15u;
    uint64_t word;

    for (; n > 8; bytes += 8, n -= 8) {
        memcpy(&word, bytes, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    word = 0;
    if (n > 0) {
        memcpy(&word, bytes, n);
    }
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 33;
}

int index_init(struct index *index, uint32_t n, const char *bytes, const struct span *spans)
{
    size_t cap = 16;

    /* The table is at most half full, so that a search ends after one or two steps. */
    while (cap < 2 * (size_t)n) {
        cap *= 2;
    }
    *index = (struct index){ .mask = (uint32_t)(cap - 1), .bytes = bytes, .spans = spans };
    index->slots = mem_alloc(MEM_TEXT, cap * sizeof(*index->slots));
    if (!index->slots) {
        return err_new(-ENOMEM);
    }
    memset(index->slots, 0xff, cap * sizeof(*index->slots));
    clock_entropy(&index->salt, sizeof(index->salt));
    return 0;
}

void index_finish(struct index *index)
{
    mem_free(index->slots);
    index->slots = NULL;
}

/* Returns the slot of these bytes, or the free one where they belong. */
static struct index_slot *find_slot(const struct index *index, const void *bytes, size_t n, uint32_t *ret_tag)
{
    const uint64_t h = hash(index->salt, bytes, n);
    const uint32_t tag = (uint32_t)(h >> 32);

    *ret_tag = tag;
    for (uint32_t i = (uint32_t)h & index->mask;; i = (i + 1) & index->mask) {
        struct index_slot *slot = &index->slots[i];
        const struct span *span;

        if (slot->id == INDEX_NONE) {
            return slot;
        }
        span = &index->spans[slot->id];
        if (slot->tag == tag && span->n == n && memcmp(index->bytes + span->at, bytes, n) == 0) {
            return slot;
        }
    }
}

void index_put(struct index *index, uint32_t id)
{
    const struct span *span = &index->spans[id];
    uint32_t tag;
    struct index_slot *slot = find_slot(index, index->bytes + span->at, span->n, &tag);

    if (slot->id == INDEX_NONE) {
        *slot = (struct index_slot){ .tag = tag, .id = id };
    }
}

uint32_t index_find(const struct index *index, const void *bytes, size_t n)
{
    uint32_t tag;

    return find_slot(index, bytes, n, &tag)->id;
}
