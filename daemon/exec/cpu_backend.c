/*
 * Cpu: programs over kernels and worker pool
 *
 * An op goes over units that no bit depends on: weight rows of a product (so a part reads its weights once for all
 * rows of the step), rows of everything else, (head, row) pairs of attention. How many make a part, and when, is
 * cpu_part.c's.
 *
 * Activations that meet quantised weights are rounded to 8 bits once for each slot and form, not once for each
 * product: where queries, keys and values read the same slot, the plan made at sealing quantises for the first.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/num.h"
#include "exec/cpu_plan.h"
#include "kern/rope.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Speeds before anything was measured: what the slowest kinds of parts do with AVX2 on one thread; products do four
 * times that. The scalar set does about 300 multiply-adds of floats in a microsecond. They rise as parts run. */
#define SPEED_FAST   2048
#define SPEED_SCALAR 128

static struct cpu *cpu_of(const struct exec *exec)
{
    return exec->private;
}

int cpu_open(struct exec *exec, const struct exec_setup *setup, struct diag *diag)
{
    struct cpu *cpu;
    uint32_t mask;
    int r;

    if (!cpu_mask(setup->cpu_mask ? setup->cpu_mask : "", &mask)) {
        diag_blame(diag, "cpu_mask", "there is no kernel set \"%s\"; there are scalar and avx2", setup->cpu_mask);
        return EXEC_REFUSED;
    }
    if (setup->n_threads > POOL_MAX_WORKERS) {
        diag_blame(diag, "threads", "%u threads are more than the %u allowed", setup->n_threads, POOL_MAX_WORKERS);
        return EXEC_REFUSED;
    }
    cpu = mem_calloc(MEM_MISC, 1, sizeof(*cpu));
    if (!cpu) {
        return err_new(-ENOMEM);
    }
    kern_choose(&cpu->kern, cpu_detect() & mask);
    for (uint32_t i = 0; i < CPU_SPEEDS; i++) {
        cpu->speeds[i] = strcmp(cpu->kern.name, "scalar") == 0 ? SPEED_SCALAR : SPEED_FAST;
    }
    r = pool_create(&cpu->pool, &(struct pool_setup){ .n_workers = setup->n_threads });
    if (r) {
        mem_free(cpu);
        return err_up(r);
    }
    exec->private = cpu;
    return EXEC_OK;
}

void cpu_close(struct exec *exec)
{
    struct cpu *cpu = cpu_of(exec);

    if (cpu) {
        pool_destroy(cpu->pool);
        mem_free(cpu);
    }
}

static void facts(const struct exec *exec, struct exec_facts *ret_facts)
{
    const struct cpu *cpu = cpu_of(exec);

    *ret_facts = (struct exec_facts){
        .backend = "cpu", .set = cpu->kern.name, .arithmetic = "q8a", .n_threads = pool_n_workers(cpu->pool)
    };
}

bool cpu_may_import(const struct exec *exec, uint32_t type)
{
    return elem_info(type)->computes;
}

/* Weights are used where the file is mapped. */
static int import(struct exec *exec, struct exec_mem *mem)
{
    return 0;
}

void cpu_fill_rope(struct exec *exec, struct exec_mem *mem, const struct exec_rope *rope)
{
    rope_table(&(struct rope_shape){ .n_rot = rope->n_rot,
                                     .base = rope->base,
                                     .scale = rope->scale,
                                     .magnitude = rope->magnitude,
                                     .divisors = rope->divisors },
               0, rope->n_positions, (float *)(void *)mem->owned);
}

/* ---- sealing ---- */

/* Where the 8-bit forms of each slot lie, and whether they are those of what stands in the slot at this op. */
struct shadow {
    uint64_t offset;
    bool exists;
    bool is_current;
};

static void plan_matmul(struct exec_program *program, const struct exec_op *op,
                        struct shadow (*shadows)[KERN_ACT_COUNT], struct cpu_op *plan)
{
    const struct exec_slot *in = &program->slots[op->in];
    enum kern_act act = kern_act_of(op->weight->type);
    struct shadow *shadow = &shadows[op->in][act];

    plan->act = act;
    plan->acts = in->offset;
    plan->act_bytes = in->stride * sizeof(float);
    if (act == KERN_ACT_F32) {
        return;
    }
    plan->act_bytes = kern_act_bytes(act, in->n_cols);
    if (!shadow->exists) {
        shadow->exists = true;
        num_align(program->scratch_bytes, KERN_ACT_ALIGN, &shadow->offset);
        program->scratch_bytes = shadow->offset + (uint64_t)plan->act_bytes * in->n_rows;
    }
    plan->acts = shadow->offset;
    plan->quantises = !shadow->is_current;
    shadow->is_current = true;
}

