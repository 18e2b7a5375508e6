/*
 * Cpu_stage: a program's ops, grouped so that few barriers lie between them
 *
 * A layer of a llama is five stages: norm, round, then queries, keys and values; rotate, store, then attend; round,
 * then the output product and its addition; norm, round, then gate and up and their product; round, then the product
 * down and its addition. With one row the parts by rows run on one thread, so these are five barriers; with many, ten.
 *
 * An op joins a stage only where each of its outputs depends on nothing that another worker writes in the same part. So
 * ops by rows read the row that they write, and what follows a product reads the columns that this product has written
 * in the same piece. Ops of one stage have the same rows, so one that gathers reads what another stage has written, and
 * the same phase, so each part's time belongs to one.
 */
#include "base/num.h"
#include "exec/cpu_plan.h"

/* How an op may take part in a stage. */
enum shape {
    SHAPE_ALONE,   /* by units of its own */
    SHAPE_PRODUCT, /* by columns */
    SHAPE_ROW,     /* by rows */
    SHAPE_ELEMENT, /* by rows or by columns */
};

static enum shape shape_of(const struct exec_op *op)
{
    switch (op->kind) {
    case EXEC_MATMUL:
        return SHAPE_PRODUCT;
    case EXEC_EMBED:
    case EXEC_NORM:
    case EXEC_ROPE:
    case EXEC_STORE:
    case EXEC_UNZIP:
    case EXEC_GATHER:
        return SHAPE_ROW;
    case EXEC_GLU:
    case EXEC_ADD:
    case EXEC_SCALE:
    case EXEC_CAP:
        return SHAPE_ELEMENT;
    case EXEC_ATTEND:
    case EXEC_CONV:
    case EXEC_DELTA:
    case EXEC_OP_COUNT:
        break;
    }
    return SHAPE_ALONE;
}

static enum exec_rows rows_of(const struct exec_program *program, const struct exec_op *op)
{
    return program->slots[op->kind == EXEC_STORE ? op->in : op->out].rows;
}

/* Returns true if op @at may be in a stage that begins with op @first, as far as rows and phase decide. */
static bool suits(const struct exec_program *program, uint32_t first, uint32_t at)
{
    return at < program->n_ops && program->ops[at].phase == program->ops[first].phase &&
           rows_of(program, &program->ops[at]) == rows_of(program, &program->ops[first]);
}

/* Returns the ops by rows from op @first on. */
static uint32_t count_row_ops(const struct exec_program *program, uint32_t first)
{
    uint32_t n = 0;

    while (suits(program, first, first + n) && shape_of(&program->ops[first + n]) >= SHAPE_ROW) {
        n++;
    }
    return n;
}

/* Returns the products from op @at on that read the input of the first and write different slots. */
static uint32_t count_products(const struct exec_program *program, uint32_t first, uint32_t at)
{
    const struct exec_op *ops = &program->ops[at];
    uint32_t n = 0;

    while (suits(program, first, at + n) && shape_of(&ops[n]) == SHAPE_PRODUCT && ops[n].in == ops[0].in) {
        for (uint32_t i = 0; i < n; i++) {
            if (ops[i].out == ops[n].out) {
                return n;
            }
        }
        n++;
    }
    return n;
}

/* Returns the element-wise ops from op @at on over columns of @product's width. None writes what the product reads. */
static uint32_t count_col_ops(const struct exec_program *program, uint32_t first, uint32_t at,
                              const struct exec_op *product)
{
    uint32_t n = 0;

    while (suits(program, first, at + n) && shape_of(&program->ops[at + n]) == SHAPE_ELEMENT &&
           program->slots[program->ops[at + n].out].n_cols == program->slots[product->out].n_cols &&
           program->ops[at + n].out != product->in) {
        n++;
    }
    return n;
}

/* Returns true if the ops at @ops are two products of one width and the gate that joins them. */
static bool is_gated(const struct exec_program *program, const struct exec_op *ops, uint32_t n_left)
{
    return n_left > 2 && ops[2].kind == EXEC_GLU &&
           ((ops[2].in == ops[0].out && ops[2].in2 == ops[1].out) ||
            (ops[2].in == ops[1].out && ops[2].in2 == ops[0].out)) &&
           program->slots[ops[0].out].n_cols == program->slots[ops[1].out].n_cols;
}

static void plan_products(struct exec_program *program, uint32_t first, uint32_t at, struct cpu_stage *stage)
{
    const struct cpu_plan *plan = program->private;

    stage->n_main_ops = count_products(program, first, at);
    stage->is_zipped = stage->n_main_ops == 2 && is_gated(program, &program->ops[at], program->n_ops - at);
    if (stage->n_main_ops == 1 || stage->is_zipped) {
        stage->n_col_ops = count_col_ops(program, first, at + stage->n_main_ops, &program->ops[at]);
    }
    for (uint32_t i = 0; i < stage->n_main_ops; i++) {
        stage->quantises = stage->quantises || plan->ops[at + i].quantises;
    }
}

