/*
 * Mem: a layer over the C library's allocator, where sanitizers see every block
 *
 * A head of one cache line before each block holds its kind and size, so blocks stay aligned to 64 bytes and mem_free()
 * needs only the pointer. The head carries a mark: a pointer that is not ours, or was freed before, ends the process at
 * once instead of corrupting the accounts.
 */
#include "base/mem.h"
#include "base/num.h"
#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64

/* Zeroed blocks of at least this size come from calloc(): fresh pages of the kernel are zero and need not be
 * touched. */
#define LARGE_BYTES (1u << 20)

/* Blocks of at least this size count for mem_has_spare(). */
#define SPARE_BYTES (128u << 10)

#define MARK_LIVE 0x6d656d6cu
#define MARK_DEAD 0x6d656d64u

struct head {
    _Alignas(ALIGNMENT) void *raw; /* the block of the C library */
    size_t size;
    enum mem_kind kind;
    uint32_t mark;
};

static_assert(sizeof(struct head) == ALIGNMENT, "blocks begin one cache line after their head");

static struct account {
    atomic_uint_fast64_t bytes;
    atomic_uint_fast64_t peak_bytes;
    atomic_uint_fast64_t blocks;
} accounts[MEM_KIND_COUNT];

static atomic_uint_fast64_t n_allocs;

static atomic_bool has_spare;

/* The tools for tests apply to one thread; others are not affected. */
static _Thread_local struct {
    const char *phase; /* NULL: no guard */
    bool abort_on_breach;
    uint64_t n_breaches;
} guard;

static _Thread_local int64_t fail_after = -1; /* allocations that still succeed; below 0: all do */

static const char *const kind_names[MEM_KIND_COUNT] = {
    [MEM_MISC] = "misc", [MEM_WIRE] = "wire",       [MEM_STREAM] = "stream", [MEM_TEXT] = "text",
    [MEM_FILE] = "file", [MEM_SCHED] = "sched",     [MEM_LOOP] = "loop",     [MEM_WEIGHTS] = "weights",
    [MEM_KV] = "kv",     [MEM_SCRATCH] = "scratch",
};

static void account_add(enum mem_kind kind, uint64_t bytes)
{
    struct account *account = &accounts[kind];
    uint64_t now = atomic_fetch_add_explicit(&account->bytes, bytes, memory_order_relaxed) + bytes;
    uint64_t peak = atomic_load_explicit(&account->peak_bytes, memory_order_relaxed);

    while (now > peak && !atomic_compare_exchange_weak_explicit(&account->peak_bytes, &peak, now, memory_order_relaxed,
                                                                memory_order_relaxed)) {
    }
}

static void account_sub(enum mem_kind kind, uint64_t bytes)
{
    uint64_t before = atomic_fetch_sub_explicit(&accounts[kind].bytes, bytes, memory_order_relaxed);

    assert(before >= bytes);
    (void)before;
}

/* Counts an allocation before it happens. Returns false if a test wants it to fail. */
static bool admit(void)
{
    atomic_fetch_add_explicit(&n_allocs, 1, memory_order_relaxed);
    if (guard.phase) {
        guard.n_breaches++;
        if (guard.abort_on_breach) {
            fprintf(stderr, "allocation inside the guarded phase \"%s\"\n", guard.phase);
            abort();
        }
    }
    if (fail_after < 0) {
        return true;
    }
    return fail_after-- > 0;
}

static struct head *head_of(void *block)
{
    struct head *head = (struct head *)block - 1;

    if (head->mark != MARK_LIVE) {
        fprintf(stderr, "block %p was freed twice, or not allocated by mem_alloc()\n", block);
        abort();
    }
    return head;
}

static void *settle(enum mem_kind kind, struct head *head, void *raw, size_t size)
{
    *head = (struct head){ .raw = raw, .size = size, .kind = kind, .mark = MARK_LIVE };
    account_add(kind, size);
    atomic_fetch_add_explicit(&accounts[kind].blocks, 1, memory_order_relaxed);
    return head + 1;
}

void *mem_alloc(enum mem_kind kind, size_t size)
{
    void *raw;

    assert(kind < MEM_KIND_COUNT);
    if (!admit() || size > SIZE_MAX / 2 || posix_memalign(&raw, ALIGNMENT, sizeof(struct head) + size) != 0) {
        return NULL;
    }
    return settle(kind, raw, raw, size);
}

