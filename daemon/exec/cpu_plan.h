/*
 * Cpu_plan: what the files of the cpu backend share: a program's plan and a part of it; private to them
 */
#ifndef SOTTO_EXEC_CPU_PLAN_H
#define SOTTO_EXEC_CPU_PLAN_H

#include "exec/cpu_backend.h"

#define CPU_WORK_OF_A_COLUMN 8 /* of norms, sums and the like: reading and writing weighs more than arithmetic */

struct cpu_op {
    uint64_t acts;    /* MATMUL: offset into scratch of the rows that the weights meet */
    size_t act_bytes; /* stride of such a row */
    enum kern_act act;
    bool quantises;  /* they have to be made from the op's input first */
    uint32_t window; /* ATTEND: place in cpu_plan::windows */
};

#define WINDOWS_MAX 4 /* a family has one or two */

/* One block: ops first, then rows, then runs. */
struct cpu_plan {
    struct cpu_op *ops;            /* [n_ops] */
    uint32_t windows[WINDOWS_MAX]; /* that ops attend through; 0: all. The first is 0. */
    uint32_t n_windows;
    struct kern_kv_row *rows; /* [n_windows][n_rows] of the present batch */
    struct kern_run *runs;    /* [n_runs] of it, where the program has states */
    uint32_t n_runs;
    uint32_t n_longest; /* rows of one of them */
};

/* What the workers are told of a part. */
struct cpu_part {
    const struct cpu *cpu;
    const struct exec_program *program;
    const struct exec_op *op;
    const struct cpu_op *plan;
    uint32_t first; /* unit */
};

/* ---- cpu.c ---- */

/* Units of the part's op (of a product: weight rows); rows that a product rounds to 8 bits first. Any worker. */
void cpu_run_units(const struct cpu_part *part, uint32_t first, uint32_t n);
void cpu_run_quantise(const struct cpu_part *part, uint32_t first, uint32_t n);

/* ---- cpu_state.c: ops that go through the states of sequences ---- */

/* Runs of the present batch. */
void cpu_bind_runs(struct exec_program *program);

/* Units of a CONV or DELTA, and what one weighs. */
uint32_t cpu_state_units(const struct exec_program *program, const struct exec_op *op);
uint64_t cpu_state_work(const struct exec_program *program, const struct exec_op *op, uint32_t unit);

/* Units of one lap of a DELTA: heads of runs. A run's laps come one after the other, so no part goes beyond one. */
uint32_t cpu_lap_units(const struct exec_program *program, const struct exec_op *op);

void cpu_run_conv(const struct cpu_part *part, uint32_t first, uint32_t n);
void cpu_run_delta(const struct cpu_part *part, uint32_t first, uint32_t n);

#endif
