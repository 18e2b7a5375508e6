/*
 * Hub arena: lists and texts of reports, in the memory of an arena
 */
#ifndef SOTTO_HUB_HUB_ARENA_H
#define SOTTO_HUB_HUB_ARENA_H

#include "base/arena.h"
#include <stdint.h>

/* Makes room for @n messages of @size, which the caller initialises, and a list of pointers to them. NULL: there is no
 * memory, or the arena is at its ceiling. */
void *hub_arena_list(struct arena *arena, size_t n, size_t size, void ***ret_list);

/* Copies @text into @arena; returns "" if there is no room, which the arena remembers. */
char *hub_arena_copy(struct arena *arena, const char *text);

#endif
