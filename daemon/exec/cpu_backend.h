/*
 * Cpu: the backend that runs programs over daemon/kern
 *
 * truth.c shares the functions below.
 */
#ifndef SOTTO_EXEC_CPU_BACKEND_H
#define SOTTO_EXEC_CPU_BACKEND_H

#include "exec/host.h"
#include "kern/pool.h"

/* Parts of one kind run at one speed, which is measured: a kind for each op that begins a part by rows (MATMUL:
 * rounding to 8 bits alone) or has units of its own, and for products by the first one's weight type, of few rows
 * and of many. */
#define CPU_SPEEDS (EXEC_OP_COUNT + 2 * ELEM_TYPE_COUNT)

struct cpu {
    struct kern_ops kern;
    struct pool *pool;           /* owned */
    char threads[CORES_TEXT];    /* what cores were chosen, and why */
    uint32_t speeds[CPU_SPEEDS]; /* work (multiply-adds, or their equivalent) in a microsecond; above 0 */
    uint64_t n_tickets;
};

int cpu_open(struct exec *exec, const struct exec_setup *setup, struct diag *diag);
void cpu_close(struct exec *exec);
bool cpu_may_import(const struct exec *exec, uint32_t type);
int cpu_seal(struct exec_program *program);
void cpu_bind(struct exec_program *program);
int cpu_submit(struct exec_program *program, uint32_t n_parts, uint32_t bound_us, uint64_t *ret_ticket);
int cpu_wait(struct exec *exec, uint64_t ticket, uint32_t timeout_ms);

/* Returns the weights of @mem, which lie at @bytes, for kernels. */
static inline struct kern_weights cpu_weights(const struct exec_mem *mem, const void *bytes)
{
    return (struct kern_weights){ .type = mem->type,
                                  .n_cols = (uint32_t)mem->n_cols,
                                  .bytes = bytes,
                                  .row_bytes = mem->row_bytes,
                                  .in_panels = mem->in_panels };
}

#endif
