/*
 * Backend: what stands behind the door of exec.h
 *
 * For daemon/exec and later daemon/gpu only. A backend is one table; exec.c has checked every argument before a
 * slot is called. Mandatory slots first.
 */
#ifndef SOTTO_EXEC_BACKEND_H
#define SOTTO_EXEC_BACKEND_H

#include "base/list.h"
#include "base/mem.h"
#include "exec/exec.h"
#include "tensor/type.h"

enum exec_mem_what { EXEC_MEM_WEIGHT, EXEC_MEM_ROPE, EXEC_MEM_KV, EXEC_MEM_STATES };

struct exec_mem {
    struct list link; /* exec::mems */
    enum exec_mem_what what;
    uint32_t type;   /* enum elem_type as stored by the backend; not of KV */
    uint64_t n_cols; /* of a weight */
    uint64_t n_rows;
    uint64_t row_bytes;
    struct exec_kv_shape kv;       /* of KV */
    struct exec_state_shape state; /* of states */
    uint64_t n_bytes;
    const uint8_t *bytes; /* a weight where it lies: the caller's, or @owned */
    uint8_t *owned;       /* NULL, or of exec_map(); goes with exec_close() */
    uint64_t n_charged;   /* bytes of @owned that have been touched */
    bool *is_touched;     /* of KV: [n_pages], of states: [n_states]; owned */
};

struct exec_slot {
    char name[16];
    uint32_t n_cols;
    uint32_t stride; /* floats from row to row */
    uint32_t n_rows; /* at most */
    enum exec_rows rows;
    uint64_t offset; /* bytes into the program's scratch */
    bool is_written; /* by an op recorded before; of use while sealing */
};

struct exec_program {
    struct list link; /* exec::programs */
    struct exec *exec;
    uint32_t scratch; /* of exec::scratches */
    uint32_t n_rows;  /* at most */
    uint32_t n_wanted;
    struct exec_slot *slots; /* owned */
    uint32_t n_slots;
    struct exec_op *ops; /* owned */
    uint32_t n_ops;
    uint32_t cap_ops;
    uint64_t scratch_bytes;
    uint64_t weight_bytes;
    uint32_t n_positions;    /* that the rope tables have */
    uint32_t n_tokens;       /* rows of the embedding */
    struct exec_mem *kv;     /* the pool, or NULL */
    struct exec_mem *states; /* likewise */
    bool is_sealed;
    struct diag trouble; /* the first failure of recording */
    int fault;           /* or this */

    /* the run */
    struct exec_batch batch;
    bool is_bound;
    uint32_t op;   /* cursor: the op, */
    uint32_t unit; /* and its first unit (weight row, row, head of a row: the backend's) that is not done */
    struct exec_figures figures;

    void *private; /* the backend's; owned, a mem block */
};

/* Activations of all programs that are recorded into it: as large as the largest needs. */
struct exec_scratch {
    uint8_t *bytes; /* owned, mapped */
    uint64_t n_bytes;
    uint64_t n_charged; /* of them, touched */
};

struct exec {
    const struct exec_ops *ops;
    struct list mems;
    struct list programs;
    struct exec_scratch scratches[EXEC_SCRATCHES];
    void *private; /* the backend's */
};

struct exec_ops {
    const char *name;

    /* Sets exec->private. EXEC_REFUSED or a fault. */
    int (*open)(struct exec *exec, const struct exec_setup *setup, struct diag *diag);
    void (*close)(struct exec *exec);
    void (*facts)(const struct exec *exec, struct exec_facts *ret_facts);

    /* Whether weights of @type may be imported; the type is in elem_info()'s table. */
    bool (*may_import)(const struct exec *exec, uint32_t type);

    /* @mem is filled as the file has it; the backend may give it other bytes (@owned, @type, @row_bytes). */
    int (*import)(struct exec *exec, struct exec_mem *mem);

    /* Fills the table of @mem, which lies in mem->owned. */
    void (*fill_rope)(struct exec *exec, struct exec_mem *mem, const struct exec_rope *rope);

    /* Prepares for submitting: nothing is allocated later. May add its own needs to program->scratch_bytes, behind
     * the slots. */
    int (*seal)(struct exec_program *program);

    /* The rows have changed: program->batch. */
    void (*bind)(struct exec_program *program);

    /* Runs or queues the next parts from the cursor on, and moves it. */
    int (*submit)(struct exec_program *program, uint32_t n_parts, uint32_t bound_us, uint64_t *ret_ticket);
    int (*wait)(struct exec *exec, uint64_t ticket, uint32_t timeout_ms);

    /* Optional. NULL: the slots' rows lie in the program's scratch. */
    int (*read)(struct exec_program *program, uint32_t slot, uint32_t row, float *out, uint32_t n);

    /* Optional. NULL: pages lie in kv->owned, kv->row_bytes each. */
    int (*copy_page)(struct exec_mem *kv, uint32_t from, uint32_t to);
};

extern const struct exec_ops exec_cpu;
extern const struct exec_ops exec_truth;
#ifdef SOTTO_TESTS
extern const struct exec_ops exec_fake;
#endif

/* The first float of row @row of slot @slot in host memory. */
float *exec_slot_row(const struct exec_program *program, uint32_t slot, uint32_t row);

/* Rows that @op goes over in this run, by its output. */
uint32_t exec_op_rows(const struct exec_program *program, const struct exec_op *op);

/* Moves the cursor behind a part that is done: @n_units further in its op, or behind the op. */
void exec_advance(struct exec_program *program, uint32_t n_units, bool op_done);

/* Zeroed memory from the system that is there when it is touched, and is charged then. NULL: there is none. */
void *exec_map(uint64_t n_bytes);
void exec_unmap(void *bytes, uint64_t n_bytes);

/* @n_bytes more of what @mem owns are touched now. */
void exec_charge(struct exec_mem *mem, uint64_t n_bytes);

/* Charges page (or state) @page of @mem, once. */
void exec_touch_page(struct exec_mem *mem, uint32_t page);

/* Bytes from the beginning of a state to layer @layer of it: its window, then its matrices. */
size_t exec_state_at(const struct exec_state_shape *shape, uint32_t layer);

#endif
