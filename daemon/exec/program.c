/*
 * Program: what a family may record, checked once
 *
 * The table below says which fields each kind of op needs. exec_seal() walks the ops in order and checks shapes, types,
 * and that nothing is read before it is written. A backend may trust a sealed program.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/num.h"
#include "exec/backend.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

#define SLOTS_MAX        64    /* a family needs about twelve */
#define OPS_MAX          65536 /* more than any model's layers times ops */
#define COLS_MAX         (1u << 24)
#define FLOATS_OF_A_LINE 16u /* slots' rows begin on cache lines */

enum need {
    NEED_IN = 1,
    NEED_IN2 = 2,
    NEED_OUT = 4,
    NEED_WEIGHT = 8,
    NEED_TABLE = 16,
    NEED_KV = 32,
    NEED_STATES = 64,
    NEED_ALL = 128, /* rows of sequences, so all rows of the step */
};

static const struct op_row {
    const char *name;
    unsigned needs;
} op_rows[EXEC_OP_COUNT] = {
    [EXEC_EMBED] = { "embed", NEED_OUT | NEED_WEIGHT | NEED_ALL },
    [EXEC_NORM] = { "norm", NEED_IN | NEED_OUT | NEED_WEIGHT },
    [EXEC_MATMUL] = { "matmul", NEED_IN | NEED_OUT | NEED_WEIGHT },
    [EXEC_ROPE] = { "rope", NEED_IN | NEED_OUT | NEED_TABLE | NEED_ALL },
    [EXEC_STORE] = { "store", NEED_IN | NEED_IN2 | NEED_KV | NEED_ALL },
    [EXEC_ATTEND] = { "attend", NEED_IN | NEED_OUT | NEED_KV | NEED_ALL },
    [EXEC_GLU] = { "glu", NEED_IN | NEED_IN2 | NEED_OUT },
    [EXEC_ADD] = { "add", NEED_IN | NEED_IN2 | NEED_OUT },
    [EXEC_SCALE] = { "scale", NEED_IN | NEED_OUT },
    [EXEC_CAP] = { "cap", NEED_IN | NEED_OUT },
    [EXEC_UNZIP] = { "unzip", NEED_IN | NEED_OUT },
    [EXEC_CONV] = { "conv", NEED_IN | NEED_OUT | NEED_STATES | NEED_ALL },
    [EXEC_DELTA] = { "delta", NEED_IN | NEED_OUT | NEED_STATES | NEED_ALL },
    [EXEC_GATHER] = { "gather", NEED_IN | NEED_OUT },
};

int exec_program_create(struct exec *exec, uint32_t scratch, uint32_t n_rows, uint32_t n_wanted,
                        struct exec_program **ret_program)
{
    struct exec_program *program;

    if (scratch >= EXEC_SCRATCHES || n_rows == 0 || n_wanted == 0 || n_wanted > n_rows) {
        return err_new(-EINVAL);
    }
    program = mem_calloc(MEM_SCRATCH, 1, sizeof(*program));
    if (!program) {
        return err_new(-ENOMEM);
    }
    program->exec = exec;
    program->scratch = scratch;
    program->n_rows = n_rows;
    program->n_wanted = n_wanted;
    program->n_positions = UINT32_MAX;
    program->n_tokens = UINT32_MAX;
    list_append(&exec->programs, &program->link);
    *ret_program = program;
    return 0;
}

uint32_t exec_slot(struct exec_program *program, const char *name, uint32_t n_cols, enum exec_rows rows)
{
    struct exec_slot *slot;

    assert(!program->is_sealed);
    if (!program->slots) {
        program->slots = mem_calloc(MEM_SCRATCH, SLOTS_MAX, sizeof(*program->slots));
    }
    if (!program->slots) {
        program->fault = -ENOMEM;
        return EXEC_NO_SLOT;
    }
    if (program->n_slots == SLOTS_MAX || n_cols == 0 || n_cols > COLS_MAX) {
        diag_set(&program->trouble, "slot %s of %u columns cannot be had", name, n_cols);
        return EXEC_NO_SLOT;
    }
    slot = &program->slots[program->n_slots];
    strncpy(slot->name, name, sizeof(slot->name) - 1);
    slot->n_cols = n_cols;
    slot->stride = (n_cols + FLOATS_OF_A_LINE - 1) / FLOATS_OF_A_LINE * FLOATS_OF_A_LINE;
    slot->rows = rows;
    slot->n_rows = rows == EXEC_ROWS_ALL ? program->n_rows : program->n_wanted;
    slot->offset = program->scratch_bytes;
    program->scratch_bytes += (uint64_t)slot->stride * slot->n_rows * sizeof(float);
    return program->n_slots++;
}