/* Finds or adds @window. False: a program with so many is none of ours. */
static bool plan_window(struct cpu_plan *plan, uint32_t window, uint32_t *ret_place)
{
    uint32_t i = 0;

    while (i < plan->n_windows && plan->windows[i] != window) {
        i++;
    }
    if (i == WINDOWS_MAX) {
        return false;
    }
    plan->windows[i] = window;
    plan->n_windows = i == plan->n_windows ? i + 1 : plan->n_windows;
    *ret_place = i;
    return true;
}

int cpu_seal(struct exec_program *program)
{
    cleanup(mem_freep) struct shadow(*shadows)[KERN_ACT_COUNT] = NULL;
    struct cpu_plan *plan;
    size_t ops_bytes = program->n_ops * sizeof(struct cpu_op);

    shadows = mem_calloc(MEM_SCRATCH, program->n_slots, sizeof(*shadows));
    plan = mem_calloc(MEM_SCRATCH, 1,
                      sizeof(*plan) + ops_bytes +
                          program->n_rows * (WINDOWS_MAX * sizeof(struct kern_kv_row) + sizeof(struct kern_run)));
    program->private = plan;
    if (!shadows || !plan) {
        return err_new(-ENOMEM);
    }
    plan->ops = (struct cpu_op *)(void *)(plan + 1);
    plan->rows = (struct kern_kv_row *)(void *)(plan->ops + program->n_ops);
    plan->runs = (struct kern_run *)(void *)(plan->rows + (size_t)WINDOWS_MAX * program->n_rows);
    plan->n_windows = 1;
    for (uint32_t i = 0; i < program->n_ops; i++) {
        const struct exec_op *op = &program->ops[i];

        if (op->kind == EXEC_MATMUL) {
            plan_matmul(program, op, shadows, &plan->ops[i]);
        }
        if (op->kind == EXEC_ATTEND && !plan_window(plan, op->window, &plan->ops[i].window)) {
            return err_new(-E2BIG);
        }
        for (unsigned act = 0; op->kind != EXEC_STORE && act < KERN_ACT_COUNT; act++) {
            shadows[op->out][act].is_current = false;
        }
    }
    return 0;
}

void cpu_bind(struct exec_program *program)
{
    struct cpu_plan *plan = program->private;

    cpu_bind_runs(program);

    for (uint32_t w = 0; w < plan->n_windows; w++) {
        for (uint32_t i = 0; i < program->batch.n_rows; i++) {
            uint32_t pos = program->batch.positions[i];
            bool is_cut = plan->windows[w] > 0 && pos >= plan->windows[w];

            plan->rows[(size_t)w * program->n_rows + i] = (struct kern_kv_row){
                .pages = program->batch.pages[i], .pos = pos, .first = is_cut ? pos - plan->windows[w] + 1 : 0
            };
        }
    }
}

/* ---- ops over a range of units ---- */

static void run_embed(const struct cpu_part *part, uint32_t first, uint32_t n)
{
    const struct exec_mem *weight = part->op->weight;

    for (uint32_t i = first; i < first + n; i++) {
        part->cpu->kern.unpack(weight->type, weight->bytes + part->program->batch.tokens[i] * weight->row_bytes,
                               (uint32_t)weight->n_cols, exec_slot_row(part->program, part->op->out, i));
    }
}

static void run_norm(const struct cpu_part *part, uint32_t first, uint32_t n)
{
    const struct exec_op *op = part->op;

    const float *weight = (const float *)(const void *)op->weight->bytes;
    uint32_t n_alone = (uint32_t)op->weight->n_cols; /* normed by themselves: a row, or each of its heads */
    uint32_t n_cols = part->program->slots[op->in].n_cols;

    for (uint32_t i = first; i < first + n; i++) {
        float *out = exec_slot_row(part->program, op->out, i);
        const float *in = exec_slot_row(part->program, op->in, i);

        for (uint32_t at = 0; at < n_cols; at += n_alone) {
            part->cpu->kern.rms_norm(out + at, in + at, weight, op->eps, n_alone);
        }
    }
}

