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

/*
 * A stage: adjacent ops that need no barrier among themselves, except one between its two parts. First, row by row: ops
 * that read and write a row alone, and the rounding of rows to 8 bits for the products behind them. Then the main ops
 * over units of their own: products of one input, or one op of another kind. A unit of products is an output column: of
 * all of them one after the other, or (@is_zipped) the same one of each. Columns are followed by element-wise ops on
 * what was just written.
 */
struct cpu_stage {
    uint32_t n_row_ops;
    uint32_t n_main_ops;
    uint32_t n_col_ops;
    bool is_zipped;
    bool quantises; /* at least one of the products wants it */
};

#define WINDOWS_MAX 4 /* a family has one or two */

/* One block: ops first, then stages, then rows, then runs. */
struct cpu_plan {
    struct cpu_op *ops;            /* [n_ops] */
    struct cpu_stage *stages;      /* [n_ops], at each stage's first op; the cursor is always at one */
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
    const struct exec_op *op; /* the first of the stage */
    const struct cpu_stage *stage;
    bool by_rows;   /* the first part of the stage */
    uint32_t first; /* row or unit */
};

/* ---- cpu_stage.c: what has no barrier between it, and how much it is ---- */

/* Divides the program into stages. Its ops are planned. */
void cpu_plan_stages(struct exec_program *program);

/* Returns the stage under the cursor, which is left. */
const struct cpu_stage *cpu_stage_of(const struct exec_program *program);

static inline uint32_t cpu_stage_ops(const struct cpu_stage *stage)
{
    return stage->n_row_ops + stage->n_main_ops + stage->n_col_ops;
}

/* Returns the first main op of the stage that begins with @op. */
static inline const struct exec_op *cpu_main_op(const struct exec_op *op, const struct cpu_stage *stage)
{
    return op + stage->n_row_ops;
}

/* Returns the units of the stage that begins with @op: first its rows, if it has a part by rows, then the others. */
uint32_t cpu_stage_rows(const struct exec_program *program, const struct exec_op *op, const struct cpu_stage *stage);
uint32_t cpu_stage_units(const struct exec_program *program, const struct exec_op *op, const struct cpu_stage *stage);

/* Returns the work of a unit (rows are not counted here) in multiply-adds or their equivalent, and that of a row. */
uint64_t cpu_unit_work(const struct exec_program *program, const struct exec_op *op, const struct cpu_stage *stage,
                       uint32_t unit);
uint64_t cpu_row_work(const struct exec_program *program, const struct exec_op *op, const struct cpu_stage *stage);

/* A range of the output columns of a product. */
struct cpu_span {
    const struct exec_op *op;
    uint32_t first;
    uint32_t n; /* 0: none of this product */
};

/* Returns the columns of product @i of the stage among its units @first .. @first + @n - 1. */
struct cpu_span cpu_stage_span(const struct exec_program *program, const struct exec_op *op,
                               const struct cpu_stage *stage, uint32_t i, uint32_t first, uint32_t n);

/* ---- cpu_ops.c ---- */

/* Computes rows or units of the part's stage. Any worker. */
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

void cpu_run_conv(const struct cpu_part *part, const struct exec_op *op, uint32_t first, uint32_t n);
void cpu_run_delta(const struct cpu_part *part, const struct exec_op *op, uint32_t first, uint32_t n);

#endif
