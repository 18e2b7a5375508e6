/*
 * Cpu_part: how much of an op is computed at once
 *
 * Ops are cut into parts by time, at unit boundaries: the estimated time of a part is its work over the speed at which
 * such parts ran so far. A part is split over the pool, with one barrier. Several small parts of a phase make one
 * submission. It runs within exec_submit(), so its ticket is done before anything waits for it.
 */
#include "base/clock.h"
#include "base/num.h"
#include "exec/cpu_plan.h"

/* Estimated time of a submission without a bound. It must stay below 20 ms even where the processor is shared, since a
 * cancel or a more urgent step waits that long. */
#define BOUND_US 5000

#define TELLING_US 20 /* a shorter part mostly wakes the workers, so it does not tell how fast they are */
#define ROWS_FEW   8  /* in a product: reading the weights costs more than the arithmetic */

/* Returns the rows that a product rounds to 8 bits first; they are units in front of the weight rows. */
static uint32_t count_rounded(const struct exec_program *program, const struct exec_op *op)
{
    const struct cpu_plan *plan = program->private;

    return op->kind == EXEC_MATMUL && plan->ops[op - program->ops].quantises ? exec_op_rows(program, op) : 0;
}

static uint32_t count_units(const struct exec_program *program, const struct exec_op *op)
{
    if (op->kind == EXEC_MATMUL) {
        return count_rounded(program, op) + program->slots[op->out].n_cols;
    }
    if (op->kind == EXEC_ATTEND) {
        return op->n_heads * program->batch.n_rows;
    }
    if (op->kind == EXEC_CONV || op->kind == EXEC_DELTA) {
        return cpu_state_units(program, op);
    }
    return exec_op_rows(program, op);
}

/* Returns the work of unit @unit in multiply-adds or their equivalent. */
static uint64_t unit_work(const struct exec_program *program, const struct exec_op *op, uint32_t unit)
{
    if (op->kind == EXEC_MATMUL) {
        return unit < count_rounded(program, op) ? op->weight->n_cols * CPU_WORK_OF_A_COLUMN
                                                 : op->weight->n_cols * exec_op_rows(program, op);
    }
    if (op->kind == EXEC_ATTEND) {
        uint64_t n_seen = program->batch.positions[unit % program->batch.n_rows] + UINT64_C(1);

        return (op->window ? num_min(n_seen, op->window) : n_seen) * op->head_dim * 2;
    }
    if (op->kind == EXEC_CONV || op->kind == EXEC_DELTA) {
        return cpu_state_work(program, op, unit);
    }
    return (uint64_t)program->slots[op->kind == EXEC_STORE ? op->in : op->out].n_cols * CPU_WORK_OF_A_COLUMN;
}

/* Returns the units, from the one under the cursor on, that may go into one part. */
static uint32_t count_joinable(const struct exec_program *program, const struct exec_op *op)
{
    uint32_t n_rounded = count_rounded(program, op);

    if (program->unit < n_rounded) {
        return n_rounded - program->unit;
    }
    if (op->kind == EXEC_DELTA) {
        return cpu_chunk_units(program, op) - program->unit % cpu_chunk_units(program, op);
    }
    return count_units(program, op) - program->unit;
}

/* The size of a part. */
struct take {
    uint32_t n; /* units */
    uint64_t work;
    uint32_t grain; /* for the pool */
};

/* Takes units worth @most of work, at least one; without a bound, at least a grain for each worker. */
static struct take take_units(const struct cpu *cpu, const struct exec_program *program, const struct exec_op *op,
                              uint64_t most, bool is_bound)
{
    bool has_panels = op->kind == EXEC_MATMUL && program->unit >= count_rounded(program, op);
    uint32_t n_workers = pool_n_workers(cpu->pool);
    uint32_t grain = has_panels ? KERN_ROW_GRAIN : 1;
    uint32_t least = is_bound ? 1 : grain * n_workers;
    uint32_t n_joinable = count_joinable(program, op);
    struct take take = { .grain = 1 };

    if (op->kind == EXEC_ATTEND || op->kind == EXEC_DELTA) {
        while (take.n < n_joinable && (take.work < most || take.n < least)) {
            take.work += unit_work(program, op, program->unit + take.n++);
        }
        return take;
    }
    take.work = unit_work(program, op, program->unit);
    take.n = (uint32_t)num_min(num_max(most / take.work, least), n_joinable);
    if (has_panels && take.n >= grain * n_workers) {
        take.n = take.n < n_joinable ? take.n / grain * grain : take.n;
        take.grain = grain;
    } else if (has_panels) {
        take.grain = (uint32_t)num_div_up(take.n, n_workers);
    }
    take.work *= take.n;
    return take;
}

