#include "exec/exec.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/num.h"
#include "exec/backend.h"
#include "kern/rope.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COLS_MAX    (1u << 24) /* of a row of weights */
#define STATE_ALIGN 64         /* layers of a state begin on cache lines */
#define ROPE_FLOATS 4096       /* of a rotary table, computed and handed to the backend at once */

/* ---- life ---- */

static const struct exec_ops *find_backend(const struct exec_setup *setup, struct diag *diag)
{
    char names[64] = "";
    size_t used = 0;

    for (size_t i = 0; setup->backends[i]; i++) {
        if (strcmp(setup->backends[i]->name, setup->backend) == 0) {
            return setup->backends[i];
        }
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "", setup->backends[i]->name);
        assert(used < sizeof(names));
    }
    diag_blame(diag, "backend", "backend \"%s\" is not known here; there are %s", setup->backend, names);
    return NULL;
}

int exec_open(struct exec **ret_exec, const struct exec_setup *setup, struct diag *diag)
{
    cleanup(exec_closep) struct exec *exec = NULL;
    const struct exec_ops *ops = find_backend(setup, diag);
    int r;

    if (!ops) {
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

static void end_mem(struct exec *exec, struct exec_mem *mem)
{
    list_remove(&mem->link);
    exec->ops->free(exec, mem);
    mem_free(mem);
}

static void end_program(struct exec_program *program)
{
    list_remove(&program->link);
    if (program->exec->ops->unseal) {
        program->exec->ops->unseal(program);
    } else {
        mem_free(program->private);
    }
    mem_free(program->slots);
    mem_free(program->ops);
    mem_free(program);
}

void exec_close(struct exec *exec)
{
    struct list *link;
    struct list *after;

    if (!exec) {
        return;
    }
    list_for_each_safe (link, after, &exec->programs) {
        end_program(container_of(link, struct exec_program, link));
    }
    list_for_each_safe (link, after, &exec->mems) {
        end_mem(exec, container_of(link, struct exec_mem, link));
    }
    if (exec->ops) {
        exec->ops->close(exec);
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

static struct exec_mem *new_mem(struct exec *exec, const struct exec_mem *shape)
{
    struct exec_mem *mem = mem_calloc(MEM_MISC, 1, sizeof(*mem));

    if (mem) {
        *mem = *shape;
        list_append(&exec->mems, &mem->link);
    }
    return mem;
}

/* Makes zeroed memory of shape->n_rows rows of row_bytes. */
static int alloc_mem(struct exec *exec, const struct exec_mem *shape, struct exec_mem **ret_mem)
{
    struct exec_mem *mem = new_mem(exec, shape);
    int r;

    if (!mem) {
        return err_new(-ENOMEM);
    }
    mem->n_bytes = mem->n_rows * mem->row_bytes;
    r = exec->ops->alloc(exec, mem);
    if (r) {
        end_mem(exec, mem);
        return err_up(r);
    }
    *ret_mem = mem;
    return EXEC_OK;
}

bool exec_may_import(const struct exec *exec, uint32_t type)
{
    return elem_info(type) && exec->ops->may_import(exec, type);
}

int exec_import(struct exec *exec, const struct exec_tensor *tensor, struct exec_mem **ret_mem, struct diag *diag)
{
    const struct elem_info *info = elem_info(tensor->type);
    struct exec_mem shape = { .kind = EXEC_MEM_WEIGHT,
                              .type = tensor->type,
                              .in_panels = tensor->in_panels,
                              .n_cols = tensor->n_cols,
                              .n_rows = tensor->n_rows };
    struct exec_mem *mem;
    int r;

    if (!info || !exec->ops->may_import(exec, tensor->type)) {
        diag_set(diag, "tensor %s has type %s, for which backend %s has no kernels", tensor->name,
                 info ? info->name : "unknown", exec->ops->name);
        return EXEC_REFUSED;
    }
    if (tensor->n_cols == 0 || tensor->n_cols > COLS_MAX || tensor->n_rows == 0 || tensor->n_rows > UINT32_MAX ||
        !elem_row_bytes(tensor->type, tensor->n_cols, &shape.row_bytes) ||
        !num_mul(shape.row_bytes, tensor->n_rows, &shape.n_bytes) ||
        (tensor->in_panels && (info->n_block == 1 || tensor->n_rows % ELEM_PANEL_ROWS != 0))) {
        diag_set(diag, "tensor %s of %s has an impossible shape: %llu rows of %llu", tensor->name, info->name,
                 (unsigned long long)tensor->n_rows, (unsigned long long)tensor->n_cols);
        return EXEC_REFUSED;
    }
    mem = new_mem(exec, &shape);
    if (!mem) {
        return err_new(-ENOMEM);
    }
    r = exec->ops->import(exec, mem, tensor->bytes);
    if (r) {
        end_mem(exec, mem);
        return err_up(r);
    }
    *ret_mem = mem;
    return EXEC_OK;
}

/* Computes the table a piece at a time: the host may have no memory for all of it beside the backend's. */
static int fill_rope(struct exec *exec, struct exec_mem *mem, const struct exec_rope *rope)
{
    const struct rope_shape shape = { .n_rot = rope->n_rot,
                                      .base = rope->base,
                                      .scale = rope->scale,
                                      .magnitude = rope->magnitude,
                                      .divisors = rope->divisors };
    uint32_t n_most = ROPE_FLOATS / rope->n_rot;
    float piece[ROPE_FLOATS];

    for (uint32_t first = 0; first < rope->n_positions; first += n_most) {
        uint32_t n = (uint32_t)num_min(n_most, rope->n_positions - first);
        int r;

        rope_table(&shape, first, n, piece);
        r = exec->ops->write(exec, mem, first * mem->row_bytes, piece, n * mem->row_bytes);
        if (r) {
            return err_up(r);
        }
    }
    return 0;
}

int exec_make_rope(struct exec *exec, const struct exec_rope *rope, struct exec_mem **ret_mem)
{
    const struct exec_mem shape = { .kind = EXEC_MEM_ROPE,
                                    .type = ELEM_F32,
                                    .n_cols = rope->n_rot,
                                    .n_rows = rope->n_positions,
                                    .row_bytes = rope->n_rot * sizeof(float) };
    int r;

    if (rope->n_rot == 0 || rope->n_rot % 2 != 0 || rope->n_rot > EXEC_HEAD_MAX || rope->n_positions == 0) {
        return err_new(-EINVAL);
    }
    r = alloc_mem(exec, &shape, ret_mem);
    return err_up(r ? r : fill_rope(exec, *ret_mem, rope));
}

enum kern_kv exec_kern_kv(enum exec_kv_format format)
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

uint64_t exec_kv_page_bytes(const struct exec_kv_shape *shape)
{
    uint64_t n;

    if (shape->format == EXEC_KV_NONE || shape->format >= EXEC_KV_FORMAT_COUNT || shape->head_dim > EXEC_HEAD_MAX ||
        (shape->format == EXEC_KV_Q4 && shape->head_dim % 2 != 0)) {
        return 0;
    }
    n = kern_kv_page_bytes(exec_kern_kv(shape->format), 1, shape->head_dim);
    return num_mul(n, shape->n_kv_heads, &n) && num_mul(n, shape->n_layers, &n) ? n : 0;
}

int exec_alloc_kv(struct exec *exec, const struct exec_kv_shape *shape, struct exec_mem **ret_mem, struct diag *diag)
{
    uint64_t page = exec_kv_page_bytes(shape);
    uint64_t n_bytes;

    if (page == 0 || shape->n_pages == 0 || !num_mul(page, shape->n_pages, &n_bytes)) {
        diag_set(diag, "a pool of %u pages for %u heads of %u in %u layers cannot be had", shape->n_pages,
                 shape->n_kv_heads, shape->head_dim, shape->n_layers);
        return EXEC_REFUSED;
    }
    return err_up(alloc_mem(
        exec, &(struct exec_mem){ .kind = EXEC_MEM_KV, .n_rows = shape->n_pages, .row_bytes = page, .kv = *shape },
        ret_mem));
}

static uint64_t state_layer_bytes(const struct exec_state_shape *shape)
{
    uint64_t n = ((uint64_t)shape->n_window + shape->n_matrix) * sizeof(float);

    return num_align(n, STATE_ALIGN, &n) ? n : 0;
}

size_t exec_state_at(const struct exec_state_shape *shape, uint32_t layer)
{
    return (size_t)state_layer_bytes(shape) * layer;
}

int exec_alloc_states(struct exec *exec, const struct exec_state_shape *shape, struct exec_mem **ret_mem,
                      struct diag *diag)
{
    uint64_t state;
    uint64_t n_bytes;

    if (!num_mul(state_layer_bytes(shape), shape->n_layers, &state) || state == 0 || shape->n_states == 0 ||
        !num_mul(state, shape->n_states, &n_bytes)) {
        diag_set(diag, "%u states of %u layers with %u and %u numbers cannot be had", shape->n_states, shape->n_layers,
                 shape->n_window, shape->n_matrix);
        return EXEC_REFUSED;
    }
    return err_up(alloc_mem(
        exec,
        &(struct exec_mem){ .kind = EXEC_MEM_STATES, .n_rows = shape->n_states, .row_bytes = state, .state = *shape },
        ret_mem));
}

int exec_grow_scratch(struct exec *exec, uint32_t scratch, uint64_t n_bytes)
{
    struct exec_mem *before = exec->scratches[scratch];
    int r;

    if (n_bytes <= (before ? before->n_bytes : 0)) {
        return 0;
    }
    r = alloc_mem(exec, &(struct exec_mem){ .kind = EXEC_MEM_SCRATCH, .n_rows = 1, .row_bytes = n_bytes },
                  &exec->scratches[scratch]);
    if (r == 0 && before) {
        end_mem(exec, before);
    }
    return err_up(r);
}

int exec_copy_page(struct exec *exec, struct exec_mem *kv, uint32_t from, uint32_t to)
{
    if (kv->kind != EXEC_MEM_KV || from >= kv->n_rows || to >= kv->n_rows || from == to) {
        return err_new(-EINVAL);
    }
    return err_up(exec->ops->copy_page(exec, kv, from, to));
}
