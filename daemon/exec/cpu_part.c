/*
 * Cpu_part: how much of a stage is computed at once
 *
 * Stages are cut into parts by time, at unit boundaries: the estimated time of a part is its work over the speed at
 * which such parts ran so far. A part is an operation of the pool, with one barrier. A submission is a chain of parts,
 * and the worker that finishes a part last begins the next one, whether or not it is the thread that submitted them.
 * The submission runs within exec_submit(), so its ticket is done before anything waits for it.
 */
#include "base/clock.h"
#include "base/num.h"
#include "exec/cpu_plan.h"

/* Estimated time of a submission without a bound. It must stay below 20 ms even where the processor is shared, since a
 * cancel or a more urgent step waits that long. */
#define BOUND_US 5000

#define TELLING_US 20 /* a shorter part mostly wakes the workers, so it does not tell how fast they are */
#define PIECE_US   1  /* least work of a piece: some times what a barrier costs */
#define ROWS_FEW   8  /* in a product: reading the weights costs more than the arithmetic */

/* A submission. The worker that is alone between two parts reads and writes it. */
struct run {
    struct cpu *cpu;
    struct exec_program *program;
    uint32_t n_parts; /* still allowed */
    uint64_t most_ns;
    bool is_bound;
    uint64_t estimated_ns;

    /* the part that runs */
    bool is_running;
    struct cpu_part part;
    uint32_t n; /* units */
    uint64_t work;
    uint32_t *speed;   /* of such parts */
    uint64_t began_us; /* the end of the one before */
};

/* Returns the rows of the stage under the cursor, which are units in front of the others. */
static uint32_t count_rows(const struct run *run)
{
    return cpu_stage_rows(run->program, run->part.op, run->part.stage);
}

/* Returns the units, from the one under the cursor on, that may go into one part. */
static uint32_t count_joinable(const struct run *run)
{
    const struct exec_program *program = run->program;
    const struct exec_op *main = cpu_main_op(run->part.op, run->part.stage);
    uint32_t n_rows = count_rows(run);

    if (run->part.by_rows) {
        return n_rows - program->unit;
    }
    if (main->kind == EXEC_DELTA) {
        uint32_t n_chunk = cpu_chunk_units(program, main);

        return n_chunk - run->part.first % n_chunk;
    }
    return cpu_stage_units(program, run->part.op, run->part.stage) - program->unit;
}

static uint64_t unit_work(const struct run *run, uint32_t unit)
{
    return run->part.by_rows ? cpu_row_work(run->program, run->part.op, run->part.stage)
                             : cpu_unit_work(run->program, run->part.op, run->part.stage, unit);
}

/* Returns true if the units of the part differ in their work so much that each is looked at. */
static bool is_uneven(const struct run *run)
{
    const struct exec_op *main = cpu_main_op(run->part.op, run->part.stage);

    return !run->part.by_rows && (main->kind == EXEC_ATTEND || main->kind == EXEC_DELTA);
}

/* Returns the units that are best computed together: weight rows of a panel, or items of attention that read the same
 * pages. */
static uint32_t count_together(const struct run *run)
{
    const struct exec_op *main = cpu_main_op(run->part.op, run->part.stage);
    uint32_t n_rows = run->program->batch.n_rows;

    if (run->part.by_rows || (main->kind != EXEC_MATMUL && main->kind != EXEC_ATTEND)) {
        return 1;
    }
    if (main->kind == EXEC_MATMUL || n_rows >= KERN_ROW_GRAIN) {
        return KERN_ROW_GRAIN;
    }
    return n_rows == 1 ? main->n_heads / main->n_kv_heads : 1;
}

/* Takes units worth @most of work, at least one; without a bound, at least @together for each worker. Where some are
 * left for later, all workers get the same number of such groups. */
static void take_units(struct run *run, uint64_t most, uint32_t together)
{
    uint32_t all = together * pool_n_workers(run->cpu->pool);
    uint32_t least = run->is_bound ? 1 : all;
    uint32_t n_joinable = count_joinable(run);

    run->n = 0;
    run->work = 0;
    if (is_uneven(run)) {
        while (run->n < n_joinable && (run->work < most || run->n < least)) {
            run->work += unit_work(run, run->part.first + run->n++);
        }
    } else {
        run->work = unit_work(run, run->part.first);
        run->n = (uint32_t)num_min(num_max(most / run->work, least), n_joinable);
        run->work *= run->n;
    }
    if (run->n > together && run->n < n_joinable) {
        uint32_t n = run->n - run->n % (run->n > all ? all : together);

        run->work = run->work * n / run->n;
        run->n = n;
    }
}

