/*
 * Mem: every allocation has a kind, so that memory can be accounted for at all times
 *
 * The functions are those of malloc with a kind as first argument. Blocks carry their kind and size, so mem_free()
 * takes only the pointer. Counters are atomic: any thread may call. There are three tools for tests, too: the guard (a
 * step in the token loop must not allocate), the n-th failure, and the totals.
 */
#ifndef SOTTO_BASE_MEM_H
#define SOTTO_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mem_kind {
    MEM_MISC,    /* start-up, configuration, names */
    MEM_WIRE,    /* connections: bytes read or not yet sent */
    MEM_STREAM,  /* streams, journals, sessions */
    MEM_TEXT,    /* vocabularies, templates, tokenising jobs */
    MEM_FILE,    /* heads of model files */
    MEM_SCHED,   /* jobs, accounts, queues */
    MEM_LOOP,    /* libuv */
    MEM_WEIGHTS, /* engine: weights not mapped from the file */
    MEM_KV,      /* engine: pages */
    MEM_SCRATCH, /* engine: activations, programs */
    MEM_KIND_COUNT,
};

/* Returns a block aligned to 64 bytes, also for size 0; NULL if the system has no memory. */
void *mem_alloc(enum mem_kind kind, size_t size);

/* Returns a zeroed block; NULL also if @n * @size wraps. */
void *mem_calloc(enum mem_kind kind, size_t n, size_t size);

/* Resizes @block as realloc() does; for NULL it allocates a block of @kind. If it returns NULL, the old block stays. */
void *mem_realloc(enum mem_kind kind, void *block, size_t size);

/* Returns a copy of the @n bytes at @bytes with a zero after them. */
char *mem_strndup(enum mem_kind kind, const char *bytes, size_t n);

void mem_free(void *block);

/* Frees the block at @slot, any pointer to a block; for cleanup(). */
void mem_freep(void *slot);

/* Returns whether a large block was freed since the last mem_return_spare(), so that the C library may hold
 * unused pages. */
bool mem_has_spare(void);

/* Gives unused pages back to the system; takes a few milliseconds if there are many. */
void mem_return_spare(void);

struct mem_account {
    uint64_t bytes;
    uint64_t peak_bytes;
    uint64_t blocks;
};

/* Adds @bytes to the account of @kind (below 0: subtracts) that are not heap blocks: mappings, memfds. */
void mem_charge(enum mem_kind kind, int64_t bytes);

void mem_read(enum mem_kind kind, struct mem_account *ret_account);
const char *mem_kind_name(enum mem_kind kind);

/* Returns the number of allocations of all threads since start. */
uint64_t mem_n_allocs(void);

/*
 * Between these calls any allocation of this thread is a breach; with @abort_on_breach it ends the process, naming
 * @phase. mem_guard_end() returns the number of breaches. Guards do not nest.
 */
void mem_guard_begin(const char *phase, bool abort_on_breach);
uint64_t mem_guard_end(void);

/* Makes the @nth allocation of this thread from now (0: the next) fail, once; below 0: none. Only tests call this. */
void mem_fail_nth(int64_t nth);

#endif