void cpu_run_quantise(const struct cpu_part *part, uint32_t first, uint32_t n)
{
    const struct exec_slot *in = &part->program->slots[part->op->in];
    uint8_t *acts = part->program->exec->scratches[part->program->scratch].bytes + part->plan->acts;

    for (uint32_t i = first; i < first + n; i++) {
        part->cpu->kern.quantise(part->plan->act, exec_slot_row(part->program, part->op->in, i), in->n_cols,
                                 acts + i * part->plan->act_bytes);
    }
}

static void run_matmul(const struct cpu_part *part, uint32_t first, uint32_t n)
{
    const struct exec_program *program = part->program;
    const struct exec_op *op = part->op;
    const struct kern_matmul product = {
        .type = op->weight->type,
        .n_cols = (uint32_t)op->weight->n_cols,
        .weights = op->weight->bytes,
        .weight_bytes = op->weight->row_bytes,
        .acts = program->exec->scratches[program->scratch].bytes + part->plan->acts,
        .act_bytes = part->plan->act_bytes,
        .n_rows = exec_op_rows(program, op),
        .out = exec_slot_row(program, op->out, 0),
        .out_stride = program->slots[op->out].stride,
    };

    part->cpu->kern.matmul(&product, first, n);
    for (uint32_t i = 0; op->bias && i < product.n_rows; i++) {
        float *out = product.out + i * product.out_stride + first;

        part->cpu->kern.add(out, out, (const float *)(const void *)op->bias->bytes + first, n);
    }
}

static void run_rope(const struct cpu_part *part, uint32_t first, uint32_t n)
{
    const struct exec_op *op = part->op;
    const struct kern_rope rope = {
        .order = op->pairs == EXEC_PAIRS_HALVES ? KERN_ROPE_HALVES : KERN_ROPE_ADJACENT,
        .n_heads = op->n_heads,
        .head_dim = op->head_dim,
        .n_rot = (uint32_t)op->table->n_cols,
        .table = (const float *)(const void *)op->table->bytes,
        .pos = part->program->batch.positions,
        .x = exec_slot_row(part->program, op->out, 0),
        .stride = part->program->slots[op->out].stride,
    };

    part->cpu->kern.rope(&rope, first, n);
}

enum kern_kv cpu_kv(enum exec_kv_format format)
{
    static const enum kern_kv formats[EXEC_KV_FORMAT_COUNT] = {
        [EXEC_KV_F16] = KERN_KV_F16,
        [EXEC_KV_F32] = KERN_KV_F32,
        [EXEC_KV_Q8] = KERN_KV_Q8,
        [EXEC_KV_Q4] = KERN_KV_Q4,
    };

    assert(format > EXEC_KV_NONE && format < EXEC_KV_FORMAT_COUNT);
    return formats[format];
}

static struct kern_kv_shape kv_shape(const struct exec_op *op)
{
    const enum kern_kv kv = cpu_kv(op->kv->kv.format);

    return (struct kern_kv_shape){
        .kv = kv,
        .n_kv_heads = op->n_kv_heads,
        .head_dim = op->head_dim,
        .base = op->kv->owned,
        .page_bytes = op->kv->row_bytes,
        .layer_bytes = op->layer * kern_kv_page_bytes(kv, op->n_kv_heads, op->head_dim),
    };
}

static void run_store(const struct cpu_part *part, uint32_t first, uint32_t n)
{
    const struct exec_op *op = part->op;
    const struct cpu_plan *plan = part->program->private;
    const struct kern_store store = {
        .shape = kv_shape(op),
        .rows = plan->rows,
        .k = exec_slot_row(part->program, op->in, 0),
        .v = exec_slot_row(part->program, op->in2, 0),
        .k_stride = part->program->slots[op->in].stride,
        .v_stride = part->program->slots[op->in2].stride,
    };

    part->cpu->kern.store(&store, first, n);
}

static void run_attend(const struct cpu_part *part, uint32_t first, uint32_t n)
{
    const struct exec_op *op = part->op;
    const struct cpu_plan *plan = part->program->private;
    const struct kern_attend attend = {
        .shape = kv_shape(op),
        .n_heads = op->n_heads,
        .n_rows = part->program->batch.n_rows,
        .rows = plan->rows + (size_t)part->plan->window * part->program->n_rows,
        .scale = op->scale,
        .cap = op->cap,
        .q = exec_slot_row(part->program, op->in, 0),
        .out = exec_slot_row(part->program, op->out, 0),
        .q_stride = part->program->slots[op->in].stride,
        .out_stride = part->program->slots[op->out].stride,
    };

    part->cpu->kern.attend(&attend, first, n);
}

