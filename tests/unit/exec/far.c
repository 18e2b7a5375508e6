#include "far.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/num.h"
#include "exec/cpu_backend.h"
#include "unit.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define HEAP_BYTES ((size_t)1 << 32) /* of address space */
#define ALIGN      4096

/* exec_mem::private */
struct far_mem {
    struct exec_mem inner; /* as the cpu backend sees it */
    uint8_t *staging;      /* SCRATCH: [n_bytes], owned */
};

/* exec_program::private */
struct far_program {
    struct exec_program inner;
    struct exec_op *ops; /* owned: those of the program, over inner memory */
};

/* exec::private */
struct far {
    struct exec inner; /* the cpu backend; its lists are unused */
    uint64_t n_tickets;
    uint64_t n_done;
    bool was_pending; /* the last ticket */
    uint8_t *heap;    /* mapped; nothing goes back before the end */
    size_t n_used;
};

static struct exec_mem *inner_of(const struct exec_mem *mem)
{
    return mem ? &((struct far_mem *)mem->private)->inner : NULL;
}

static void reach(struct far *far)
{
    ck_assert_int_eq(mprotect(far->heap, far->n_used, PROT_READ | PROT_WRITE), 0);
}

static void leave(struct far *far)
{
    ck_assert_int_eq(mprotect(far->heap, far->n_used, PROT_NONE), 0);
}

/* ---- life ---- */

