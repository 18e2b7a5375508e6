/*
 * Truth: weights as the floats that they stand for
 *
 * The same programs over the same kernels as the cpu backend, but every weight is unpacked to F32 when it is
 * imported, and activations stay floats. So it is as close to the model on paper as a float engine gets, whatever
 * the file's format. For tests and for judging other numerics: it needs four bytes a parameter.
 */
#include "base/err.h"
#include "base/num.h"
#include "exec/cpu_backend.h"
#include <errno.h>

static void facts(const struct exec *exec, struct exec_facts *ret_facts)
{
    const struct cpu *cpu = exec->private;

    *ret_facts = (struct exec_facts){
        .backend = "truth", .set = cpu->kern.name, .arithmetic = "float", .n_threads = pool_n_workers(cpu->pool)
    };
}

static int import(struct exec *exec, struct exec_mem *mem)
{
    const struct cpu *cpu = exec->private;
    uint64_t row_bytes = mem->n_cols * sizeof(float);
    uint64_t n_bytes;

    if (mem->type == ELEM_F32) {
        return 0;
    }
    if (!num_mul(row_bytes, mem->n_rows, &n_bytes)) {
        return err_new(-ENOMEM);
    }
    mem->owned = exec_map(n_bytes);
    if (!mem->owned) {
        return err_new(-ENOMEM);
    }
    mem->n_bytes = n_bytes;
    exec_charge(mem, n_bytes);
    for (uint64_t i = 0; i < mem->n_rows; i++) {
        cpu->kern.unpack(mem->type, mem->bytes + i * mem->row_bytes, (uint32_t)mem->n_cols,
                         (float *)(void *)(mem->owned + i * row_bytes));
    }
    mem->bytes = mem->owned;
    mem->type = ELEM_F32;
    mem->row_bytes = row_bytes;
    return 0;
}

const struct exec_ops exec_truth = {
    .name = "truth",
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
