#include "exec/exec.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/num.h"
#include "exec/backend.h"
#include "exec/cpu_backend.h"
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define COLS_MAX    (1u << 24) /* of a row of weights */
#define STATE_ALIGN 64         /* layers of a state begin on cache lines */

static const struct exec_ops *const backends[] = {
    &exec_cpu,
    &exec_truth,
#ifdef SOTTO_TESTS
    &exec_fake,
#endif
};

void *exec_map(uint64_t n_bytes)
{
    void *bytes;

    if (n_bytes == 0 || n_bytes > SIZE_MAX / 2) {
        return NULL;
    }
    bytes = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

void exec_unmap(void *bytes, uint64_t n_bytes)
{
    if (bytes) {
        munmap(bytes, n_bytes);
    }
}

static enum mem_kind account_of(const struct exec_mem *mem)
{
    return mem->what == EXEC_MEM_KV || mem->what == EXEC_MEM_STATES ? MEM_KV : MEM_WEIGHTS;
}

void exec_charge(struct exec_mem *mem, uint64_t n_bytes)
{
    mem_charge(account_of(mem), (int64_t)n_bytes);
    mem->n_charged += n_bytes;
}

void exec_touch_page(struct exec_mem *mem, uint32_t page)
{
    if (!mem->is_touched[page]) {
        mem->is_touched[page] = true;
        exec_charge(mem, mem->row_bytes);
    }
}

/* ---- life ---- */

static const struct exec_ops *find_backend(const char *name)
{
    for (size_t i = 0; i < COUNTOF(backends); i++) {
        if (strcmp(backends[i]->name, name) == 0) {
            return backends[i];
        }
    }
    return NULL;
}

int exec_open(struct exec **ret_exec, const struct exec_setup *setup, struct diag *diag)
{
    cleanup(exec_closep) struct exec *exec = NULL;
    const struct exec_ops *ops = find_backend(setup->backend);
    int r;

    if (!ops) {
        diag_blame(diag, "backend", "backend \"%s\" is not known here; there are cpu and truth", setup->backend);
        return EXEC_REFUSED;
    }
    exec = mem_calloc(MEM_MISC, 1, sizeof(*exec));
    if (!exec) {
        return err_new(-ENOMEM);
    }
    list_init(&exec->mems);
    list_init(&exec->programs);
    r = ops->open(exec, setup, diag);
    if (r) {
        return err_pass(r);
    }
    exec->ops = ops;
    *ret_exec = steal(&exec);
    return EXEC_OK;
}

static void end_mem(struct exec_mem *mem)
{
    list_remove(&mem->link);
    mem_charge(account_of(mem), -(int64_t)mem->n_charged);
    exec_unmap(mem->owned, mem->n_bytes);
    mem_free(mem->is_touched);
    mem_free(mem);
}

static void end_program(struct exec_program *program)
{
    list_remove(&program->link);
    mem_free(program->slots);
    mem_free(program->ops);
    mem_free(program->private);
    mem_free(program);
}

void exec_close(struct exec *exec)
{
    struct list *link;
    struct list *after;

    if (!exec) {
        return;
    }
    if (exec->ops) {
        exec->ops->close(exec);
    }
    list_for_each_safe (link, after, &exec->programs) {
        end_program(container_of(link, struct exec_program, link));
    }
    list_for_each_safe (link, after, &exec->mems) {
        end_mem(container_of(link, struct exec_mem, link));
    }
    for (uint32_t i = 0; i < EXEC_SCRATCHES; i++) {
        mem_charge(MEM_SCRATCH, -(int64_t)exec->scratches[i].n_charged);
        exec_unmap(exec->scratches[i].bytes, exec->scratches[i].n_bytes);
    }
    mem_free(exec);
}

void exec_closep(struct exec **exec)
{
    exec_close(*exec);
    *exec = NULL;
}

void exec_facts(const struct exec *exec, struct exec_facts *ret_facts)
{
    exec->ops->facts(exec, ret_facts);
}

/* ---- memory ---- */

static struct exec_mem *new_mem(struct exec *exec, enum exec_mem_what what)
{
    struct exec_mem *mem = mem_calloc(MEM_MISC, 1, sizeof(*mem));

    if (mem) {
        mem->what = what;
        list_append(&exec->mems, &mem->link);
    }
    return mem;
}

bool exec_may_import(const struct exec *exec, uint32_t type)
{
    return elem_info(type) && exec->ops->may_import(exec, type);
}

int exec_import(struct exec *exec, const struct exec_tensor *tensor, struct exec_mem **ret_mem, struct diag *diag)
{
    const struct elem_info *info = elem_info(tensor->type);
    struct exec_mem *mem;
    uint64_t row_bytes;
    uint64_t n_bytes;
    int r;

    if (!info || !exec->ops->may_import(exec, tensor->type)) {
        diag_set(diag, "tensor %s has type %s, for which backend %s has no kernels", tensor->name,
                 info ? info->name : "unknown", exec->ops->name);
        return EXEC_REFUSED;
    }
    if (tensor->n_cols == 0 || tensor->n_cols > COLS_MAX || tensor->n_rows == 0 || tensor->n_rows > UINT32_MAX ||
        !elem_row_bytes(tensor->type, tensor->n_cols, &row_bytes) || !num_mul(row_bytes, tensor->n_rows, &n_bytes)) {
        diag_set(diag, "tensor %s of %s has an impossible shape: %llu rows of %llu", tensor->name, info->name,
                 (unsigned long long)tensor->n_rows, (unsigned long long)tensor->n_cols);
        return EXEC_REFUSED;
    }
    mem = new_mem(exec, EXEC_MEM_WEIGHT);
    if (!mem) {
        return err_new(-ENOMEM);
    }
    mem->type = tensor->type;
    mem->n_cols = tensor->n_cols;
    mem->n_rows = tensor->n_rows;
    mem->row_bytes = row_bytes;
    mem->n_bytes = n_bytes;
    mem->bytes = tensor->bytes;
    r = exec->ops->import(exec, mem);
    if (r) {
        end_mem(mem);
        return err_up(r);
    }
    *ret_mem = mem;
    return EXEC_OK;
}

int exec_make_rope(struct exec *exec, const struct exec_rope *rope, struct exec_mem **ret_mem)
{
    struct exec_mem *mem;
    uint64_t n_bytes;

    if (rope->n_rot == 0 || rope->n_rot % 2 != 0 || rope->n_rot > EXEC_HEAD_MAX || rope->n_positions == 0 ||
        !num_mul((uint64_t)rope->n_positions * rope->n_rot, sizeof(float), &n_bytes)) {
        return err_new(-EINVAL);
    }
    mem = new_mem(exec, EXEC_MEM_ROPE);
    if (!mem) {
        return err_new(-ENOMEM);
    }
    mem->owned = exec_map(n_bytes);
    if (!mem->owned) {
        end_mem(mem);
        return err_new(-ENOMEM);
    }
    mem->bytes = mem->owned;
    mem->type = ELEM_F32;
    mem->n_cols = rope->n_rot;
    mem->n_rows = rope->n_positions;
    mem->row_bytes = rope->n_rot * sizeof(float);
    mem->n_bytes = n_bytes;
    exec_charge(mem, n_bytes);
    exec->ops->fill_rope(exec, mem, rope);
    *ret_mem = mem;
    return EXEC_OK;
}

uint64_t exec_kv_page_bytes(const struct exec_kv_shape *shape)
{
    uint64_t n;

    if (shape->format == EXEC_KV_NONE || shape->format >= EXEC_KV_FORMAT_COUNT || shape->head_dim > EXEC_HEAD_MAX ||
        (shape->format == EXEC_KV_Q4 && shape->head_dim % 2 != 0)) {
        return 0;
    }
    n = kern_kv_page_bytes(cpu_kv(shape->format), 1, shape->head_dim);
    return num_mul(n, shape->n_kv_heads, &n) && num_mul(n, shape->n_layers, &n) ? n : 0;
}

/* Memory of @n rows of @row_bytes that counts once a row is touched. */
static int new_rows(struct exec *exec, enum exec_mem_what what, uint64_t row_bytes, uint32_t n,
                    struct exec_mem **ret_mem)
{
    struct exec_mem *mem = new_mem(exec, what);

    if (!mem) {
        return err_new(-ENOMEM);
    }
    mem->is_touched = mem_calloc(MEM_KV, n, sizeof(*mem->is_touched));
    mem->owned = mem->is_touched ? exec_map(row_bytes * n) : NULL;
    if (!mem->owned) {
        end_mem(mem);
        return err_new(-ENOMEM);
    }
    mem->bytes = mem->owned;
    mem->row_bytes = row_bytes;
    mem->n_rows = n;
    mem->n_bytes = row_bytes * n;
    *ret_mem = mem;
    return 0;
}

int exec_alloc_kv(struct exec *exec, const struct exec_kv_shape *shape, struct exec_mem **ret_mem, struct diag *diag)
{
    uint64_t page = exec_kv_page_bytes(shape);
    uint64_t n_bytes;
    int r;

    if (page == 0 || shape->n_pages == 0 || !num_mul(page, shape->n_pages, &n_bytes)) {
        diag_set(diag, "a pool of %u pages for %u heads of %u in %u layers cannot be had", shape->n_pages,
                 shape->n_kv_heads, shape->head_dim, shape->n_layers);
        return EXEC_REFUSED;
    }
    r = new_rows(exec, EXEC_MEM_KV, page, shape->n_pages, ret_mem);
    if (r) {
        return err_up(r);
    }
    (*ret_mem)->kv = *shape;
    return EXEC_OK;
}

static uint64_t state_layer_bytes(const struct exec_state_shape *shape)
{
    uint64_t n = ((uint64_t)shape->n_window + shape->n_matrix) * sizeof(float);

    return num_align(n, STATE_ALIGN, &n) ? n : 0;
}

uint64_t exec_state_bytes(const struct exec_state_shape *shape)
{
    uint64_t n;

    return num_mul(state_layer_bytes(shape), shape->n_layers, &n) ? n : 0;
}

size_t exec_state_at(const struct exec_state_shape *shape, uint32_t layer)
{
    return (size_t)state_layer_bytes(shape) * layer;
}

int exec_alloc_states(struct exec *exec, const struct exec_state_shape *shape, struct exec_mem **ret_mem,
                      struct diag *diag)
{
    uint64_t state = exec_state_bytes(shape);
    uint64_t n_bytes;
    int r;

    if (state == 0 || shape->n_states == 0 || !num_mul(state, shape->n_states, &n_bytes)) {
        diag_set(diag, "%u states of %u layers with %u and %u numbers cannot be had", shape->n_states, shape->n_layers,
                 shape->n_window, shape->n_matrix);
        return EXEC_REFUSED;
    }
    r = new_rows(exec, EXEC_MEM_STATES, state, shape->n_states, ret_mem);
    if (r) {
        return err_up(r);
    }
    (*ret_mem)->state = *shape;
    return EXEC_OK;
}

int exec_copy_page(struct exec *exec, struct exec_mem *kv, uint32_t from, uint32_t to)
{
    if (kv->what != EXEC_MEM_KV || from >= kv->n_rows || to >= kv->n_rows || from == to) {
        return err_new(-EINVAL);
    }
    exec_touch_page(kv, to);
    if (exec->ops->copy_page) {
        return err_up(exec->ops->copy_page(kv, from, to));
    }
    memcpy(kv->owned + to * kv->row_bytes, kv->owned + from * kv->row_bytes, kv->row_bytes);
    return EXEC_OK;
}
