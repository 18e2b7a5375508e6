/* Run: a batch of rows, and the cursor that goes through the program */
#include "base/err.h"
#include "exec/backend.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

uint32_t exec_op_rows(const struct exec_program *program, const struct exec_op *op)
{
    uint32_t slot = op->kind == EXEC_STORE ? op->in : op->out;

    return program->slots[slot].rows == EXEC_ROWS_ALL ? program->batch.n_rows : program->batch.n_wanted;
}

/* Returns the page that row @row is stored in. */
static uint32_t page_of(const struct exec_batch *batch, uint32_t row)
{
    return batch->pages[row][batch->positions[row] / EXEC_PAGE_TOK];
}

/* Returns true if the rows of each state are adjacent and in order of position. */
static bool states_fit(const struct exec_program *program, const struct exec_batch *batch)
{
    if (!program->states) {
        return true;
    }
    for (uint32_t i = 0; i < batch->n_rows; i++) {
        if (!batch->states || batch->states[i] >= program->states->n_rows) {
            return false;
        }
        if (i > 0 && batch->states[i] == batch->states[i - 1]) {
            if (batch->positions[i] != batch->positions[i - 1] + 1) {
                return false;
            }
            continue;
        }
        for (uint32_t k = 0; k + 1 < i; k++) {
            if (batch->states[k] == batch->states[i]) {
                return false;
            }
        }
    }
    return true;
}

static bool batch_fits(const struct exec_program *program, const struct exec_batch *batch)
{
    if (batch->n_rows == 0 || batch->n_rows > program->n_rows || batch->n_wanted > program->n_wanted) {
        return false;
    }
    for (uint32_t i = 0; i < batch->n_rows; i++) {
        if (batch->tokens[i] >= program->n_tokens || batch->positions[i] >= program->n_positions) {
            return false;
        }
        if (program->kv && page_of(batch, i) >= program->kv->n_rows) {
            return false;
        }
    }
    if (!states_fit(program, batch)) {
        return false;
    }
    for (uint32_t i = 0; i < batch->n_wanted; i++) {
        if (batch->wanted[i] >= batch->n_rows || (i > 0 && batch->wanted[i] <= batch->wanted[i - 1])) {
            return false;
        }
    }
    return true;
}

/* Skips ops over no rows: everything behind the gathering, when no row is wanted. */
static void skip_empty(struct exec_program *program)
{
    while (program->op < program->n_ops && exec_op_rows(program, &program->ops[program->op]) == 0) {
        program->op++;
    }
}

int exec_bind(struct exec_program *program, const struct exec_batch *batch)
{
    if (!program->is_sealed || !batch_fits(program, batch)) {
        return err_new(-EINVAL);
    }
    program->batch = *batch;
    program->is_bound = true;
    program->op = 0;
    program->unit = 0;
    program->figures = (struct exec_figures){ 0 };
    program->exec->ops->bind(program);
    skip_empty(program);
    return 0;
}

bool exec_is_left(const struct exec_program *program)
{
    return program->is_bound && program->op < program->n_ops;
}

void exec_advance(struct exec_program *program, uint32_t n_units, uint32_t n_ops, uint64_t device_ns)
{
    assert(exec_is_left(program));
    program->figures.n_parts++;
    program->figures.phase_ns[program->ops[program->op].phase] += device_ns;
    program->unit += n_units;
    if (n_ops > 0) {
        program->op += n_ops;
        program->unit = 0;
        skip_empty(program);
    }
}

int exec_submit(struct exec_program *program, uint32_t n_parts, uint32_t bound_us, uint64_t *ret_ticket)
{
    if (!exec_is_left(program) || n_parts == 0) {
        return err_new(-EINVAL);
    }
    return err_up(program->exec->ops->submit(program, n_parts, bound_us, ret_ticket));
}

int exec_wait(struct exec *exec, uint64_t ticket, uint32_t timeout_ms)
{
    int r = exec->ops->wait(exec, ticket, timeout_ms);

    return err_pass(r);
}

int exec_fetch(struct exec_program *program, uint32_t slot, struct exec_view *ret_view)
{
    if (!program->is_bound || exec_is_left(program) || slot >= program->n_slots) {
        return err_new(-EINVAL);
    }
    return err_up(program->exec->ops->fetch(program, slot, ret_view));
}

void exec_figures(const struct exec_program *program, struct exec_figures *ret_figures)
{
    *ret_figures = program->figures;
}
