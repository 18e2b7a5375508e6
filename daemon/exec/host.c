#include "exec/host.h"
#include "base/err.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static enum mem_kind account_of(const struct exec_mem *mem)
{
    switch (mem->kind) {
    case EXEC_MEM_WEIGHT:
    case EXEC_MEM_ROPE:
        break;
    case EXEC_MEM_KV:
    case EXEC_MEM_STATES:
        return MEM_KV;
    case EXEC_MEM_SCRATCH:
        return MEM_SCRATCH;
    }
    return MEM_WEIGHTS;
}

void host_charge(struct exec_mem *mem, uint64_t n_bytes)
{
    mem_charge(account_of(mem), (int64_t)n_bytes);
    host_of(mem)->n_charged += n_bytes;
}

/* Charges row @row of a pool, once. */
static void touch_row(struct exec_mem *mem, uint32_t row)
{
    bool *is_touched = &host_of(mem)->is_touched[row];

    if (!*is_touched) {
        *is_touched = true;
        host_charge(mem, mem->row_bytes);
    }
}

int host_import(struct exec *exec, struct exec_mem *mem, const void *bytes)
{
    struct host_mem *host = mem_calloc(MEM_MISC, 1, sizeof(*host));

    mem->private = host;
    if (!host) {
        return err_new(-ENOMEM);
    }
    host->bytes = bytes;
    return 0;
}

int host_alloc(struct exec *exec, struct exec_mem *mem)
{
    struct host_mem *host = mem_calloc(MEM_MISC, 1, sizeof(*host));
    void *bytes;

    mem->private = host;
    if (!host || mem->n_bytes == 0 || mem->n_bytes > SIZE_MAX / 2) {
        return err_new(-ENOMEM);
    }
    if (mem->kind == EXEC_MEM_KV || mem->kind == EXEC_MEM_STATES) {
        host->is_touched = mem_calloc(MEM_KV, mem->n_rows, sizeof(*host->is_touched));
        if (!host->is_touched) {
            return err_new(-ENOMEM);
        }
    }
    bytes = mmap(NULL, mem->n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED) {
        return err_new(-ENOMEM);
    }
    host->owned = bytes;
    host->bytes = bytes;
    host->n_owned = mem->n_bytes;
    return 0;
}

void host_free(struct exec *exec, struct exec_mem *mem)
{
    struct host_mem *host = mem->private;

    if (!host) {
        return;
    }
    mem_charge(account_of(mem), -(int64_t)host->n_charged);
    if (host->owned) {
        munmap(host->owned, host->n_owned);
    }
    mem_free(host->is_touched);
    mem_free(host);
    mem->private = NULL;
}

int host_write(struct exec *exec, struct exec_mem *mem, uint64_t at, const void *bytes, size_t n)
{
    memcpy(host_of(mem)->owned + at, bytes, n);
    host_charge(mem, n);
    return 0;
}

int host_copy_page(struct exec *exec, struct exec_mem *kv, uint32_t from, uint32_t to)
{
    uint8_t *pages = host_of(kv)->owned;

    touch_row(kv, to);
    memcpy(pages + to * kv->row_bytes, pages + from * kv->row_bytes, kv->row_bytes);
    return 0;
}

int host_fetch(struct exec_program *program, uint32_t slot, struct exec_view *ret_view)
{
    *ret_view = (struct exec_view){ .floats = host_slot(program, slot, 0), .stride = program->slots[slot].stride };
    return 0;
}

void host_touch(struct exec_program *program)
{
    struct exec_mem *scratch = program->exec->scratches[program->scratch];
    const struct exec_batch *batch = &program->batch;

    if (scratch && program->scratch_bytes > host_of(scratch)->n_charged) {
        host_charge(scratch, program->scratch_bytes - host_of(scratch)->n_charged);
    }
    for (uint32_t i = 0; program->kv && i < batch->n_rows; i++) {
        touch_row(program->kv, batch->pages[i][batch->positions[i] / EXEC_PAGE_TOK]);
    }
    for (uint32_t i = 0; program->states && i < batch->n_rows; i++) {
        touch_row(program->states, batch->states[i]);
    }
}
