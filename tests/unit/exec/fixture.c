#include "fixture.h"
#include "exec/host.h"
#include "far.h"
#include "unit.h"
#include <string.h>

static const struct exec_ops *const backends[] = { &exec_cpu, &exec_truth, &exec_far, &exec_fake, NULL };

const char *fixture_backend(int i)
{
    return backends[i % FIXTURE_BACKENDS]->name;
}

static int try_open(struct exec **ret_exec, const char *name, uint32_t n_threads, const char *script, struct diag *diag)
{
    const struct exec_setup setup = {
        .backends = backends, .backend = name, .cpu_mask = "", .fake_script = script, .n_threads = n_threads
    };

    return exec_open(ret_exec, &setup, diag);
}

int fixture_try(struct exec **ret_exec, const char *name, const char *script, struct diag *diag)
{
    return try_open(ret_exec, name, 1, script, diag);
}

struct exec *fixture_open(const char *name, uint32_t n_threads)
{
    struct exec *exec = NULL;
    struct diag diag = DIAG_INIT;

    ck_assert_msg(try_open(&exec, name, n_threads, NULL, &diag) == EXEC_OK, "%s", diag.text);
    return exec;
}

struct exec_mem *fixture_import(struct exec *exec, const float *floats, uint64_t n_cols, uint64_t n_rows)
{
    const struct exec_tensor tensor = {
        .name = "w", .type = ELEM_F32, .n_cols = n_cols, .n_rows = n_rows, .bytes = floats
    };
    struct exec_mem *mem = NULL;
    struct diag diag = DIAG_INIT;

    ck_assert_msg(exec_import(exec, &tensor, &mem, &diag) == EXEC_OK, "%s", diag.text);
    return mem;
}

void fixture_submit(struct exec *exec, struct exec_program *program, uint32_t n_parts, uint32_t bound_us)
{
    uint64_t ticket;
    int r;

    ck_assert_int_eq(exec_submit(program, n_parts, bound_us, &ticket), 0);
    while ((r = exec_wait(exec, ticket, 1000)) == EXEC_PENDING) {
    }
    ck_assert_int_eq(r, EXEC_OK);
    ck_assert_int_lt(exec_wait(exec, ticket + 1, 10), 0);
}

void fixture_run(struct exec *exec, struct exec_program *program)
{
    while (exec_is_left(program)) {
        fixture_submit(exec, program, 1, 0);
    }
}

void fixture_read(struct exec_program *program, uint32_t slot, uint32_t row, float *out, uint32_t n)
{
    struct exec_view view;

    ck_assert_int_eq(exec_fetch(program, slot, &view), 0);
    memcpy(out, exec_view_row(&view, row), n * sizeof(*out));
}

void fixture_read_page(struct exec *exec, const struct exec_mem *kv, uint32_t page, void *out)
{
    if (exec->ops == &exec_far) {
        far_read(exec, kv, page * kv->row_bytes, out, kv->row_bytes);
    } else {
        memcpy(out, host_of(kv)->owned + page * kv->row_bytes, kv->row_bytes);
    }
}
