/*
 * Mem: every allocation has a kind, so that "who holds it" has an answer at all times
 *
 * The calls are those of malloc with a kind in front. Blocks carry their kind and size, so mem_free() takes only
 * the pointer. Counters are atomic: any thread may call. Three tools for tests live here as well: the guard (a
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
    MEM_WORDS,   /* vocabularies, templates, tokenising jobs */
    MEM_FILE,    /* heads of model files */
    MEM_SCHED,   /* jobs, accounts, queues */
    MEM_LOOP,    /* libuv */
    MEM_WEIGHTS, /* engine: weights not mapped from the file */
    MEM_KV,      /* engine: pages */
    MEM_SCRATCH, /* engine: activations, programs */
    MEM_KIND_COUNT,
};

/* NULL when the system has no more; never for size 0, which gives a block of its own. Aligned to 64 bytes. */
void *mem_alloc(enum mem_kind kind, size_t size);

/* Zeroed; NULL as well when @n * @size wraps. */
void *mem_calloc(enum mem_kind kind, size_t n, size_t size);

/* As realloc(); a NULL @block is an allocation of @kind. On NULL the old block stays. */
void *mem_realloc(enum mem_kind kind, void *block, size_t size);

/* A copy of the @n bytes at @bytes with a zero behind them. */
char *mem_strndup(enum mem_kind kind, const char *bytes, size_t n);

void mem_free(void *block);

/* For cleanup() on any pointer to a block. */
void mem_freep(void *slot);

struct mem_account {
    uint64_t bytes;
    uint64_t peak_bytes;
    uint64_t blocks;
};

/* Adds or gives back bytes that are not heap blocks (mappings, memfds) under @kind. */
void mem_charge(enum mem_kind kind, int64_t bytes);

void mem_read(enum mem_kind kind, struct mem_account *ret_account);
const char *mem_kind_name(enum mem_kind kind);

/* Number of allocations since start, all threads. A step's guard compares two of them. */
uint64_t mem_n_allocs(void);

/*
 * While a guard is on in this thread, any allocation here counts as a breach; with @abort_on_breach it ends the
 * process, naming @phase. mem_guard_end() returns the breaches since mem_guard_begin(). Guards do not nest.
 */
void mem_guard_begin(const char *phase, bool abort_on_breach);
uint64_t mem_guard_end(void);

/* Tests: lets the @nth allocation from now (0: the next) of this thread fail, once. Below 0: none fails. */
void mem_fail_nth(int64_t nth);

#endif