void cpu_plan_stages(struct exec_program *program)
{
    struct cpu_plan *plan = program->private;

    for (uint32_t first = 0; first < program->n_ops; first += cpu_stage_ops(&plan->stages[first])) {
        struct cpu_stage *stage = &plan->stages[first];
        uint32_t at;

        stage->n_row_ops = count_row_ops(program, first);
        at = first + stage->n_row_ops;
        if (suits(program, first, at) && shape_of(&program->ops[at]) == SHAPE_PRODUCT) {
            plan_products(program, first, at, stage);
        } else if (suits(program, first, at) && shape_of(&program->ops[at]) == SHAPE_ALONE) {
            stage->n_main_ops = 1;
        }
    }
}

const struct cpu_stage *cpu_stage_of(const struct exec_program *program)
{
    const struct cpu_plan *plan = program->private;

    return &plan->stages[program->op];
}

/* ---- how much it is ---- */

uint32_t cpu_stage_rows(const struct exec_program *program, const struct exec_op *op, const struct cpu_stage *stage)
{
    return stage->n_row_ops > 0 || stage->quantises ? exec_op_rows(program, op) : 0;
}

uint32_t cpu_stage_units(const struct exec_program *program, const struct exec_op *op, const struct cpu_stage *stage)
{
    const struct exec_op *main = cpu_main_op(op, stage);
    uint32_t n = cpu_stage_rows(program, op, stage);

    if (stage->n_main_ops == 0) {
        return n;
    }
    if (main->kind == EXEC_ATTEND) {
        return n + main->n_heads * program->batch.n_rows;
    }
    if (main->kind != EXEC_MATMUL) {
        return n + cpu_state_units(program, main);
    }
    for (uint32_t i = 0; i < (stage->is_zipped ? 1 : stage->n_main_ops); i++) {
        n += program->slots[main[i].out].n_cols;
    }
    return n;
}

struct cpu_span cpu_stage_span(const struct exec_program *program, const struct exec_op *op,
                               const struct cpu_stage *stage, uint32_t i, uint32_t first, uint32_t n)
{
    const struct exec_op *main = cpu_main_op(op, stage);
    uint32_t begin = 0;
    uint32_t from, to;

    for (uint32_t k = 0; k < i && !stage->is_zipped; k++) {
        begin += program->slots[main[k].out].n_cols;
    }
    from = (uint32_t)num_max(first, begin);
    to = (uint32_t)num_min(first + n, begin + program->slots[main[i].out].n_cols);
    return (struct cpu_span){ .op = &main[i], .first = from - begin, .n = to > from ? to - from : 0 };
}

/* Returns the work of column @unit of the stage's products, and of the ops behind them. */
static uint64_t column_work(const struct exec_program *program, const struct exec_op *op, const struct cpu_stage *stage,
                            uint32_t unit)
{
    uint64_t work = (uint64_t)stage->n_col_ops * CPU_WORK_OF_A_COLUMN;

    for (uint32_t i = 0; i < stage->n_main_ops; i++) {
        struct cpu_span span = cpu_stage_span(program, op, stage, i, unit, 1);

        work += span.n * span.op->weight->n_cols;
    }
    return work * exec_op_rows(program, op);
}

uint64_t cpu_unit_work(const struct exec_program *program, const struct exec_op *op, const struct cpu_stage *stage,
                       uint32_t unit)
{
    const struct exec_op *main = cpu_main_op(op, stage);

    if (main->kind == EXEC_MATMUL) {
        return column_work(program, op, stage, unit);
    }
    if (main->kind == EXEC_ATTEND) {
        uint64_t n_seen = program->batch.positions[unit % program->batch.n_rows] + UINT64_C(1);

        return (main->window ? num_min(n_seen, main->window) : n_seen) * main->head_dim * 2;
    }
    return cpu_state_work(program, main, unit);
}

uint64_t cpu_row_work(const struct exec_program *program, const struct exec_op *op, const struct cpu_stage *stage)
{
    const struct cpu_plan *plan = program->private;
    uint64_t n_cols = 0;

    for (uint32_t i = 0; i < stage->n_row_ops; i++) {
        n_cols += program->slots[op[i].kind == EXEC_STORE ? op[i].in : op[i].out].n_cols;
    }
    for (uint32_t i = 0; i < stage->n_main_ops; i++) {
        const struct exec_op *main = cpu_main_op(op, stage) + i;

        n_cols += plan->ops[main - program->ops].quantises ? main->weight->n_cols : 0;
    }
    return n_cols * CPU_WORK_OF_A_COLUMN;
}
