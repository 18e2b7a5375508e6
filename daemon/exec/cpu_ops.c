/*
 * Cpu_ops: each kind of op over a range of rows, columns or units
 *
 * A unit is an output column of products (so that a part reads its weights once for all rows of the step), a (head,
 * row) pair of attention, or what cpu_state.c says. No bit depends on how units are divided. Any worker runs any range.
 */
#include "exec/cpu_plan.h"
#include <string.h>

static const struct cpu_op *plan_of(const struct cpu_part *part, const struct exec_op *op)
{
    const struct cpu_plan *plan = part->program->private;

    return &plan->ops[op - part->program->ops];
}

static void run_embed(const struct cpu_part *part, const struct exec_op *op, uint32_t first, uint32_t n)
{
    const struct kern_weights weights = cpu_weights(op->weight, host_of(op->weight)->bytes);

    for (uint32_t i = first; i < first + n; i++) {
        kern_unpack_row(&part->cpu->kern, &weights, part->program->batch.tokens[i],
                        host_slot(part->program, op->out, i));
    }
}

static void run_norm(const struct cpu_part *part, const struct exec_op *op, uint32_t first, uint32_t n)
{
    const float *weight = host_floats(op->weight);
    uint32_t n_alone = (uint32_t)op->weight->n_cols; /* normed separately: a row, or each of its heads */
    uint32_t n_cols = part->program->slots[op->in].n_cols;

    for (uint32_t i = first; i < first + n; i++) {
        float *out = host_slot(part->program, op->out, i);
        const float *in = host_slot(part->program, op->in, i);

        for (uint32_t at = 0; at < n_cols; at += n_alone) {
            part->cpu->kern.rms_norm(out + at, in + at, weight, op->eps, n_alone);
        }
    }
}

static void run_quantise(const struct cpu_part *part, const struct exec_op *op, uint32_t first, uint32_t n)
{
    const struct exec_slot *in = &part->program->slots[op->in];
    const struct cpu_op *plan = plan_of(part, op);
    uint8_t *acts = host_scratch(part->program) + plan->acts;

    for (uint32_t i = first; i < first + n; i++) {
        part->cpu->kern.quantise(plan->act, host_slot(part->program, op->in, i), in->n_cols,
                                 acts + i * plan->act_bytes);
    }
}

static void run_matmul(const struct cpu_part *part, const struct exec_op *op, uint32_t first, uint32_t n)
{
    const struct exec_program *program = part->program;
    const struct kern_matmul product = {
        .weights = cpu_weights(op->weight, host_of(op->weight)->bytes),
        .acts = host_scratch(program) + plan_of(part, op)->acts,
        .act_bytes = plan_of(part, op)->act_bytes,
        .n_rows = exec_op_rows(program, op),
        .out = host_slot(program, op->out, 0),
        .out_stride = program->slots[op->out].stride,
    };

    part->cpu->kern.matmul(&product, first, n);
    for (uint32_t i = 0; op->bias && i < product.n_rows; i++) {
        float *out = product.out + i * product.out_stride + first;

        part->cpu->kern.add(out, out, host_floats(op->bias) + first, n);
    }
}

static void run_rope(const struct cpu_part *part, const struct exec_op *op, uint32_t first, uint32_t n)
{
    const struct kern_rope rope = {
        .order = op->pairs == EXEC_PAIRS_HALVES ? KERN_ROPE_HALVES : KERN_ROPE_ADJACENT,
        .n_heads = op->n_heads,
        .head_dim = op->head_dim,
        .n_rot = (uint32_t)op->table->n_cols,
        .table = host_floats(op->table),
        .pos = part->program->batch.positions,
        .x = host_slot(part->program, op->out, 0),
        .stride = part->program->slots[op->out].stride,
    };

    part->cpu->kern.rope(&rope, first, n);
}

static struct kern_kv_shape kv_shape(const struct exec_op *op)
{
    const enum kern_kv kv = exec_kern_kv(op->kv->kv.format);

    return (struct kern_kv_shape){
        .kv = kv,
        .n_kv_heads = op->n_kv_heads,
        .head_dim = op->head_dim,
        .base = host_of(op->kv)->owned,
        .page_bytes = op->kv->row_bytes,
        .layer_bytes = op->layer * kern_kv_page_bytes(kv, op->n_kv_heads, op->head_dim),
    };
}

static void run_store(const struct cpu_part *part, const struct exec_op *op, uint32_t first, uint32_t n)
{
    const struct cpu_plan *plan = part->program->private;
    const struct kern_store store = {
        .shape = kv_shape(op),
        .rows = plan->rows,
        .k = host_slot(part->program, op->in, 0),
        .v = host_slot(part->program, op->in2, 0),
        .k_stride = part->program->slots[op->in].stride,
        .v_stride = part->program->slots[op->in2].stride,
    };

    part->cpu->kern.store(&store, first, n);
}

static void run_attend(const struct cpu_part *part, const struct exec_op *op, uint32_t first, uint32_t n)
{
    const struct cpu_plan *plan = part->program->private;
    const struct kern_attend attend = {
        .shape = kv_shape(op),
        .n_heads = op->n_heads,
        .n_rows = part->program->batch.n_rows,
        .rows = plan->rows + (size_t)plan_of(part, op)->window * part->program->n_rows,
        .scale = op->scale,
        .cap = op->cap,
        .q = host_slot(part->program, op->in, 0),
        .out = host_slot(part->program, op->out, 0),
        .q_stride = part->program->slots[op->in].stride,
        .out_stride = part->program->slots[op->out].stride,
    };

    part->cpu->kern.attend(&attend, first, n);
}

