#include "hub/hub_arena.h"
#include <string.h>

void *hub_arena_list(struct arena *arena, size_t n, size_t size, void ***ret_list)
{
    uint8_t *messages = arena_alloc(arena, n * size + 1);
    void **list = arena_alloc(arena, n * sizeof(*list) + 1);

    if (!messages || !list) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        list[i] = messages + i * size;
    }
    *ret_list = list;
    return messages;
}

char *hub_arena_copy(struct arena *arena, const char *text)
{
    static char nothing[] = "";
    size_t n = strlen(text) + 1;
    char *same = arena_alloc(arena, n);

    return same ? memcpy(same, text, n) : nothing;
}
