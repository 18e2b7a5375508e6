/*
 * Cpu: the backend that runs programs over daemon/kern, and the pieces that truth.c shares with it
 */
#ifndef SOTTO_EXEC_CPU_BACKEND_H
#define SOTTO_EXEC_CPU_BACKEND_H

#include "exec/backend.h"
#include "kern/kern.h"
#include "kern/pool.h"

/* Kinds of parts whose speed is measured by itself: those of ops, rounding to 8 bits (in the place of products), and
 * products by weight type, of few rows and of many. */
#define CPU_SPEEDS (EXEC_OP_COUNT + 2 * ELEM_TYPE_COUNT)

struct cpu {
    struct kern_ops kern;
    struct pool *pool;           /* owned */
    uint32_t speeds[CPU_SPEEDS]; /* multiply-adds, or what weighs as much, in a microsecond; above 0 */
    uint64_t n_tickets;
};

/* The kernels' name of a format that is kept. */
enum kern_kv cpu_kv(enum exec_kv_format format);

int cpu_open(struct exec *exec, const struct exec_setup *setup, struct diag *diag);
void cpu_close(struct exec *exec);
bool cpu_may_import(const struct exec *exec, uint32_t type);
void cpu_fill_rope(struct exec *exec, struct exec_mem *mem, const struct exec_rope *rope);
int cpu_seal(struct exec_program *program);
void cpu_bind(struct exec_program *program);
int cpu_submit(struct exec_program *program, uint32_t n_parts, uint32_t bound_us, uint64_t *ret_ticket);
int cpu_wait(struct exec *exec, uint64_t ticket, uint32_t timeout_ms);

#endif
