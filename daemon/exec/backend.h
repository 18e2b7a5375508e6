/*
 * Backend: the table behind exec.h
 *
 * For daemon/exec and backends in modules above it. A backend is one table of functions; exec.c has checked every
 * argument before it calls one. Mandatory functions come first.
 *
 * The structs below say what a memory is for and how large it is. Where its bytes are is the backend's own business
 * (exec_mem::private): nothing outside the backend may assume that the host can reach them.
 */
#ifndef SOTTO_EXEC_BACKEND_H
#define SOTTO_EXEC_BACKEND_H

#include "base/list.h"
#include "base/mem.h"
#include "exec/exec.h"
#include "kern/kern.h"
#include "tensor/type.h"

enum exec_mem_kind { EXEC_MEM_WEIGHT, EXEC_MEM_ROPE, EXEC_MEM_KV, EXEC_MEM_STATES, EXEC_MEM_SCRATCH };

/* [n_rows][row_bytes]; a row is a weight's row, a rotary position, a page or a state. Scratch memory is one row. */
struct exec_mem {
    struct list link; /* exec::mems */
    enum exec_mem_kind kind;
    uint32_t type;  /* weights, tables: enum elem_type as stored by the backend */
    bool in_panels; /* weights: tensor/panel.h */
    uint64_t n_cols;
    uint64_t n_rows;
    uint64_t row_bytes;
    uint64_t n_bytes;
    struct exec_kv_shape kv;       /* KV */
    struct exec_state_shape state; /* STATES */
    void *private;                 /* the backend's */
};

struct exec_slot {
    char name[16];
    uint32_t n_cols;
    uint32_t stride; /* floats from row to row */
    uint32_t n_rows; /* at most */
    enum exec_rows rows;
    uint64_t offset; /* bytes into the program's scratch memory */
    bool is_written; /* by an op recorded before; used while sealing */
};

struct exec_program {
    struct list link; /* exec::programs */
    struct exec *exec;
    uint32_t scratch; /* index of exec::scratches */
    uint32_t n_rows;  /* at most */
    uint32_t n_wanted;
    struct exec_slot *slots; /* owned */
    uint32_t n_slots;
    struct exec_op *ops; /* owned */
    uint32_t n_ops;
    uint32_t cap_ops;
    uint64_t scratch_bytes;
    uint64_t weight_bytes;
    uint32_t n_positions;    /* covered by the rope tables */
    uint32_t n_tokens;       /* rows of the embedding */
    struct exec_mem *kv;     /* the pool, or NULL */
    struct exec_mem *states; /* or NULL */
    bool is_sealed;
    struct diag trouble; /* the first failure of recording */
    int fault;           /* or this */

    /* the run */
    struct exec_batch batch;
    bool is_bound;
    uint32_t op;   /* cursor: the op, */
    uint32_t unit; /* and its first unit (the backend's: weight row, row, head of a row) that is not done */
    struct exec_figures figures;

    void *private; /* the backend's */
};

struct exec {
    const struct exec_ops *ops;
    struct list mems;
    struct list programs;
    struct exec_mem
        *scratches[EXEC_SCRATCHES]; /* activations, as large as the largest program of each needs; or NULL */
    void *private;                  /* the backend's */
};

struct exec_ops {
    const char *name;

    /* Sets exec->private. EXEC_REFUSED or a fault; close() is then not called. */
    int (*open)(struct exec *exec, const struct exec_setup *setup, struct diag *diag);

    /* Called after all programs and memories have been given back. */
    void (*close)(struct exec *exec);
    void (*facts)(const struct exec *exec, struct exec_facts *ret_facts);

    /* Returns true if weights of @type may be imported. The type is in elem_info()'s table. */
    bool (*may_import)(const struct exec *exec, uint32_t type);

    /* Makes weight @mem. Its fields describe @bytes, which stay readable until exec_close(). The backend may use them
     * in place, or repack them and change the fields. free() is called in any case. */
    int (*import)(struct exec *exec, struct exec_mem *mem, const void *bytes);

    /* Reserves mem->n_bytes zeroed bytes. free() is called in any case. */
    int (*alloc)(struct exec *exec, struct exec_mem *mem);
    void (*free)(struct exec *exec, struct exec_mem *mem);

    /* Copies @n bytes from the host into @mem, @at bytes behind its beginning. Nothing is queued. */
    int (*write)(struct exec *exec, struct exec_mem *mem, uint64_t at, const void *bytes, size_t n);

    /* Copies page @from of @kv to page @to. */
    int (*copy_page)(struct exec *exec, struct exec_mem *kv, uint32_t from, uint32_t to);

    /* Prepares for submitting; nothing is allocated later. May add to program->scratch_bytes, behind the slots. */
    int (*seal)(struct exec_program *program);

    /* Takes the new rows in program->batch. The scratch memory may be another one than at the last time. */
    void (*bind)(struct exec_program *program);

    /* Runs or queues the next parts from the cursor on, and moves it by exec_advance(). Sets figures.estimated_ns, and
     * figures.device_ns by the end of wait(): from the device's own timestamps, where others can use it as well. */
    int (*submit)(struct exec_program *program, uint32_t n_parts, uint32_t bound_us, uint64_t *ret_ticket);
    int (*wait)(struct exec *exec, uint64_t ticket, uint32_t timeout_ms);

    /* Makes the rows of @slot readable. The run has ended. */
    int (*fetch)(struct exec_program *program, uint32_t slot, struct exec_view *ret_view);

    /* Frees program->private. NULL: it is a mem block, or nothing. */
    void (*unseal)(struct exec_program *program);
};

/* ---- for backends ---- */

/* Returns the rows that @op goes over in this run, by its output. */
uint32_t exec_op_rows(const struct exec_program *program, const struct exec_op *op);

/* Moves the cursor behind a part that is done or queued: @n_units further, or, if it ends @n_ops (above 0) ops, behind
 * these. The device worked @device_ns for the part; 0: not known yet. */
void exec_advance(struct exec_program *program, uint32_t n_units, uint32_t n_ops, uint64_t device_ns);

/* Returns the kernels' name of a KV format, which is valid. */
enum kern_kv exec_kern_kv(enum exec_kv_format format);

/* Returns the bytes from the beginning of a state to layer @layer of it: its window, then its matrices. */
size_t exec_state_at(const struct exec_state_shape *shape, uint32_t layer);

/* ---- exec.c, for program.c ---- */

/* Makes the scratch memory of @scratch at least @n_bytes large. No run over it is live. */
int exec_grow_scratch(struct exec *exec, uint32_t scratch, uint64_t n_bytes);

#endif
