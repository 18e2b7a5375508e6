/*
 * Exec: the seam between a model and what computes it
 *
 * A family records a program once, at load: operations over rows, with named inputs and outputs. A step binds its rows
 * (tokens, positions, pages) to the program and submits it in pieces. A submission is a range of the program's parts,
 * and the cursor between two submissions is all that a suspended step consists of. No caller can ask for a single
 * operation, so a backend is free to fuse, to repack and to queue.
 *
 * Backends are handed in by the caller of exec_open(); this module names none. The functions below check their
 * arguments and then call the backend's table (backend.h), which trusts them. All memory comes from here: weights by
 * exec_import() (a backend may repack them), pages of keys and values by exec_alloc_kv(), states of sequences by
 * exec_alloc_states(), activations from the program itself. Callers hold handles and never see an address; results
 * become readable by exec_fetch(), one call for all rows of a step.
 *
 * The bits of a row depend on that row's tokens alone: never on the other rows, on how the program was cut into
 * submissions, or on the number of threads.
 *
 * The engine's control thread calls everything here. A backend's workers and queues lie below.
 */
#ifndef SOTTO_EXEC_EXEC_H
#define SOTTO_EXEC_EXEC_H

#include "base/diag.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exec;         /* an open backend */
struct exec_mem;     /* a weight, a table, or a pool of pages or states */
struct exec_ops;     /* a backend: backend.h */
struct exec_program; /* recorded operations, and one cursor through them */

extern const struct exec_ops exec_cpu;
extern const struct exec_ops exec_truth;
#ifdef SOTTO_TESTS
extern const struct exec_ops exec_fake;
#endif

struct exec_setup {
    const struct exec_ops *const *backends; /* the choice; NULL ends it */
    const char *backend;                    /* name of one of them: "cpu", "truth", "fake" (tests only) */
    const char *cpu_mask;                   /* best kernel set allowed (CPU_SETS); "": any */
    const char *fake_script;                /* "fake": path of its script; "" or NULL: its default rule alone */
    uint32_t n_threads;                     /* 0: from affinity and quota */
};

enum exec_outcome {
    EXEC_OK,
    EXEC_PENDING, /* exec_wait(): the time passed first */
    EXEC_REFUSED, /* @diag says what cannot be had or what does not fit together */
};

/* Opens the backend that @setup names. EXEC_REFUSED for an unknown backend, mask or script; or a fault. */
int exec_open(struct exec **ret_exec, const struct exec_setup *setup, struct diag *diag);

/* Closes the backend and frees all its programs and memory. NULL is fine. */
void exec_close(struct exec *exec);
void exec_closep(struct exec **exec);

struct exec_facts {
    const char *backend;    /* "cpu" */
    const char *set;        /* "avx2"; "" where there are no kernels to choose */
    const char *arithmetic; /* how quantised weights meet activations: "q8a", "float" */
    const char *threads;    /* a sentence for people: how many, on which cores, and why. NULL where there are none */
};

void exec_facts(const struct exec *exec, struct exec_facts *ret_facts);

/* ---- memory ---- */

/* [n_rows][n_cols], rows of whole blocks, fastest last as in memory. */
struct exec_tensor {
    const char *name; /* for messages */
    uint32_t type;    /* enum elem_type */
    bool in_panels;   /* the rows are in panels (tensor/panel.h), and a multiple of ELEM_PANEL_ROWS */
    uint64_t n_cols;
    uint64_t n_rows;
    const void *bytes; /* readable until exec_close(); used in place where the backend can */
};

/* Returns true if the backend can multiply by weights of @type. */
bool exec_may_import(const struct exec *exec, uint32_t type);

/* Makes a weight of @tensor. EXEC_REFUSED for a type without kernels or an impossible shape, named in @diag. */
int exec_import(struct exec *exec, const struct exec_tensor *tensor, struct exec_mem **ret_mem, struct diag *diag);