static void run_piece(void *ctx, uint32_t first, uint32_t n, uint32_t worker)
{
    const struct cpu_part *part = ctx;

    cpu_run_units(part, part->first + first, n);
}

/* Returns the measured speed of the part under the cursor. */
static uint32_t *speed_of(struct cpu *cpu, const struct exec_program *program, const struct exec_op *op)
{
    if (op->kind != EXEC_MATMUL || program->unit < count_rounded(program, op)) {
        return &cpu->speeds[op->kind];
    }
    return &cpu->speeds[EXEC_OP_COUNT + 2 * op->weight->type + (exec_op_rows(program, op) > ROWS_FEW)];
}

/* Learns from a part of @work that took @took_us. A lower speed counts at once, but at most as half the old one, since
 * it may have been an interruption; a higher speed counts by a quarter. */
static void learn(uint32_t *speed, uint64_t work, uint64_t took_us)
{
    uint64_t measured = took_us ? num_min(work / took_us, UINT32_MAX) : UINT32_MAX;

    if (took_us < TELLING_US) {
        *speed += work / *speed >= TELLING_US ? (uint32_t)num_min(*speed / 4, UINT32_MAX - *speed) : 0;
    } else if (measured < *speed) {
        *speed = (uint32_t)num_max(num_max(measured, *speed / 2), 1);
    } else {
        *speed += (uint32_t)((measured - *speed + 3) / 4);
    }
}

/* Runs a part of at most @most_ns of the op under the cursor. Returns the estimated time. */
static uint64_t run_part(struct cpu *cpu, struct exec_program *program, uint64_t most_ns, bool is_bound)
{
    const struct exec_op *op = &program->ops[program->op];
    const struct cpu_plan *plan = program->private;
    uint32_t n_rounded = count_rounded(program, op);
    uint32_t *speed = speed_of(cpu, program, op);
    struct take take = take_units(cpu, program, op, most_ns * *speed / 1000, is_bound);
    uint64_t estimated_ns = take.work * 1000 / *speed;
    uint64_t began_us = clock_mono_us();
    bool rounds = program->unit < n_rounded;
    struct cpu_part part = { .cpu = cpu,
                             .program = program,
                             .op = op,
                             .plan = &plan->ops[program->op],
                             .rounds = rounds,
                             .first = program->unit - (rounds ? 0 : n_rounded) };

    pool_run(cpu->pool, run_piece, &part, take.n, take.grain);
    program->figures.weight_bytes += op->kind == EXEC_MATMUL && !rounds ? take.n * op->weight->row_bytes : 0;
    learn(speed, take.work, clock_mono_us() - began_us);
    exec_advance(program, take.n, program->unit + take.n == count_units(program, op));
    return estimated_ns;
}

int cpu_submit(struct exec_program *program, uint32_t n_parts, uint32_t bound_us, uint64_t *ret_ticket)
{
    struct cpu *cpu = program->exec->private;
    uint8_t phase = exec_phase(program);
    uint64_t most_ns = (bound_us ? bound_us : BOUND_US) * UINT64_C(1000);
    uint64_t estimated_ns = 0;
    uint64_t began_us = clock_mono_us();

    do {
        estimated_ns += run_part(cpu, program, most_ns - estimated_ns, bound_us > 0);
    } while (--n_parts > 0 && estimated_ns < most_ns / 2 && exec_is_left(program) && exec_phase(program) == phase);
    program->figures.estimated_ns = estimated_ns;
    program->figures.device_ns = (clock_mono_us() - began_us) * 1000;
    *ret_ticket = ++cpu->n_tickets;
    return 0;
}
