/*
 * Arena: memory that is freed all at once
 *
 * Bump allocation in chunks, up to a ceiling; single blocks are not freed. Blocks are 16-byte aligned. One thread.
 */
#ifndef SOTTO_BASE_ARENA_H
#define SOTTO_BASE_ARENA_H

#include "base/mem.h"

struct arena {
    struct arena_chunk *chunk; /* newest; owned */
    enum mem_kind kind;
    size_t used;
    size_t max;
    bool exceeded; /* an allocation was refused because of @max, since the last reset */
};

void arena_init(struct arena *arena, enum mem_kind kind, size_t max);
void arena_finish(struct arena *arena);

/* Returns a block, not zeroed; NULL if it would exceed @max (then @exceeded is set) or the system has no memory. */
void *arena_alloc(struct arena *arena, size_t size);

/* Frees everything but one chunk, which is kept for the next use. */
void arena_reset(struct arena *arena);

#endif