static int open_far(struct exec *exec, const struct exec_setup *setup, struct diag *diag)
{
    struct far *far = mem_calloc(MEM_MISC, 1, sizeof(*far));
    int r;

    ck_assert_ptr_nonnull(far);
    r = cpu_open(&far->inner, setup, diag);
    if (r) {
        mem_free(far);
        return r;
    }
    far->heap = mmap(NULL, HEAP_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_ptr_ne(far->heap, MAP_FAILED);
    exec->private = far;
    return EXEC_OK;
}

static void close_far(struct exec *exec)
{
    struct far *far = exec->private;

    cpu_close(&far->inner);
    munmap(far->heap, HEAP_BYTES);
    mem_free(far);
}

static void facts(const struct exec *exec, struct exec_facts *ret_facts)
{
    *ret_facts = (struct exec_facts){ .backend = "far", .set = "", .arithmetic = "q8a" };
}

/* ---- memory ---- */

static int alloc(struct exec *exec, struct exec_mem *mem)
{
    struct far *far = exec->private;
    struct far_mem *own = mem_calloc(MEM_MISC, 1, sizeof(*own));
    struct host_mem *host = mem_calloc(MEM_MISC, 1, sizeof(*host));

    ck_assert(own && host && mem->n_bytes <= HEAP_BYTES - far->n_used);
    mem->private = own;
    own->inner = *mem;
    own->inner.private = host;
    host->owned = far->heap + far->n_used;
    host->bytes = host->owned;
    far->n_used += num_div_up(mem->n_bytes, ALIGN) * ALIGN;
    if (mem->kind == EXEC_MEM_KV || mem->kind == EXEC_MEM_STATES) {
        host->is_touched = mem_calloc(MEM_KV, mem->n_rows, sizeof(*host->is_touched));
    }
    if (mem->kind == EXEC_MEM_SCRATCH) {
        own->staging = mem_calloc(MEM_SCRATCH, 1, mem->n_bytes);
    }
    return 0;
}

static void free_far(struct exec *exec, struct exec_mem *mem)
{
    struct far *far = exec->private;
    struct far_mem *own = mem->private;

    host_of(&own->inner)->owned = NULL;
    host_free(&far->inner, &own->inner);
    mem_free(own->staging);
    mem_free(own);
}

static int write_far(struct exec *exec, struct exec_mem *mem, uint64_t at, const void *bytes, size_t n)
{
    struct far *far = exec->private;

    reach(far);
    host_write(&far->inner, inner_of(mem), at, bytes, n);
    leave(far);
    return 0;
}

static int import(struct exec *exec, struct exec_mem *mem, const void *bytes)
{
    alloc(exec, mem);
    return write_far(exec, mem, 0, bytes, mem->n_bytes);
}

void far_read(struct exec *exec, const struct exec_mem *mem, uint64_t at, void *out, size_t n)
{
    struct far *far = exec->private;

    reach(far);
    memcpy(out, host_of(inner_of(mem))->owned + at, n);
    leave(far);
}

static int copy_page(struct exec *exec, struct exec_mem *kv, uint32_t from, uint32_t to)
{
    struct far *far = exec->private;

    reach(far);
    host_copy_page(&far->inner, inner_of(kv), from, to);
    leave(far);
    return 0;
}

/* ---- programs ---- */

static int seal(struct exec_program *program)
{
    struct far *far = program->exec->private;
    struct far_program *own = mem_calloc(MEM_SCRATCH, 1, sizeof(*own));
    int r;

    ck_assert_ptr_nonnull(own);
    program->private = own;
    own->ops = mem_calloc(MEM_SCRATCH, program->n_ops, sizeof(*own->ops));
    for (uint32_t i = 0; i < program->n_ops; i++) {
        struct exec_op *op = &own->ops[i];

        *op = program->ops[i];
        op->weight = inner_of(op->weight);
        op->bias = inner_of(op->bias);
        op->table = inner_of(op->table);
        op->kv = inner_of(op->kv);
        op->states = inner_of(op->states);
    }
    own->inner = *program;
    own->inner.exec = &far->inner;
    own->inner.ops = own->ops;
    own->inner.kv = inner_of(program->kv);
    own->inner.states = inner_of(program->states);
    own->inner.private = NULL;
    r = cpu_seal(&own->inner);
    program->scratch_bytes = own->inner.scratch_bytes;
    return err_up(r);
}

static void unseal(struct exec_program *program)
{
    struct far_program *own = program->private;

    if (own) {
        mem_free(own->inner.private);
        mem_free(own->ops);
        mem_free(own);
    }
}

static void bind(struct exec_program *program)
{
    struct far *far = program->exec->private;
    struct far_program *own = program->private;

    far->inner.scratches[program->scratch] = inner_of(program->exec->scratches[program->scratch]);
    own->inner.batch = program->batch;
    own->inner.is_bound = true;
    own->inner.figures = (struct exec_figures){ 0 };
    cpu_bind(&own->inner);
}

static int submit(struct exec_program *program, uint32_t n_parts, uint32_t bound_us, uint64_t *ret_ticket)
{
    struct far *far = program->exec->private;
    struct exec_program *inner = &((struct far_program *)program->private)->inner;
    uint64_t ticket;
    int r;

    if (far->n_done < far->n_tickets) {
        return err_new(-EBUSY);
    }
    inner->op = program->op;
    inner->unit = program->unit;
    reach(far);
    r = cpu_submit(inner, n_parts, bound_us, &ticket);
    leave(far);
    program->op = inner->op;
    program->unit = inner->unit;
    program->figures = inner->figures;
    far->was_pending = false;
    *ret_ticket = ++far->n_tickets;
    return err_up(r);
}

static int wait_for(struct exec *exec, uint64_t ticket, uint32_t timeout_ms)
{
    struct far *far = exec->private;

    if (ticket == 0 || ticket > far->n_tickets) {
        return err_new(-EINVAL);
    }
    if (ticket > far->n_done && !far->was_pending) {
        far->was_pending = true;
        return EXEC_PENDING;
    }
    far->n_done = ticket > far->n_done ? ticket : far->n_done;
    return EXEC_OK;
}

static int fetch(struct exec_program *program, uint32_t slot, struct exec_view *ret_view)
{
    struct far *far = program->exec->private;
    const struct exec_slot *from = &program->slots[slot];
    const struct exec_mem *scratch = program->exec->scratches[program->scratch];
    uint8_t *staging = ((struct far_mem *)scratch->private)->staging + from->offset;

    if (far->n_done < far->n_tickets) {
        return err_new(-EBUSY);
    }
    far_read(program->exec, scratch, from->offset, staging, (size_t)from->n_rows * from->stride * sizeof(float));
    *ret_view = (struct exec_view){ .floats = (float *)(void *)staging, .stride = from->stride };
    return 0;
}

const struct exec_ops exec_far = {
    .name = "far",
    .open = open_far,
    .close = close_far,
    .facts = facts,
    .may_import = cpu_may_import,
    .import = import,
    .alloc = alloc,
    .free = free_far,
    .write = write_far,
    .copy_page = copy_page,
    .seal = seal,
    .bind = bind,
    .submit = submit,
    .wait = wait_for,
    .fetch = fetch,
    .unseal = unseal,
};
