/*
 * Arena: chunks double in size, so that a small job stays small and a large one needs few of them
 */
#include "base/arena.h"
#include "base/num.h"
#include <assert.h>

#define BLOCK_ALIGN     16
#define CHUNK_MIN_BYTES 4096
#define CHUNK_MAX_BYTES (256u * 1024u)

struct arena_chunk {
    _Alignas(BLOCK_ALIGN) struct arena_chunk *older; /* owned */
    size_t cap;
    size_t at;
    _Alignas(BLOCK_ALIGN) uint8_t bytes[];
};

void arena_init(struct arena *arena, enum mem_kind kind, size_t max)
{
    *arena = (struct arena){ .kind = kind, .max = max };
}

void arena_finish(struct arena *arena)
{
    while (arena->chunk) {
        struct arena_chunk *chunk = arena->chunk;

        arena->chunk = chunk->older;
        mem_free(chunk);
    }
    arena_init(arena, arena->kind, arena->max);
}

static struct arena_chunk *add_chunk(struct arena *arena, size_t size)
{
    size_t wish = arena->chunk ? num_min(2 * arena->chunk->cap, CHUNK_MAX_BYTES) : CHUNK_MIN_BYTES;
    size_t cap = num_max(size, num_min(wish, arena->max - arena->used));
    struct arena_chunk *chunk = mem_alloc(arena->kind, sizeof(*chunk) + cap);

    if (!chunk) {
        return NULL;
    }
    *chunk = (struct arena_chunk){ .older = arena->chunk, .cap = cap };
    arena->chunk = chunk;
    return chunk;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    struct arena_chunk *chunk = arena->chunk;
    uint64_t rounded;
    void *block;

    if (!num_align(num_max(size, 1), BLOCK_ALIGN, &rounded) || rounded > arena->max - arena->used) {
        arena->exceeded = true;
        return NULL;
    }
    if (!chunk || rounded > chunk->cap - chunk->at) {
        chunk = add_chunk(arena, rounded);
        if (!chunk) {
            return NULL;
        }
    }
    block = chunk->bytes + chunk->at;
    chunk->at += rounded;
    arena->used += rounded;
    return block;
}

/* Keeps the oldest chunk: it is the smallest, and there are many arenas at rest. */
void arena_reset(struct arena *arena)
{
    while (arena->chunk && arena->chunk->older) {
        struct arena_chunk *chunk = arena->chunk;

        arena->chunk = chunk->older;
        mem_free(chunk);
    }
    if (arena->chunk) {
        arena->chunk->at = 0;
    }
    arena->used = 0;
    arena->exceeded = false;
}