uint32_t exec_find_slot(const struct exec_program *program, const char *name)
{
    for (uint32_t i = 0; i < program->n_slots; i++) {
        if (strncmp(program->slots[i].name, name, sizeof(program->slots[i].name) - 1) == 0) {
            return i;
        }
    }
    return EXEC_NO_SLOT;
}

void exec_record(struct exec_program *program, const struct exec_op *op)
{
    struct exec_op *ops;
    uint32_t cap;

    assert(!program->is_sealed);
    if (program->n_ops == program->cap_ops) {
        cap = program->cap_ops ? program->cap_ops * 2 : 64;
        ops = cap > OPS_MAX ? NULL : mem_realloc(MEM_SCRATCH, program->ops, cap * sizeof(*ops));
        if (!ops) {
            program->fault = -ENOMEM;
            return;
        }
        program->ops = ops;
        program->cap_ops = cap;
    }
    program->ops[program->n_ops++] = *op;
}

/* ---- checks: each gives what is wrong, or NULL ---- */

static const struct exec_slot *find_slot(const struct exec_program *program, uint32_t slot)
{
    return slot < program->n_slots ? &program->slots[slot] : NULL;
}

static const char *check_reads(const struct exec_program *program, const struct exec_op *op, unsigned needs)
{
    const struct exec_slot *in = find_slot(program, op->in);
    const struct exec_slot *in2 = find_slot(program, op->in2);

    if ((needs & NEED_IN) && (!in || !in->is_written)) {
        return "reads a slot that is not written";
    }
    if ((needs & NEED_IN2) && (!in2 || !in2->is_written)) {
        return "reads a second slot that is not written";
    }
    if ((needs & NEED_IN2) && (in->n_cols != in2->n_cols || in->rows != in2->rows)) {
        return "reads two slots of different shapes";
    }
    return NULL;
}

static const char *check_rows(const struct exec_program *program, const struct exec_op *op, unsigned needs)
{
    const struct exec_slot *in = find_slot(program, op->in);
    const struct exec_slot *out = find_slot(program, op->out);

    if ((needs & NEED_OUT) && !out) {
        return "writes no slot";
    }
    if ((needs & NEED_ALL) && ((needs & NEED_OUT) ? out : in)->rows != EXEC_ROWS_ALL) {
        return "needs a slot of all rows";
    }
    if (op->kind == EXEC_GATHER) {
        return in->rows == EXEC_ROWS_ALL && out->rows == EXEC_ROWS_WANTED && in->n_cols == out->n_cols
                   ? NULL
                   : "must go from all rows to the wanted ones of the same width";
    }
    if ((needs & NEED_IN) && (needs & NEED_OUT) && in->rows != out->rows) {
        return "reads and writes different rows";
    }
    return NULL;
}

static const char *check_weight(const struct exec_program *program, const struct exec_op *op)
{
    const struct exec_slot *in = find_slot(program, op->in);
    const struct exec_slot *out = find_slot(program, op->out);
    const struct exec_mem *weight = op->weight;

    if (!weight || weight->kind != EXEC_MEM_WEIGHT) {
        return "has no weight";
    }
    if (op->kind == EXEC_NORM) {
        return weight->type == ELEM_F32 && weight->n_rows == 1 && in->n_cols % weight->n_cols == 0 &&
                       out->n_cols == in->n_cols && op->eps >= 0.0f
                   ? NULL
                   : "does not fit its weight";
    }
    if (out->n_cols > (op->kind == EXEC_EMBED ? weight->n_cols : weight->n_rows)) {
        return "wants more than its weight has";
    }
    if (op->kind == EXEC_EMBED) {
        return out->n_cols == weight->n_cols ? NULL : "does not fit its weight";
    }
    if (in->n_cols != weight->n_cols || op->in == op->out) {
        return "does not fit its weight";
    }
    if (op->bias && (op->bias->type != ELEM_F32 || op->bias->n_rows != 1 || op->bias->n_cols != out->n_cols)) {
        return "does not fit its bias";
    }
    return NULL;
}