/* Shape of a rotary table. Pair i of a head turns by position * scale * base^(-2i / n_rot) / divisors[i]. */
struct exec_rope {
    uint32_t n_positions;
    uint32_t n_rot; /* rotated elements of a head; even */
    double base;
    double scale;           /* 1: positions as they are */
    double magnitude;       /* factor of sine and cosine; 1: none */
    const double *divisors; /* [n_rot / 2], read during the call; NULL: none */
};

/* Makes the table for positions 0 .. n_positions - 1; its bits are the same on every machine. 0 or a fault. */
int exec_make_rope(struct exec *exec, const struct exec_rope *rope, struct exec_mem **ret_mem);

/* How keys and values are stored. */
enum exec_kv_format {
    EXEC_KV_NONE, /* not set; refused */
    EXEC_KV_F16,
    EXEC_KV_F32,
    EXEC_KV_Q8, /* 8 bits and a scale for each position and head */
    EXEC_KV_Q4, /* 4 bits, a scale and a min; head_dim is even */
    EXEC_KV_FORMAT_COUNT,
};

/* A pool of pages of keys and values for all layers. The backend chooses the layout of a page; on the CPU a page costs
 * memory once it is used. */
struct exec_kv_shape {
    uint32_t n_layers;
    uint32_t n_kv_heads;
    uint32_t head_dim;
    uint32_t n_pages;
    enum exec_kv_format format;
};

#define EXEC_PAGE_TOK 16  /* positions of a page; it decides bits, since it is a step of the one-pass softmax */
#define EXEC_HEAD_MAX 512 /* largest head_dim */

/* Returns the bytes of one page (keys and values of all layers), or 0 if the format is unknown, does not suit the
 * heads, or the size wraps. */
uint64_t exec_kv_page_bytes(const struct exec_kv_shape *shape);

/* Makes a zeroed pool. EXEC_REFUSED for an impossible shape. */
int exec_alloc_kv(struct exec *exec, const struct exec_kv_shape *shape, struct exec_mem **ret_mem, struct diag *diag);

/* Copies page @from to page @to of pool @kv. Nothing that writes to either may be queued. */
int exec_copy_page(struct exec *exec, struct exec_mem *kv, uint32_t from, uint32_t to);

/*
 * Shape of a pool of states. A state is what recurrent layers remember of a sequence; its size does not depend on the
 * sequence's length. It has for each layer a window (the last rows that the convolution read) and the matrices of the
 * heads. A row at position 0 finds zeros, whatever was there; every other row finds what the row before it left. A
 * state cannot be rolled back.
 */
struct exec_state_shape {
    uint32_t n_layers; /* recurrent ones */
    uint32_t n_states;
    uint32_t n_window; /* floats of a layer */
    uint32_t n_matrix; /* floats of a layer */
};

#define EXEC_TAPS_MAX 16 /* of a convolution */

/* Makes a pool of states. EXEC_REFUSED for an impossible shape. */
int exec_alloc_states(struct exec *exec, const struct exec_state_shape *shape, struct exec_mem **ret_mem,
                      struct diag *diag);

/* ---- programs ---- */

enum exec_rows {
    EXEC_ROWS_ALL,    /* one for each of the step's rows */
    EXEC_ROWS_WANTED, /* one for each wanted row: logits of these rows are used */
};