/* Columns of some rows. */
struct block {
    uint32_t row;
    uint32_t n_rows;
    uint32_t col;
    uint32_t n_cols;
};

static void run_block(const struct cpu_part *part, const struct exec_op *op, struct block block)
{
    const struct kern_ops *kern = &part->cpu->kern;
    const struct exec_slot *slots = part->program->slots;
    bool reads_two = op->kind == EXEC_ADD || op->kind == EXEC_GLU;
    uint32_t other = reads_two ? op->in2 : op->in;
    float *out = host_slot(part->program, op->out, block.row) + block.col;
    const float *in = host_slot(part->program, op->in, block.row) + block.col;
    const float *in2 = host_slot(part->program, other, block.row) + block.col;

    for (uint32_t i = 0; i < block.n_rows; i++) {
        if (op->kind == EXEC_ADD) {
            kern->add(out, in, in2, block.n_cols);
        } else if (op->kind == EXEC_SCALE) {
            kern->scale(out, in, op->scale, block.n_cols);
        } else if (op->kind == EXEC_CAP) {
            kern->cap(out, in, op->cap, block.n_cols);
        } else if (op->gate == EXEC_GATE_SIGMOID) {
            kern->sigmoid_mul(out, in, in2, block.n_cols);
        } else if (op->gate == EXEC_GATE_GELU) {
            kern->gelu_mul(out, in, in2, block.n_cols);
        } else {
            kern->silu_mul(out, in, in2, block.n_cols);
        }
        out += slots[op->out].stride;
        in += slots[op->in].stride;
        in2 += slots[other].stride;
    }
}

static void run_elements(const struct cpu_part *part, const struct exec_op *op, uint32_t first, uint32_t n)
{
    run_block(part, op, (struct block){ first, n, 0, part->program->slots[op->out].n_cols });
}

static void run_unzip(const struct cpu_part *part, const struct exec_op *op, uint32_t first, uint32_t n)
{
    const struct exec_program *program = part->program;
    uint32_t n_out = program->slots[op->out].n_cols;
    uint32_t step = program->slots[op->in].n_cols / n_out * op->head_dim;

    for (uint32_t i = first; i < first + n; i++) {
        float *out = host_slot(program, op->out, i);
        const float *in = host_slot(program, op->in, i) + (size_t)op->part * op->head_dim;

        for (uint32_t run = 0; run < n_out / op->head_dim; run++) {
            memcpy(out + (size_t)run * op->head_dim, in + (size_t)run * step, op->head_dim * sizeof(float));
        }
    }
}

static void run_gather(const struct cpu_part *part, const struct exec_op *op, uint32_t first, uint32_t n)
{
    const struct exec_program *program = part->program;
    for (uint32_t i = first; i < first + n; i++) {
        memcpy(host_slot(program, op->out, i), host_slot(program, op->in, program->batch.wanted[i]),
               program->slots[op->out].n_cols * sizeof(float));
    }
}

typedef void (*range_fn)(const struct cpu_part *part, const struct exec_op *op, uint32_t first, uint32_t n);

static const range_fn ranges[EXEC_OP_COUNT] = {
    [EXEC_EMBED] = run_embed,     [EXEC_NORM] = run_norm,     [EXEC_MATMUL] = run_matmul, [EXEC_ROPE] = run_rope,
    [EXEC_STORE] = run_store,     [EXEC_ATTEND] = run_attend, [EXEC_GLU] = run_elements,  [EXEC_ADD] = run_elements,
    [EXEC_SCALE] = run_elements,  [EXEC_CAP] = run_elements,  [EXEC_UNZIP] = run_unzip,   [EXEC_CONV] = cpu_run_conv,
    [EXEC_DELTA] = cpu_run_delta, [EXEC_GATHER] = run_gather,
};

/* Row by row, so that a row stays in the cache from its norm to its rounding. */
static void run_rows(const struct cpu_part *part, uint32_t first, uint32_t n)
{
    const struct exec_op *main = cpu_main_op(part->op, part->stage);

    for (uint32_t row = first; row < first + n; row++) {
        for (const struct exec_op *op = part->op; op < main; op++) {
            ranges[op->kind](part, op, row, 1);
        }
        for (uint32_t i = 0; part->stage->quantises && i < part->stage->n_main_ops; i++) {
            if (plan_of(part, &main[i])->quantises) {
                run_quantise(part, &main[i], row, 1);
            }
        }
    }
}

static void run_columns(const struct cpu_part *part, uint32_t first, uint32_t n)
{
    const struct exec_op *main = cpu_main_op(part->op, part->stage);
    const struct exec_op *behind = main + part->stage->n_main_ops;

    for (uint32_t i = 0; i < part->stage->n_main_ops; i++) {
        const struct cpu_span span = cpu_stage_span(part->program, part->op, part->stage, i, first, n);

        if (span.n > 0) {
            run_matmul(part, span.op, span.first, span.n);
        }
    }
    for (uint32_t i = 0; i < part->stage->n_col_ops; i++) {
        run_block(part, &behind[i], (struct block){ 0, exec_op_rows(part->program, main), first, n });
    }
}

void cpu_run_units(const struct cpu_part *part, uint32_t first, uint32_t n)
{
    const struct exec_op *main = cpu_main_op(part->op, part->stage);

    if (part->by_rows) {
        run_rows(part, first, n);
    } else if (main->kind == EXEC_MATMUL) {
        run_columns(part, first, n);
    } else {
        ranges[main->kind](part, main, first, n);
    }
}
