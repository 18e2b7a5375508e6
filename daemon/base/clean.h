/*
 * Clean: owners that free themselves, and the few macros that no function can replace
 *
 *     cleanup(gguf_freep) struct gguf *gguf = NULL;
 *     ...
 *     *ret_gguf = steal(&gguf);
 */
#ifndef SOTTO_BASE_CLEAN_H
#define SOTTO_BASE_CLEAN_H

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define cleanup(end_fn) __attribute__((cleanup(end_fn)))

/* Is the number of elements of an array (not of a pointer). */
#define COUNTOF(array) (sizeof(array) / sizeof((array)[0]))

/* Is the object that has its @member at @pointer. */
#define container_of(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* Returns the pointer at @slot (address of a pointer of any type) and leaves NULL there. */
static inline void *steal(void *slot)
{
    void *taken;
    void *none = NULL;

    memcpy(&taken, slot, sizeof(taken));
    memcpy(slot, &none, sizeof(none));
    return taken;
}

/* Closes a descriptor that is not below 0; for cleanup(). */
static inline void fd_closep(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

static inline int fd_steal(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

#endif
