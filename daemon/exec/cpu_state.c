/*
 * Cpu_state: ops that go through the states of sequences, row by row
 *
 * The rows of a run depend on each other, so work is divided along other axes: the channels of a convolution, the heads
 * of all runs of a delta rule. A long run is cut into chunks of rows, so that no part takes long.
 */
#include "base/num.h"
#include "exec/cpu_plan.h"

_Static_assert(EXEC_TAPS_MAX == KERN_TAPS_MAX, "what is let in must be computed");

#define CHANNELS   16 /* a unit of a convolution */
#define CHUNK_ROWS 16 /* of a run, so that no unit of the delta rule is long: 2 ms for a head of 128 by 128, scalar */

void cpu_bind_runs(struct exec_program *program)
{
    struct cpu_plan *plan = program->private;
    const struct exec_batch *batch = &program->batch;

    plan->n_runs = 0;
    plan->n_longest = 0;
    for (uint32_t i = 0; program->states && i < batch->n_rows; i++) {
        if (i == 0 || batch->states[i] != batch->states[i - 1]) {
            plan->runs[plan->n_runs++] = (struct kern_run){
                .first = i,
                .state = host_of(program->states)->owned + batch->states[i] * program->states->row_bytes,
                .is_new = batch->positions[i] == 0,
            };
        }
        plan->runs[plan->n_runs - 1].n++;
        plan->n_longest = (uint32_t)num_max(plan->n_longest, plan->runs[plan->n_runs - 1].n);
    }
}

uint32_t cpu_chunk_units(const struct exec_program *program, const struct exec_op *op)
{
    const struct cpu_plan *plan = program->private;

    return plan->n_runs * op->n_heads;
}

uint32_t cpu_state_units(const struct exec_program *program, const struct exec_op *op)
{
    const struct cpu_plan *plan = program->private;

    if (op->kind == EXEC_CONV) {
        return (uint32_t)num_div_up(program->slots[op->in].n_cols, CHANNELS);
    }
    return cpu_chunk_units(program, op) * (uint32_t)num_div_up(plan->n_longest, CHUNK_ROWS);
}

uint64_t cpu_state_work(const struct exec_program *program, const struct exec_op *op, uint32_t unit)
{
    const struct cpu_plan *plan = program->private;
    uint32_t n_run, from;
    uint64_t n_rows;

    if (op->kind == EXEC_CONV) {
        return (op->weight->n_cols + CPU_WORK_OF_A_COLUMN) * CHANNELS * program->batch.n_rows;
    }
    n_run = plan->runs[unit % cpu_chunk_units(program, op) / op->n_heads].n;
    from = unit / cpu_chunk_units(program, op) * CHUNK_ROWS;
    n_rows = from < n_run ? num_min(n_run - from, CHUNK_ROWS) : 0;
    return n_rows * op->head_dim * (program->slots[op->out].n_cols / op->n_heads) * 4 + 1;
}

void cpu_run_conv(const struct cpu_part *part, const struct exec_op *op, uint32_t first, uint32_t n)
{
    const struct exec_program *program = part->program;
    const struct cpu_plan *plan = program->private;
    const struct kern_conv conv = {
        .runs = plan->runs,
        .n_runs = plan->n_runs,
        .state_at = exec_state_at(&op->states->state, op->layer),
        .n_channels = program->slots[op->in].n_cols,
        .n_taps = (uint32_t)op->weight->n_cols,
        .weights = host_floats(op->weight),
        .in = host_slot(program, op->in, 0),
        .out = host_slot(program, op->out, 0),
        .in_stride = program->slots[op->in].stride,
        .out_stride = program->slots[op->out].stride,
    };
    uint32_t at = first * CHANNELS;

    part->cpu->kern.conv(&conv, at, (uint32_t)num_min(n * CHANNELS, conv.n_channels - at));
}

void cpu_run_delta(const struct cpu_part *part, const struct exec_op *op, uint32_t first, uint32_t n)
{
    const struct exec_program *program = part->program;
    const struct cpu_plan *plan = program->private;
    uint32_t chunk = first / cpu_chunk_units(program, op);
    uint32_t n_out = program->slots[op->out].n_cols;
    const struct kern_delta delta = {
        .runs = plan->runs,
        .n_runs = plan->n_runs,
        .from = chunk * CHUNK_ROWS,
        .to = (chunk + 1) * CHUNK_ROWS,
        .state_at = exec_state_at(&op->states->state, op->layer) + op->states->state.n_window * sizeof(float),
        .n_heads = op->n_heads,
        .n_key_heads = op->n_kv_heads,
        .n_k = op->head_dim,
        .n_v = n_out / op->n_heads,
        .rate = host_floats(op->weight),
        .bias = host_floats(op->bias),
        .eps = op->eps,
        .scale = op->scale,
        .x = host_slot(program, op->in, 0),
        .a = host_slot(program, op->in2, 0),
        .b = host_slot(program, op->in3, 0),
        .out = host_slot(program, op->out, 0),
        .x_stride = program->slots[op->in].stride,
        .a_stride = program->slots[op->in2].stride,
        .b_stride = program->slots[op->in3].stride,
        .out_stride = program->slots[op->out].stride,
    };

    part->cpu->kern.delta(&delta, first % cpu_chunk_units(program, op), n);
}