static const char *check_heads(const struct exec_program *program, const struct exec_op *op)
{
    const struct exec_slot *in = find_slot(program, op->in);
    uint64_t q_cols = (uint64_t)op->n_heads * op->head_dim;
    uint64_t kv_cols = (uint64_t)op->n_kv_heads * op->head_dim;

    if (op->head_dim == 0 || op->head_dim > EXEC_HEAD_MAX) {
        return "has heads of an impossible size";
    }
    if (op->kind == EXEC_ROPE) {
        return op->table && op->table->kind == EXEC_MEM_ROPE && op->table->n_cols <= op->head_dim &&
                       op->in == op->out && in->n_cols == q_cols
                   ? NULL
                   : "does not fit its table";
    }
    if (!op->kv || op->kv->kind != EXEC_MEM_KV || op->layer >= op->kv->kv.n_layers ||
        op->kv->kv.n_kv_heads != op->n_kv_heads || op->kv->kv.head_dim != op->head_dim ||
        (program->kv && program->kv != op->kv)) {
        return "does not fit its pages";
    }
    if (op->kind == EXEC_STORE) {
        return in->n_cols == kv_cols ? NULL : "stores rows of another width";
    }
    if (!(op->cap >= 0.0f)) {
        return "has a limit below 0";
    }
    return in->n_cols == q_cols && find_slot(program, op->out)->n_cols == q_cols && op->in != op->out &&
                   op->n_heads % op->n_kv_heads == 0
               ? NULL
               : "has heads that do not fit";
}

/* Returns true if @mem is one row of @n floats. */
static bool is_floats(const struct exec_mem *mem, uint32_t n)
{
    return mem && mem->kind == EXEC_MEM_WEIGHT && mem->type == ELEM_F32 && mem->n_rows == 1 && mem->n_cols == n;
}

static const char *check_conv(const struct exec_program *program, const struct exec_op *op)
{
    uint32_t n_cols = find_slot(program, op->in)->n_cols;
    const struct exec_mem *taps = op->weight;

    if (!taps || taps->kind != EXEC_MEM_WEIGHT || taps->type != ELEM_F32 || taps->n_rows != n_cols ||
        taps->n_cols < 2 || taps->n_cols > EXEC_TAPS_MAX || find_slot(program, op->out)->n_cols != n_cols ||
        op->in == op->out) {
        return "does not fit its weight";
    }
    return (taps->n_cols - 1) * n_cols == op->states->state.n_window ? NULL : "does not fit its states";
}

static const char *check_delta(const struct exec_program *program, const struct exec_op *op)
{
    const struct exec_slot *in2 = find_slot(program, op->in2);
    const struct exec_slot *in3 = find_slot(program, op->in3);
    uint32_t n_out = find_slot(program, op->out)->n_cols;
    uint32_t n_v;

    if (!in2 || !in2->is_written || !in3 || !in3->is_written || in2->rows != EXEC_ROWS_ALL ||
        in3->rows != EXEC_ROWS_ALL || in2->n_cols != op->n_heads || in3->n_cols != op->n_heads) {
        return "reads no two numbers for each of its heads";
    }
    if (op->n_heads == 0 || op->n_kv_heads == 0 || op->n_heads % op->n_kv_heads != 0 || n_out % op->n_heads != 0 ||
        op->head_dim == 0 || op->head_dim > EXEC_HEAD_MAX || n_out / op->n_heads > EXEC_HEAD_MAX || op->in == op->out ||
        find_slot(program, op->in)->n_cols != UINT64_C(2) * op->n_kv_heads * op->head_dim + n_out) {
        return "has heads that do not fit";
    }
    if (!is_floats(op->weight, op->n_heads) || !is_floats(op->bias, op->n_heads)) {
        return "does not fit its weights";
    }
    n_v = n_out / op->n_heads;
    return (uint64_t)op->n_heads * op->head_dim * n_v == op->states->state.n_matrix ? NULL : "does not fit its states";
}