static void *alloc_large_zeroed(enum mem_kind kind, size_t size)
{
    void *raw;
    uintptr_t at;

    if (!admit() || size > SIZE_MAX / 2) {
        return NULL;
    }
    raw = calloc(1, sizeof(struct head) + ALIGNMENT - 1 + size);
    if (!raw) {
        return NULL;
    }
    at = (uintptr_t)raw;
    return settle(kind, (struct head *)(void *)((char *)raw + (-at & (ALIGNMENT - 1))), raw, size);
}

void *mem_calloc(enum mem_kind kind, size_t n, size_t size)
{
    uint64_t total;
    void *block;

    assert(kind < MEM_KIND_COUNT);
    if (!num_mul(n, size, &total)) {
        return NULL;
    }
    if (total >= LARGE_BYTES) {
        return alloc_large_zeroed(kind, total);
    }
    block = mem_alloc(kind, total);
    if (block) {
        memset(block, 0, total);
    }
    return block;
}

void *mem_realloc(enum mem_kind kind, void *block, size_t size)
{
    struct head *head;
    void *fresh;

    if (!block) {
        return mem_alloc(kind, size);
    }
    head = head_of(block);
    fresh = mem_alloc(head->kind, size);
    if (!fresh) {
        return NULL;
    }
    memcpy(fresh, block, num_min(size, head->size));
    mem_free(block);
    return fresh;
}

char *mem_strndup(enum mem_kind kind, const char *bytes, size_t n)
{
    char *copy;

    if (n == SIZE_MAX) {
        return NULL;
    }
    copy = mem_alloc(kind, n + 1);
    if (!copy) {
        return NULL;
    }
    if (n > 0) {
        memcpy(copy, bytes, n);
    }
    copy[n] = '\0';
    return copy;
}

void mem_free(void *block)
{
    struct head *head;

    if (!block) {
        return;
    }
    head = head_of(block);
    head->mark = MARK_DEAD;
    account_sub(head->kind, head->size);
    atomic_fetch_sub_explicit(&accounts[head->kind].blocks, 1, memory_order_relaxed);
    if (head->size >= SPARE_BYTES) {
        atomic_store_explicit(&has_spare, true, memory_order_relaxed);
    }
    free(head->raw);
}

bool mem_has_spare(void)
{
    return atomic_load_explicit(&has_spare, memory_order_relaxed);
}

void mem_return_spare(void)
{
    atomic_store_explicit(&has_spare, false, memory_order_relaxed);
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

void mem_freep(void *slot)
{
    void *block;

    memcpy(&block, slot, sizeof(block));
    mem_free(block);
}

void mem_charge(enum mem_kind kind, int64_t bytes)
{
    assert(kind < MEM_KIND_COUNT);
    if (bytes >= 0) {
        account_add(kind, (uint64_t)bytes);
    } else {
        account_sub(kind, -(uint64_t)bytes);
    }
}

void mem_read(enum mem_kind kind, struct mem_account *ret_account)
{
    const struct account *account = &accounts[kind];

    assert(kind < MEM_KIND_COUNT);
    ret_account->bytes = atomic_load_explicit(&account->bytes, memory_order_relaxed);
    ret_account->peak_bytes = atomic_load_explicit(&account->peak_bytes, memory_order_relaxed);
    ret_account->blocks = atomic_load_explicit(&account->blocks, memory_order_relaxed);
}

const char *mem_kind_name(enum mem_kind kind)
{
    return kind < MEM_KIND_COUNT ? kind_names[kind] : "unknown";
}

uint64_t mem_n_allocs(void)
{
    return atomic_load_explicit(&n_allocs, memory_order_relaxed);
}

void mem_guard_begin(const char *phase, bool abort_on_breach)
{
    assert(!guard.phase);
    guard.phase = phase;
    guard.abort_on_breach = abort_on_breach;
    guard.n_breaches = 0;
}

uint64_t mem_guard_end(void)
{
    assert(guard.phase);
    guard.phase = NULL;
    return guard.n_breaches;
}

void mem_fail_nth(int64_t nth)
{
    fail_after = nth;
}
