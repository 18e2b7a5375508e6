/*
 * Host: memory of backends that compute where the process does
 *
 * Weights stay in the mapped file. Everything else is zeroed memory from the system, which becomes resident when it is
 * touched and is charged (base/mem.h) then: a page or a state with its first row, scratch memory with the first run.
 */
#ifndef SOTTO_EXEC_HOST_H
#define SOTTO_EXEC_HOST_H

#include "exec/backend.h"

/* exec_mem::private; a mem block. */
struct host_mem {
    const uint8_t *bytes; /* where kernels read: the caller's bytes, or @owned */
    uint8_t *owned;       /* mapped, or NULL */
    uint64_t n_owned;
    uint64_t n_charged; /* bytes of @owned */
    bool *is_touched;   /* [n_rows] of KV and states; owned */
};

/* ---- functions for a backend's table ---- */

int host_import(struct exec *exec, struct exec_mem *mem, const void *bytes);
int host_alloc(struct exec *exec, struct exec_mem *mem);
void host_free(struct exec *exec, struct exec_mem *mem);
int host_write(struct exec *exec, struct exec_mem *mem, uint64_t at, const void *bytes, size_t n);
int host_copy_page(struct exec *exec, struct exec_mem *kv, uint32_t from, uint32_t to);
int host_fetch(struct exec_program *program, uint32_t slot, struct exec_view *ret_view);

/* ---- */

/* Charges the memory that the bound run is the first to touch. */
void host_touch(struct exec_program *program);

/* Charges @n_bytes more of what @mem owns. */
void host_charge(struct exec_mem *mem, uint64_t n_bytes);

static inline struct host_mem *host_of(const struct exec_mem *mem)
{
    return mem->private;
}

static inline const float *host_floats(const struct exec_mem *mem)
{
    return (const float *)(const void *)host_of(mem)->bytes;
}

/* Returns the beginning of the program's activations. */
static inline uint8_t *host_scratch(const struct exec_program *program)
{
    return host_of(program->exec->scratches[program->scratch])->owned;
}

/* Returns the first float of row @row of slot @slot. */
static inline float *host_slot(const struct exec_program *program, uint32_t slot, uint32_t row)
{
    const struct exec_slot *at = &program->slots[slot];

    return (float *)(void *)(host_scratch(program) + at->offset) + (size_t)row * at->stride;
}

#endif
