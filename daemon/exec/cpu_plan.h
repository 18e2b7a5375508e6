/* Cpu_plan: a program's plan and a part of it, private to the files of the cpu backend */
#ifndef SOTTO_EXEC_CPU_PLAN_H
#define SOTTO_EXEC_CPU_PLAN_H

#include "exec/cpu_backend.h"

#define CPU_WORK_OF_A_COLUMN 8 /* of norms, sums and the like: reading and writing cost more than the arithmetic */

struct cpu_op {
    uint64_t acts;    /* MATMUL: offset into scratch of the rows that are multiplied */
    size_t act_bytes; /* stride of such a row */
    enum kern_act act;
    bool quantises;  /* they must be made from the op's input first */
    uint32_t window; /* ATTEND: index in cpu_plan::windows */
};

#define WINDOWS_MAX 4 /* a family has one or two */

/* One block: ops first, then rows, then runs. */
struct cpu_plan {
    struct cpu_op *ops;            /* [n_ops] */
    uint32_t windows[WINDOWS_MAX]; /* of ATTEND ops; 0: none. The first is 0. */
    uint32_t n_windows;
    struct kern_kv_row *rows; /* [n_windows][n_rows] of the bound batch */
    struct kern_run *runs;    /* [n_runs] of the bound batch, where the program has states */
    uint32_t n_runs;
    uint32_t n_longest; /* rows of the longest run */
};

/* Arguments of a part for the workers. */
struct cpu_part {
    const struct cpu *cpu;
    const struct exec_program *program;
    const struct exec_op *op;
    const struct cpu_op *plan;
    bool rounds;    /* rounds rows of a product's input to 8 bits, in place of computing it */
    uint32_t first; /* row or unit */
};

/* ---- cpu_ops.c ---- */

/* Computes units of the part's op (weight rows of a product), or rounds rows of its input. Any worker. */
void cpu_run_units(const struct cpu_part *part, uint32_t first, uint32_t n);

/* ---- cpu_state.c: ops that go through the states of sequences ---- */

/* Finds the runs of the bound batch: adjacent rows of one state. */
void cpu_bind_runs(struct exec_program *program);

/* Returns the units of a CONV or DELTA, and the work of one. */
uint32_t cpu_state_units(const struct exec_program *program, const struct exec_op *op);
uint64_t cpu_state_work(const struct exec_program *program, const struct exec_op *op, uint32_t unit);

/* Returns the units of one chunk of a DELTA: the heads of all runs. Chunks of a run follow each other, so a part stays
 * within one chunk. */
uint32_t cpu_chunk_units(const struct exec_program *program, const struct exec_op *op);

void cpu_run_conv(const struct cpu_part *part, uint32_t first, uint32_t n);
void cpu_run_delta(const struct cpu_part *part, uint32_t first, uint32_t n);

#endif
