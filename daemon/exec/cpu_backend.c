/*
 * Cpu: programs over kernels and a pool of workers
 *
 * Activations that meet quantised weights are rounded to 8 bits once for each slot and form, not once for each product:
 * where queries, keys and values read the same slot, the plan made at sealing rounds for the first of them. cpu_stage.c
 * groups ops into stages, cpu_ops.c computes them, cpu_part.c decides how much of a stage is computed at once.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/num.h"
#include "exec/cpu_plan.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Speeds before anything is measured: those of the slowest kinds of parts with AVX2 on one thread. Products are four
 * times as fast; the scalar set does about 300 float multiply-adds in a microsecond. They rise as parts run. */
#define SPEED_FAST   2048
#define SPEED_SCALAR 128

static struct cpu *cpu_of(const struct exec *exec)
{
    return exec->private;
}

int cpu_open(struct exec *exec, const struct exec_setup *setup, struct diag *diag)
{
    struct cores cores;
    struct cpu *cpu;
    uint32_t mask;
    int r;

    if (!cpu_mask(setup->cpu_mask ? setup->cpu_mask : "", &mask)) {
        diag_blame(diag, "cpu_mask", "there is no kernel set \"%s\"; it may be " CPU_SETS, setup->cpu_mask);
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
    cores_choose(&cores, "", NULL, setup->n_threads);
    cores_describe(&cores, cpu->threads, sizeof(cpu->threads));
    r = pool_create(&cpu->pool, &cores);
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
        .backend = "cpu",
        .set = cpu->kern.name,
        .arithmetic = "q8a",
        .threads = cpu->threads,
    };
}

bool cpu_may_import(const struct exec *exec, uint32_t type)
{
    return elem_info(type)->computes;
}

/* ---- sealing ---- */

/* The 8-bit form of a slot: where it is, and whether it is that of the slot's contents at this op. */
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

/* Finds or adds @window. Returns false if the program has too many; no family has. */
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
    size_t ops_bytes = program->n_ops * (sizeof(struct cpu_op) + sizeof(struct cpu_stage));

    shadows = mem_calloc(MEM_SCRATCH, program->n_slots, sizeof(*shadows));
    plan = mem_calloc(MEM_SCRATCH, 1,
                      sizeof(*plan) + ops_bytes +
                          program->n_rows * (WINDOWS_MAX * sizeof(struct kern_kv_row) + sizeof(struct kern_run)));
    program->private = plan;
    if (!shadows || !plan) {
        return err_new(-ENOMEM);
    }
    plan->ops = (struct cpu_op *)(void *)(plan + 1);
    plan->stages = (struct cpu_stage *)(void *)(plan->ops + program->n_ops);
    plan->rows = (struct kern_kv_row *)(void *)(plan->stages + program->n_ops);
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
    cpu_plan_stages(program);
    return 0;
}

void cpu_bind(struct exec_program *program)
{
    struct cpu_plan *plan = program->private;

    host_touch(program);
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
    .import = host_import,
    .alloc = host_alloc,
    .free = host_free,
    .write = host_write,
    .copy_page = host_copy_page,
    .seal = cpu_seal,
    .bind = cpu_bind,
    .submit = cpu_submit,
    .wait = cpu_wait,
    .fetch = host_fetch,
};
