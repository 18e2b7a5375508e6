/*
 * Exec: the seam between a model and what computes it
 *
 * A family records a program once, at load: operations over rows, with named inputs and outputs. A step binds
 * rows to it (tokens, positions, pages) and submits it in pieces: a submission is a range of the program's parts,
 * and the cursor between two submissions is all that a suspended step is. So nobody can ask for one operation at a
 * time, and a backend is free to fuse, to pack and to queue.
 *
 * This file is the door: it checks what is asked, then calls the backend's table; backends trust. It alone hands
 * out memory: weights by exec_import() (a backend may repack them), pages of keys and values by exec_alloc_kv(),
 * states of sequences by exec_alloc_states(), activations by the program itself. What it gives out are handles;
 * nobody above sees an address.
 *
 * Bits: what comes out for a row depends on that row's tokens, never on the other rows, on how the program was cut
 * into submissions, or on the number of threads.
 *
 * One thread (the engine's control thread) calls everything here; workers live below.
 */
#ifndef SOTTO_EXEC_EXEC_H
#define SOTTO_EXEC_EXEC_H

#include "base/diag.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exec;         /* an open backend */
struct exec_mem;     /* a weight, a table, or a pool of pages */
struct exec_program; /* recorded operations, and one cursor through them */

struct exec_setup {
    const char *backend;     /* "cpu", "truth", "fake" (tests only) */
    const char *cpu_mask;    /* "": the best there is; "scalar", "avx2": at most that */
    const char *fake_script; /* "fake": path of what it plays; "" or NULL: its default rule alone */
    uint32_t n_threads;      /* 0: from affinity and quota */
};

enum exec_outcome {
    EXEC_OK,
    EXEC_PENDING, /* wait: the time passed first */
    EXEC_REFUSED, /* @diag says what cannot be had or what does not fit together */
};

/* EXEC_REFUSED for a backend, mask or script that is not known; or a fault. */
int exec_open(struct exec **ret_exec, const struct exec_setup *setup, struct diag *diag);
void exec_close(struct exec *exec); /* with all its programs and memory */
void exec_closep(struct exec **exec);

struct exec_facts {
    const char *backend;    /* "cpu" */
    const char *set;        /* "avx2"; "" where there are no kernels to choose */
    const char *arithmetic; /* how quantised weights meet activations: "q8a", "float" */
    uint32_t n_threads;
};

void exec_facts(const struct exec *exec, struct exec_facts *ret_facts);

/* ---- memory ---- */

/* [n_rows][n_cols], rows of whole blocks, fastest last as in memory. */
struct exec_tensor {
    const char *name; /* for messages */
    uint32_t type;    /* enum elem_type */
    uint64_t n_cols;
    uint64_t n_rows;
    const void *bytes; /* readable until exec_close(); used in place where the backend can */
};

/* True if the backend can multiply by weights of @type. */
bool exec_may_import(const struct exec *exec, uint32_t type);

/* EXEC_REFUSED for a type without kernels (named in @diag). */
int exec_import(struct exec *exec, const struct exec_tensor *tensor, struct exec_mem **ret_mem, struct diag *diag);

/* Rotary positions 0 .. n_positions - 1 as EXEC_ROPE wants them; the same bits on every machine. */
struct exec_rope {
    uint32_t n_positions;
    uint32_t n_rot;         /* even: elements of a head that turn */
    double base;            /* of the frequencies: pair i turns by position * base^(-2i / n_rot) / divisors[i] */
    double scale;           /* of positions; 1: none */
    double magnitude;       /* of sine and cosine; 1: none */
    const double *divisors; /* [n_rot / 2]; NULL: none. Read now. */
};

int exec_make_rope(struct exec *exec, const struct exec_rope *rope, struct exec_mem **ret_mem);

/* How keys and values are kept. */
enum exec_kv_format {
    EXEC_KV_NONE, /* not set: refused */
    EXEC_KV_F16,
    EXEC_KV_F32,
    EXEC_KV_Q8, /* 8 bits and a scale for each position and head */
    EXEC_KV_Q4, /* 4 bits, a scale and a min; head_dim is even */
    EXEC_KV_FORMAT_COUNT,
};

/* Pages of keys and values for all layers. The backend chooses how they lie; a page costs memory once it is used. */
struct exec_kv_shape {
    uint32_t n_layers;
    uint32_t n_kv_heads;
    uint32_t head_dim;
    uint32_t n_pages;
    enum exec_kv_format format;
};

