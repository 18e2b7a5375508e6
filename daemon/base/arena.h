/*
 * Arena: memory that is given back at once
 *
 * Bump allocation in chunks, up to a ceiling; nothing is freed singly. Blocks are 16-byte aligned. One thread.
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

/* NULL when @max would be passed (then @exceeded) or the system has no more. Not zeroed. */
void *arena_alloc(struct arena *arena, size_t size);

/* Gives everything up but one chunk, kept for the next use. */
void arena_reset(struct arena *arena);

#endif