static void run_pairwise(const struct cpu_part *part, uint32_t first, uint32_t n)
{
    const struct exec_program *program = part->program;
    const struct exec_op *op = part->op;
    uint32_t n_cols = program->slots[op->out].n_cols;

    for (uint32_t i = first; i < first + n; i++) {
        float *out = exec_slot_row(program, op->out, i);
        const float *a = exec_slot_row(program, op->in, i);
        const float *b = exec_slot_row(program, op->in2, i);

        if (op->kind == EXEC_ADD) {
            part->cpu->kern.add(out, a, b, n_cols);
        } else if (op->gate == EXEC_GATE_SIGMOID) {
            part->cpu->kern.sigmoid_mul(out, a, b, n_cols);
        } else if (op->gate == EXEC_GATE_GELU) {
            part->cpu->kern.gelu_mul(out, a, b, n_cols);
        } else {
            part->cpu->kern.silu_mul(out, a, b, n_cols);
        }
    }
}

static void run_single(const struct cpu_part *part, uint32_t first, uint32_t n)
{
    const struct exec_program *program = part->program;
    const struct exec_op *op = part->op;
    uint32_t n_cols = program->slots[op->out].n_cols;

    for (uint32_t i = first; i < first + n; i++) {
        float *out = exec_slot_row(program, op->out, i);
        const float *in = exec_slot_row(program, op->in, i);

        if (op->kind == EXEC_SCALE) {
            part->cpu->kern.scale(out, in, op->scale, n_cols);
        } else {
            part->cpu->kern.cap(out, in, op->cap, n_cols);
        }
    }
}

static void run_unzip(const struct cpu_part *part, uint32_t first, uint32_t n)
{
    const struct exec_program *program = part->program;
    const struct exec_op *op = part->op;
    uint32_t n_out = program->slots[op->out].n_cols;
    uint32_t step = program->slots[op->in].n_cols / n_out * op->head_dim;

    for (uint32_t i = first; i < first + n; i++) {
        float *out = exec_slot_row(program, op->out, i);
        const float *in = exec_slot_row(program, op->in, i) + (size_t)op->part * op->head_dim;

        for (uint32_t run = 0; run < n_out / op->head_dim; run++) {
            memcpy(out + (size_t)run * op->head_dim, in + (size_t)run * step, op->head_dim * sizeof(float));
        }
    }
}

static void run_gather(const struct cpu_part *part, uint32_t first, uint32_t n)
{
    const struct exec_program *program = part->program;
    const struct exec_op *op = part->op;

    for (uint32_t i = first; i < first + n; i++) {
        memcpy(exec_slot_row(program, op->out, i), exec_slot_row(program, op->in, program->batch.wanted[i]),
               program->slots[op->out].n_cols * sizeof(float));
    }
}

typedef void (*range_fn)(const struct cpu_part *part, uint32_t first, uint32_t n);

static const range_fn ranges[EXEC_OP_COUNT] = {
    [EXEC_EMBED] = run_embed,     [EXEC_NORM] = run_norm,     [EXEC_MATMUL] = run_matmul, [EXEC_ROPE] = run_rope,
    [EXEC_STORE] = run_store,     [EXEC_ATTEND] = run_attend, [EXEC_GLU] = run_pairwise,  [EXEC_ADD] = run_pairwise,
    [EXEC_SCALE] = run_single,    [EXEC_CAP] = run_single,    [EXEC_UNZIP] = run_unzip,   [EXEC_CONV] = cpu_run_conv,
    [EXEC_DELTA] = cpu_run_delta, [EXEC_GATHER] = run_gather,
};

void cpu_run_units(const struct cpu_part *part, uint32_t first, uint32_t n)
{
    ranges[part->op->kind](part, first, n);
}

int cpu_wait(struct exec *exec, uint64_t ticket, uint32_t timeout_ms)
{
    return ticket != 0 && ticket <= cpu_of(exec)->n_tickets ? EXEC_OK : err_new(-EINVAL);
}

const struct exec_ops exec_cpu = {
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .facts = facts,
    .may_import = cpu_may_import,
    .import = import,
    .fill_rope = cpu_fill_rope,
    .seal = cpu_seal,
    .bind = cpu_bind,
    .submit = cpu_submit,
    .wait = cpu_wait,
};
