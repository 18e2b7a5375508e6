/*
 * Truth: the cpu backend with unpacked weights
 *
 * It runs the same programs over the same kernels, but unpacks every weight to F32 when it is imported, and leaves
 * activations as floats. So it is as close to the model on paper as a float engine gets, whatever the file's format.
 * It serves tests and the judging of other numerics, and needs four bytes a parameter.
 */
#include "base/err.h"
#include "base/num.h"
#include "exec/cpu_backend.h"
#include <errno.h>

static void facts(const struct exec *exec, struct exec_facts *ret_facts)
{
    const struct cpu *cpu = exec->private;

    *ret_facts = (struct exec_facts){
        .backend = "truth",
        .set = cpu->kern.name,
        .arithmetic = "float",
        .threads = cpu->threads,
    };
}

static int import(struct exec *exec, struct exec_mem *mem, const void *bytes)
{
    const struct cpu *cpu = exec->private;
    const struct kern_weights weights = cpu_weights(mem, bytes);
    int r;

    if (mem->type == ELEM_F32) {
        return err_up(host_import(exec, mem, bytes));
    }
    mem->type = ELEM_F32;
    mem->in_panels = false;
    mem->row_bytes = mem->n_cols * sizeof(float);
    if (!num_mul(mem->row_bytes, mem->n_rows, &mem->n_bytes)) {
        return err_new(-ENOMEM);
    }
    r = host_alloc(exec, mem);
    if (r) {
        return err_up(r);
    }
    host_charge(mem, mem->n_bytes);
    for (uint64_t i = 0; i < mem->n_rows; i++) {
        kern_unpack_row(&cpu->kern, &weights, (uint32_t)i, (float *)(void *)(host_of(mem)->owned + i * mem->row_bytes));
    }
    return 0;
}

const struct exec_ops exec_truth = {
    .name = "truth",
    .open = cpu_open,
    .close = cpu_close,
    .facts = facts,
    .may_import = cpu_may_import,
    .import = import,
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