static const char *check_states(const struct exec_program *program, const struct exec_op *op)
{
    if (!op->states || op->states->kind != EXEC_MEM_STATES || op->layer >= op->states->state.n_layers ||
        (program->states && program->states != op->states)) {
        return "does not fit its states";
    }
    return op->kind == EXEC_CONV ? check_conv(program, op) : check_delta(program, op);
}

static const char *check_unzip(const struct exec_program *program, const struct exec_op *op)
{
    uint32_t n_in = find_slot(program, op->in)->n_cols;
    uint32_t n_out = find_slot(program, op->out)->n_cols;

    return op->head_dim > 0 && n_out % op->head_dim == 0 && n_in % n_out == 0 && op->part < n_in / n_out &&
                   op->in != op->out
               ? NULL
               : "has runs that do not fit";
}

static const char *check_same_width(const struct exec_program *program, const struct exec_op *op)
{
    return find_slot(program, op->in)->n_cols == find_slot(program, op->out)->n_cols
               ? NULL
               : "writes another width than it reads";
}

static const char *check_op(const struct exec_program *program, const struct exec_op *op)
{
    unsigned needs = op_rows[op->kind].needs;
    const char *wrong = op->phase < EXEC_PHASES ? check_reads(program, op, needs) : "is of no known phase";

    if (!wrong) {
        wrong = check_rows(program, op, needs);
    }
    if (!wrong && (needs & NEED_WEIGHT)) {
        wrong = check_weight(program, op);
    }
    if (!wrong && (needs & (NEED_TABLE | NEED_KV))) {
        wrong = check_heads(program, op);
    }
    if (!wrong && (needs & NEED_STATES)) {
        wrong = check_states(program, op);
    }
    if (!wrong && op->kind == EXEC_UNZIP) {
        wrong = check_unzip(program, op);
    }
    if (!wrong && (op->kind == EXEC_GLU || op->kind == EXEC_ADD || op->kind == EXEC_SCALE || op->kind == EXEC_CAP)) {
        wrong = check_same_width(program, op);
    }
    if (!wrong && op->kind == EXEC_CAP && !(op->cap > 0.0f)) {
        wrong = "has no limit";
    }
    return wrong;
}

/* Notes what limits a batch: the tokens of the embedding, the positions of the tables, the pools of pages and
 * states. */
static void note_bounds(struct exec_program *program, const struct exec_op *op)
{
    if (op->kind == EXEC_EMBED) {
        program->n_tokens = (uint32_t)num_min(program->n_tokens, op->weight->n_rows);
    }
    if (op->kind == EXEC_ROPE) {
        program->n_positions = (uint32_t)num_min(program->n_positions, op->table->n_rows);
    }
    if (op->kv) {
        program->kv = op->kv;
    }
    if (op->states) {
        program->states = op->states;
    }
    if (op->kind == EXEC_MATMUL) {
        program->weight_bytes += op->weight->row_bytes * find_slot(program, op->out)->n_cols;
    }
}

int exec_seal(struct exec_program *program, struct diag *diag)
{
    const char *wrong;
    int r;

    if (program->fault) {
        return err_new(program->fault);
    }
    if (diag_is_set(&program->trouble)) {
        diag_set(diag, "%s", program->trouble.text);
        return EXEC_REFUSED;
    }
    for (uint32_t i = 0; i < program->n_ops; i++) {
        const struct exec_op *op = &program->ops[i];

        wrong = op->kind < EXEC_OP_COUNT ? check_op(program, op) : "is of no known kind";
        if (wrong) {
            diag_set(diag, "op %u (%s, layer %u) %s", i, op->kind < EXEC_OP_COUNT ? op_rows[op->kind].name : "?",
                     op->layer, wrong);
            return EXEC_REFUSED;
        }
        note_bounds(program, op);
        if (op_rows[op->kind].needs & NEED_OUT) {
            program->slots[op->out].is_written = true;
        }
    }
    r = program->exec->ops->seal(program);
    r = r ? r : exec_grow_scratch(program->exec, program->scratch, program->scratch_bytes);
    if (r) {
        return err_up(r);
    }
    program->is_sealed = true;
    return EXEC_OK;
}

uint64_t exec_weight_bytes(const struct exec_program *program)
{
    return program->weight_bytes;
}