/* Returns the grain of the part for the pool: units that are best computed together if there are enough for all
 * workers, and no piece so small that a barrier costs more. */
static uint32_t grain_of(const struct run *run, uint32_t together)
{
    uint64_t least = num_div_up(PIECE_US * (uint64_t)*run->speed * run->n, run->work);
    uint32_t share = (uint32_t)num_div_up(run->n, pool_n_workers(run->cpu->pool));

    if (share >= together) {
        least = num_div_up(least, together) * together;
    } else {
        least = num_max(least, share);
    }
    return (uint32_t)num_min(least, run->n);
}

/* Returns the measured speed of the part. */
static uint32_t *speed_of(const struct run *run)
{
    const struct exec_op *main = cpu_main_op(run->part.op, run->part.stage);

    if (run->part.by_rows) {
        return &run->cpu->speeds[run->part.op->kind];
    }
    if (main->kind != EXEC_MATMUL) {
        return &run->cpu->speeds[main->kind];
    }
    return &run->cpu->speeds[EXEC_OP_COUNT + 2 * main->weight->type + (exec_op_rows(run->program, main) > ROWS_FEW)];
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

static void run_piece(void *ctx, uint32_t first, uint32_t n, uint32_t worker)
{
    const struct cpu_part *part = ctx;

    cpu_run_units(part, part->first + first, n);
}

/* Begins the part under the cursor, of at most @most_ns. */
static void begin_part(struct run *run, uint64_t most_ns, struct pool_op *ret_op)
{
    const struct exec_program *program = run->program;
    uint32_t n_rows, together;

    run->part.op = &program->ops[program->op];
    run->part.stage = cpu_stage_of(program);
    n_rows = count_rows(run);
    run->part.by_rows = program->unit < n_rows;
    run->part.first = program->unit - (run->part.by_rows ? 0 : n_rows);
    run->speed = speed_of(run);
    together = count_together(run);
    take_units(run, most_ns * *run->speed / 1000, together);
    run->estimated_ns += run->work * 1000 / *run->speed;
    run->is_running = true;
    *ret_op =
        (struct pool_op){ .fn = run_piece, .ctx = &run->part, .n_items = run->n, .grain = grain_of(run, together) };
}

/* Returns the bytes of weights that the part has read. */
static uint64_t weight_bytes(const struct run *run)
{
    const struct cpu_stage *stage = run->part.stage;
    uint64_t n_bytes = 0;

    if (run->part.by_rows || stage->n_main_ops == 0 || cpu_main_op(run->part.op, stage)->kind != EXEC_MATMUL) {
        return 0;
    }
    for (uint32_t i = 0; i < stage->n_main_ops; i++) {
        struct cpu_span span = cpu_stage_span(run->program, run->part.op, stage, i, run->part.first, run->n);

        n_bytes += span.n * span.op->weight->row_bytes;
    }
    return n_bytes;
}

static void end_part(struct run *run)
{
    struct exec_program *program = run->program;
    uint64_t now_us = clock_mono_us();
    bool is_last = program->unit + run->n == cpu_stage_units(program, run->part.op, run->part.stage);

    program->figures.weight_bytes += weight_bytes(run);
    learn(run->speed, run->work, now_us - run->began_us);
    exec_advance(program, run->n, is_last ? cpu_stage_ops(run->part.stage) : 0, (now_us - run->began_us) * 1000);
    run->began_us = now_us;
    run->is_running = false;
}

static bool next_part(void *owner, struct pool_op *ret_op)
{
    struct run *run = owner;
    bool is_first = !run->is_running;

    if (run->is_running) {
        end_part(run);
    }
    if (run->n_parts == 0 || (!is_first && run->estimated_ns >= run->most_ns / 2) || !exec_is_left(run->program)) {
        return false;
    }
    run->n_parts--;
    begin_part(run, run->most_ns - run->estimated_ns, ret_op);
    return true;
}

int cpu_submit(struct exec_program *program, uint32_t n_parts, uint32_t bound_us, uint64_t *ret_ticket)
{
    struct cpu *cpu = program->exec->private;
    uint64_t began_us = clock_mono_us();
    struct run run = {
        .cpu = cpu,
        .program = program,
        .n_parts = n_parts,
        .most_ns = (bound_us ? bound_us : BOUND_US) * UINT64_C(1000),
        .is_bound = bound_us > 0,
        .part = { .cpu = cpu, .program = program },
        .began_us = began_us,
    };

    pool_chain(cpu->pool, next_part, &run);
    program->figures.estimated_ns = run.estimated_ns;
    program->figures.device_ns = (run.began_us - began_us) * 1000;
    *ret_ticket = ++cpu->n_tickets;
    return 0;
}