enum exec_op_kind {
    EXEC_EMBED,  /* out = the weight's row of the row's token, as floats */
    EXEC_NORM,   /* out = in / sqrt(mean(in^2) + eps) * weight, for each run of the weight's n_cols (RMSNorm) */
    EXEC_MATMUL, /* out = weight in (+ bias): weight [n_out][n_in], in [rows][n_in], out [rows][n_out] */
    EXEC_ROPE,   /* rotates the heads of in, in place, by the row's position: out is in */
    EXEC_STORE,  /* stores in (keys) and in2 (values) of the row in the pages of `layer` */
    EXEC_ATTEND, /* out = softmax(capped(scale q K^T)) V over the positions that the row sees; in: queries */
    EXEC_GLU,    /* out = gate(in) * in2 */
    EXEC_ADD,    /* out = in + in2 */
    EXEC_SCALE,  /* out = in * scale */
    EXEC_CAP,    /* out = cap * tanh(in / cap) */
    EXEC_UNZIP,  /* out = every n-th run of head_dim columns of in, from run `part` on; n = width of in / of out */
    EXEC_CONV,   /* out = silu(each column of in, convolved with those of the rows before it): weight [n_cols][taps] */
    EXEC_DELTA,  /* out = what the value heads read from their matrices after the row has updated them */
    EXEC_GATHER, /* out (wanted rows) = those rows of in (all rows) */
    EXEC_OP_COUNT,
};

/* Pairs of elements that rotate together, among the first n_rot (the table's) of a head. */
enum exec_pairs {
    EXEC_PAIRS_ADJACENT, /* (0, 1), (2, 3), ... */
    EXEC_PAIRS_HALVES,   /* (0, n_rot / 2), (1, n_rot / 2 + 1), ... */
};

enum exec_gate {
    EXEC_GATE_SILU,    /* x / (1 + e^-x) */
    EXEC_GATE_SIGMOID, /* 1 / (1 + e^-x) */
    EXEC_GATE_GELU,    /* by tanh: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) */
};

#define EXEC_NO_SLOT UINT32_MAX /* exec_slot() failed; exec_seal() then refuses the program */

struct exec_op {
    enum exec_op_kind kind;
    uint8_t phase;                 /* the recorder's own tag, below EXEC_PHASES, by which time is told */
    uint32_t in;                   /* slots */
    uint32_t in2;                  /* STORE, GLU, ADD; DELTA: decay inputs, one column a value head */
    uint32_t in3;                  /* DELTA: learning rates, one column a value head */
    uint32_t out;                  /* all but STORE */
    uint32_t layer;                /* STORE, ATTEND: of the pages; CONV, DELTA: of the states */
    const struct exec_mem *weight; /* EMBED, NORM (F32), MATMUL, CONV (F32); DELTA: rates, F32, one row */
    const struct exec_mem *bias;   /* F32, one row: MATMUL, or NULL; DELTA: added to in2 */
    const struct exec_mem *table;  /* ROPE: by exec_make_rope() */
    struct exec_mem *kv;           /* STORE, ATTEND; one pool for all of a program */
    struct exec_mem *states;       /* CONV, DELTA; one pool for all of a program */
    uint32_t n_heads;              /* ROPE, ATTEND: of queries (ROPE: of `out`); DELTA: of values */
    uint32_t n_kv_heads;           /* STORE, ATTEND; DELTA: of queries and keys; divides n_heads */
    uint32_t head_dim;             /* ROPE, STORE, ATTEND, UNZIP; DELTA: of queries and keys */
    uint32_t part;                 /* UNZIP */
    enum exec_pairs pairs;         /* ROPE */
    float eps;                     /* NORM, DELTA */
    float scale;                   /* ATTEND, SCALE; DELTA: of queries */
    float cap;                     /* CAP; ATTEND: of scores, cap * tanh(score / cap); 0: none */
    uint32_t window;               /* ATTEND: positions that a row sees, its own included; 0: all up to it */
    enum exec_gate gate;           /* GLU */
};

#define EXEC_PHASES 8

#define EXEC_SCRATCHES 2 /* a run may be suspended while another one goes on */

/*
 * Begins a program for at most @n_rows rows, of which at most @n_wanted are wanted. All programs of one @scratch share
 * its memory, so only one run among them is live at a time. Runs over different scratches do not affect each other if
 * no sequence has rows in both. 0 or a fault.
 */
int exec_program_create(struct exec *exec, uint32_t scratch, uint32_t n_rows, uint32_t n_wanted,
                        struct exec_program **ret_program);

