/*
 * Cpu_part: how much of an op is done at once
 *
 * Ops are cut into parts by time, at unit boundaries: what a part weighs, over the speed at which such parts ran so
 * far, is what it is foretold to take. A part is split over the pool; one barrier each. Several small parts of a
 * phase make one submission. It runs within exec_submit(), so that its ticket is done before anybody waits.
 */
#include "base/clock.h"
#include "base/num.h"
#include "exec/cpu_plan.h"

/*
 * A submission without a bound must stay below 20 ms, since that is how long a cancel or a more urgent step waits:
 * it is to take so long, and may take some times as long where the processor is shared.
 */
#define BOUND_US 5000

#define TELLING_US 20 /* a shorter part is mostly waking the workers: it doesn't tell how fast they are */
#define ROWS_FEW   8  /* in a product: reading the weights weighs more than the arithmetic */

/* Rows that a product rounds to 8 bits before its weights are met: units in front of those of the weights. */
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

/* Multiply-adds of unit @unit, or what weighs as much. */
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

/* Units that may go into one part with the one under the cursor. */
static uint32_t count_mates(const struct exec_program *program, const struct exec_op *op)
{
    uint32_t n_rounded = count_rounded(program, op);

    if (program->unit < n_rounded) {
        return n_rounded - program->unit;
    }
    if (op->kind == EXEC_DELTA) {
        return cpu_lap_units(program, op) - program->unit % cpu_lap_units(program, op);
    }
    return count_units(program, op) - program->unit;
}

/* What a part is made of. */
struct take {
    uint32_t n; /* units */
    uint64_t work;
    uint32_t grain; /* for the pool */
};

/* So many units as weigh @most, at least one; where nobody set a bound, a grain for each worker. */
static struct take take_units(const struct cpu *cpu, const struct exec_program *program, const struct exec_op *op,
                              uint64_t most, bool is_bound)
{
    bool has_panels = op->kind == EXEC_MATMUL && program->unit >= count_rounded(program, op);
    uint32_t n_workers = pool_n_workers(cpu->pool);
    uint32_t grain = has_panels ? KERN_ROW_GRAIN : 1;
    uint32_t least = is_bound ? 1 : grain * n_workers;
    uint32_t n_mates = count_mates(program, op);
    struct take take = { .grain = 1 };

    if (op->kind == EXEC_ATTEND || op->kind == EXEC_DELTA) {
        while (take.n < n_mates && (take.work < most || take.n < least)) {
            take.work += unit_work(program, op, program->unit + take.n++);
        }
        return take;
    }
    take.work = unit_work(program, op, program->unit);
    take.n = (uint32_t)num_min(num_max(most / take.work, least), n_mates);
    if (has_panels && take.n >= grain * n_workers) {
        take.n = take.n < n_mates ? take.n / grain * grain : take.n;
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

static void run_quantise_piece(void *ctx, uint32_t first, uint32_t n, uint32_t worker)
{
    const struct cpu_part *part = ctx;

    cpu_run_quantise(part, part->first + first, n);
}

/* The measured speed of the part under the cursor. */
static uint32_t *speed_of(struct cpu *cpu, const struct exec_program *program, const struct exec_op *op)
{
    if (op->kind != EXEC_MATMUL || program->unit < count_rounded(program, op)) {
        return &cpu->speeds[op->kind];
    }
    return &cpu->speeds[EXEC_OP_COUNT + 2 * op->weight->type + (exec_op_rows(program, op) > ROWS_FEW)];
}

/*
 * A part weighed @work and took @took_us. What was too slow is believed at once, but never more than that it was
 * twice too slow, since it may have been an interruption; what was quicker, by and by.
 */
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

/* Runs a part of at most @most_ns of what is under the cursor. Returns what was foretold. */
static uint64_t run_part(struct cpu *cpu, struct exec_program *program, uint64_t most_ns, bool is_bound)
{
    const struct exec_op *op = &program->ops[program->op];
    const struct cpu_plan *plan = program->private;
    uint32_t n_rounded = count_rounded(program, op);
    uint32_t *speed = speed_of(cpu, program, op);
    struct take take = take_units(cpu, program, op, most_ns * *speed / 1000, is_bound);
    uint64_t estimated_ns = take.work * 1000 / *speed;
    uint64_t began_us = clock_mono_us();
    struct cpu_part part = { .cpu = cpu, .program = program, .op = op, .plan = &plan->ops[program->op] };

    if (program->unit < n_rounded) {
        part.first = program->unit;
        pool_run(cpu->pool, run_quantise_piece, &part, take.n, take.grain);
    } else {
        part.first = program->unit - n_rounded;
        pool_run(cpu->pool, run_piece, &part, take.n, take.grain);
        program->figures.weight_bytes += op->kind == EXEC_MATMUL ? take.n * op->weight->row_bytes : 0;
    }
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

    do {
        estimated_ns += run_part(cpu, program, most_ns - estimated_ns, bound_us > 0);
    } while (--n_parts > 0 && estimated_ns < most_ns / 2 && exec_is_left(program) && exec_phase(program) == phase);
    program->figures.estimated_ns = estimated_ns;
    *ret_ticket = ++cpu->n_tickets;
    return 0;
}