#define EXEC_PAGE_TOK 16  /* positions of a page: a step of the one-pass softmax, so it decides bits */
#define EXEC_HEAD_MAX 512 /* largest head_dim */

/* Bytes of one page, keys and values of all layers; 0: the format is none of those, it does not suit the
 * heads, or the size wraps. */
uint64_t exec_kv_page_bytes(const struct exec_kv_shape *shape);
int exec_alloc_kv(struct exec *exec, const struct exec_kv_shape *shape, struct exec_mem **ret_mem, struct diag *diag);

/* Page @to begins as page @from does. Both are of @kv, and nothing is queued that writes to either. */
int exec_copy_page(struct exec *exec, struct exec_mem *kv, uint32_t from, uint32_t to);

/*
 * States: what layers without keys keep of a sequence, of one size however long it is. Each of the n_states has for
 * each layer a window of the last rows that a convolution read and the matrices of its heads. A row at position 0
 * finds zeros, whatever was there; every other one what the row before it left. A state can't go back.
 */
struct exec_state_shape {
    uint32_t n_layers; /* that keep something */
    uint32_t n_states;
    uint32_t n_window; /* floats of a layer */
    uint32_t n_matrix; /* floats of a layer */
};

#define EXEC_TAPS_MAX 16 /* of a convolution */

/* Bytes of one state; 0: the size wraps. */
uint64_t exec_state_bytes(const struct exec_state_shape *shape);
int exec_alloc_states(struct exec *exec, const struct exec_state_shape *shape, struct exec_mem **ret_mem,
                      struct diag *diag);

/* ---- programs ---- */

enum exec_rows {
    EXEC_ROWS_ALL,    /* a row for each of the step's rows */
    EXEC_ROWS_WANTED, /* a row for each one whose logits are wanted */
};

enum exec_op_kind {
    EXEC_EMBED,  /* out = the weight's row of the row's token, as floats */
    EXEC_NORM,   /* out = in / sqrt(mean(in^2) + eps) * weight, each n_cols of the weight by themselves (RMSNorm) */
    EXEC_MATMUL, /* out = weight in (+ bias): weight [n_out][n_in], in [rows][n_in], out [rows][n_out] */
    EXEC_ROPE,   /* the heads of in are turned in place by the row's position: out is in */
    EXEC_STORE,  /* in (keys) and in2 (values) of the row go to its place in the pages of `layer` */
    EXEC_ATTEND, /* out = softmax(capped(scale q K^T)) V over what the row sees of its sequence; in: queries */
    EXEC_GLU,    /* out = gate(in) * in2 */
    EXEC_ADD,    /* out = in + in2 */
    EXEC_SCALE,  /* out = in * scale */
    EXEC_CAP,    /* out = cap * tanh(in / cap) */
    EXEC_UNZIP,  /* out = every n-th run of head_dim columns of in, from run `part` on; n: how much wider in is */
    EXEC_CONV,   /* out = silu(each column of in, convolved with those of the rows before it): weight [n_cols][taps] */
    EXEC_DELTA,  /* out = what the value heads read from their matrices, once the row has changed them */
    EXEC_GATHER, /* out (wanted rows) = those rows of in (all rows) */
    EXEC_OP_COUNT,
};

/* Which elements of a head turn together, of its first n_rot (that of the table). */
enum exec_pairs {
    EXEC_PAIRS_ADJACENT, /* (0, 1), (2, 3), ... */
    EXEC_PAIRS_HALVES,   /* (0, n_rot / 2), (1, n_rot / 2 + 1), ... */
};

enum exec_gate {
    EXEC_GATE_SILU,    /* x / (1 + e^-x) */
    EXEC_GATE_SIGMOID, /* 1 / (1 + e^-x) */
    EXEC_GATE_GELU,    /* by tanh: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) */
};

#define EXEC_NO_SLOT UINT32_MAX /* what exec_slot() gives when it can't; exec_seal() then refuses */