/* Adds a named slot for rows of @n_cols floats and returns its number. A failure is reported by exec_seal(). */
uint32_t exec_slot(struct exec_program *program, const char *name, uint32_t n_cols, enum exec_rows rows);

/* Returns the slot of that name, or EXEC_NO_SLOT. */
uint32_t exec_find_slot(const struct exec_program *program, const char *name);

/* Appends a copy of @op. A failure is reported by exec_seal(). */
void exec_record(struct exec_program *program, const struct exec_op *op);

/*
 * Ends the recording: checks shapes, types and the order of writes and reads, sizes the scratch memory and lets the
 * backend prepare. EXEC_REFUSED names the first op that does not fit, by number and kind. Nothing is allocated later.
 */
int exec_seal(struct exec_program *program, struct diag *diag);

/* ---- runs ---- */

/* Rows of one step. All arrays belong to the caller and must not change until the run has ended. */
struct exec_batch {
    uint32_t n_rows;
    const uint32_t *tokens;       /* [n_rows] */
    const uint32_t *positions;    /* [n_rows] in the row's sequence */
    const uint32_t *const *pages; /* [n_rows] the pages of the row's sequence, in order of position */
    const uint32_t *states;       /* [n_rows] the state of the row's sequence; rows of a sequence are adjacent and in
                                   * order. NULL where the program has no states. */
    uint32_t n_wanted;
    const uint32_t *wanted; /* [n_wanted] rows, ascending */
};

/*
 * Binds @batch to @program and sets the cursor to the beginning; an unfinished run is dropped. -EINVAL if a token, a
 * position, a page or a state lies outside the program's tables.
 */
int exec_bind(struct exec_program *program, const struct exec_batch *batch);

/* Returns false once the cursor has passed the last part. */
bool exec_is_left(const struct exec_program *program);

/*
 * Queues the next @n_parts parts or fewer, at least one unit of work, and no more than are estimated to take @bound_us
 * together (0: as many as the backend finds good, below 20 ms). The speed of parts is measured as they run, so parts
 * that took too long are cut finer the next time; no bit depends on it. Only one submission may be outstanding.
 */
int exec_submit(struct exec_program *program, uint32_t n_parts, uint32_t bound_us, uint64_t *ret_ticket);

/* Waits for a submission. EXEC_OK: it is done. EXEC_PENDING: @timeout_ms passed first. A fault: the device is lost. */
int exec_wait(struct exec *exec, uint64_t ticket, uint32_t timeout_ms);

/* The rows of a slot in host memory. */
struct exec_view {
    const float *floats; /* of row 0 */
    size_t stride;       /* floats from one row to the next */
};

static inline const float *exec_view_row(const struct exec_view *view, uint32_t row)
{
    return view->floats + row * view->stride;
}

/*
 * Makes all rows that @slot has in this run readable: by one transfer, or by none where the backend computes in host
 * memory. The view lives until the program is bound again. -EINVAL if the run has not ended.
 */
int exec_fetch(struct exec_program *program, uint32_t slot, struct exec_view *ret_view);

struct exec_figures {
    uint64_t n_parts;      /* run since exec_bind() */
    uint64_t estimated_ns; /* of the last submission, by the measured speed of such parts; 0: unknown */
    uint64_t device_ns; /* that the device worked for the last submission; it may have waited longer for the device */
    uint64_t
        phase_ns[EXEC_PHASES]; /* that the device worked since exec_bind(), by the tag of the op that began a part */
    uint64_t weight_bytes;     /* read by matrix products since exec_bind(), each time they were read */
};

/* Reads the figures. What a submission took is known once it was waited for. */
void exec_figures(const struct exec_program *program, struct exec_figures *ret_figures);

/* Returns the bytes of the weights of all matrix products of the program, each op once. */
uint64_t exec_weight_bytes(const struct exec_program *program);

#endif