struct exec_op {
    enum exec_op_kind kind;
    uint8_t phase;                 /* the recorder's own tag, given back by exec_phase() */
    uint32_t in;                   /* slots */
    uint32_t in2;                  /* STORE, GLU, ADD; DELTA: what makes a head forget, a column a value head */
    uint32_t in3;                  /* DELTA: how much a head learns, likewise */
    uint32_t out;                  /* not with STORE */
    uint32_t layer;                /* STORE, ATTEND: of the pages; CONV, DELTA: of the states */
    const struct exec_mem *weight; /* EMBED, NORM (F32), MATMUL, CONV (F32); DELTA: rates, F32, one row */
    const struct exec_mem *bias;   /* F32, one row: MATMUL, or NULL; DELTA: of in2 */
    const struct exec_mem *table;  /* ROPE: of exec_make_rope() */
    struct exec_mem *kv;           /* STORE, ATTEND; one pool for all of a program */
    struct exec_mem *states;       /* CONV, DELTA; one for all of a program */
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

#define EXEC_SCRATCHES 2 /* a run may stand still while another goes on */

/*
 * Begins a program for at most @n_rows rows, of which at most @n_wanted are wanted. All programs of one @scratch
 * share its memory: of them only one run is live at a time. Runs of different ones do not see each other, if no
 * sequence's rows are in both.
 */
int exec_program_create(struct exec *exec, uint32_t scratch, uint32_t n_rows, uint32_t n_wanted,
                        struct exec_program **ret_program);

/* A named place for rows of @n_cols floats. A failure is kept for exec_seal(). */
uint32_t exec_slot(struct exec_program *program, const char *name, uint32_t n_cols, enum exec_rows rows);

/* The slot of that name; EXEC_NO_SLOT: there is none. */
uint32_t exec_find_slot(const struct exec_program *program, const char *name);

/* Appends a copy of @op. A failure is kept for exec_seal(). */
void exec_record(struct exec_program *program, const struct exec_op *op);

/*
 * Ends the recording: shapes, types and the order of writes and reads are checked, scratch is sized and the backend
 * prepares. EXEC_REFUSED with the first op that does not fit, by number and name. Nothing is allocated after it.
 */
int exec_seal(struct exec_program *program, struct diag *diag);

uint32_t exec_n_ops(const struct exec_program *program);

/* ---- runs ---- */

/* What a step gives a program. All arrays belong to the caller and stay as they are until the run has ended. */
struct exec_batch {
    uint32_t n_rows;
    const uint32_t *tokens;       /* [n_rows] */
    const uint32_t *positions;    /* [n_rows] in the row's sequence */
    const uint32_t *const *pages; /* [n_rows] the pages of the row's sequence, in order of position */
    const uint32_t *states;       /* [n_rows] the state of the row's sequence, whose rows stand together and in order;
                                   * NULL where the program has no states */
    uint32_t n_wanted;
    const uint32_t *wanted; /* [n_wanted] rows, ascending */
};

/*
 * Puts @batch before @program and the cursor at its beginning; a run that had not ended is dropped. Tokens,
 * positions, pages and states are checked against the program's tables here: -EINVAL for what lies outside.
 */
int exec_bind(struct exec_program *program, const struct exec_batch *batch);

/* False once the cursor is behind the last part. A bound program that has run no part is not begun. */
bool exec_is_left(const struct exec_program *program);
bool exec_is_begun(const struct exec_program *program);

/* Phase tag of the op under the cursor. Only while parts are left. */
uint8_t exec_phase(const struct exec_program *program);

/* Queues the next @n_parts parts: fewer at the end of a phase, and only so many as are foretold to take @bound_us (0:
 * what the backend finds good, below 20 ms) together. How fast parts are is measured as they run, so what took too
 * long is cut finer the next time: no bit depends on that. At least a unit is done. One submission at a time. */
int exec_submit(struct exec_program *program, uint32_t n_parts, uint32_t bound_us, uint64_t *ret_ticket);

/* EXEC_OK: done. EXEC_PENDING: @timeout_ms passed first. A fault: the device is lost. */
int exec_wait(struct exec *exec, uint64_t ticket, uint32_t timeout_ms);

/* Copies @n floats of row @row of @slot. Only with nothing queued; costs a transfer where memory is not shared. */
int exec_read(struct exec_program *program, uint32_t slot, uint32_t row, float *out, uint32_t n);

struct exec_figures {
    uint64_t n_parts;      /* run since exec_bind() */
    uint64_t estimated_ns; /* of the last submission, from how fast such parts were before; 0: nobody knows */
    uint64_t weight_bytes; /* of weights that matrix products read, each time they did, since exec_bind() */
};

void exec_figures(const struct exec_program *program, struct exec_figures *ret_figures);

/* Bytes of the weights of all matrix products of the program, each op once. */
uint64_t exec_weight_bytes(const struct exec_program *program);

#endif
