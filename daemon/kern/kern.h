/*
 * Kern: the arithmetic of a step on the CPU, defined once, then made fast
 *
 * A table of kernels (struct kern_ops), filled from the plainest set up: `scalar` is the definition and stays for ever,
 * the other sets (`avx2`, `neon`, ...) are faster and give the same bits. Tests compare with memcmp. The bits depend
 * neither on the set, nor on how many rows are computed at once, nor on how a range is split over threads.
 *
 * THE ARITHMETIC. All floats are IEEE binary32, round to nearest even, denormals kept. fma(a, b, c) rounds once.
 * Nothing is fused, reordered or approximated except as written here. Where a result is a NaN, its sign and payload are
 * not defined.
 *
 * 1. Sum of 16. A float dot product of n elements is 16 running sums that start at 0: lane i takes the elements i,
 *    i + 16, i + 32, ... in this order, each by sum = fma(a, b, sum); the last n mod 16 elements go to the lanes 0 up.
 *    Then a tree: lane i += lane i + 8 (i < 8), += lane i + 4 (i < 4), += lane i + 2 (i < 2), lane 0 += lane 1.
 *    Sums of squares are the dot product of a row with itself; plain sums add instead of multiplying.
 *
 * 2. Weights F32, F16, BF16: the weight as float (exact), the activation as it is, the sum of 16.
 *
 * 3. Weights in blocks. The activations of a row are rounded to 8 bits first, by blocks of the format (32, or 256 for
 *    the K formats), each block by itself:
 *        top = largest |x|;   d = top / 127;   inv = 127 / top;   q = x * inv, rounded to the nearest even integer
 *    A block with a top below KERN_ACT_TINY has d = 0 and every q = 0. A block that holds an infinity or a NaN
 *    has d = NaN and every q = 0, so that the damage stays visible. Block b then adds to the row's one accumulator,
 *    which starts at 0, for b = 0, 1, ... in this order. The sums over the block are exact integers; float() rounds
 *    an integer to the nearest even float; * on floats rounds. h is a half-precision number of the block as float:
 *        Q8_0         acc = fma(h.d * d, float(sum w q), acc)
 *        Q4_0, Q5_0   acc = fma(h.d * d, float(sum (w - 8) q), acc);  Q5_0: w - 16
 *        IQ4_NL       acc = fma(h.d * d, float(sum value[w] q), acc)
 *        Q4_1, Q5_1   acc = fma(h.d * d, float(sum w q), acc);  acc = fma(h.m, s, acc),  s = d * float(sum q)
 *        Q4_K, Q5_K   acc = fma(h.d * d, float(sum over j of scale_j * sum w q), acc)
 *                     acc = fma(-(h.dmin * d), float(sum over j of min_j * sum q), acc)     j: 8 runs of 32
 *        Q2_K         as Q4_K                                                             j: 16 runs of 16
 *        Q3_K         acc = fma(h.d * d, float(sum over j of (scale_j - 32) * sum (w - 4) q), acc)   j: 16 runs of 16
 *        Q6_K         acc = fma(h.d * d, float(sum over j of scale_j * sum (w - 32) q), acc)         j: 16 runs of 16
 *        IQ4_XS       acc = fma(h.d * d, float(sum over j of (scale_j - 32) * sum value[w] q), acc)  j: 8 runs of 32
 *
 * 4. exp, log and tanh are defined in tensor/real.h. silu(x) = x / (1 + exp(-x)). A soft limit:
 *    capped(x) = tanh(x / cap) * cap. The GELU that is written with tanh is the same function without it:
 *    gelu(x) = x / (1 + exp(-(x * fma(x * x, KERN_GELU_CUBE, KERN_GELU_LINE)))).
 *
 * 5. Attention of one (row, head): positions in ascending order, by pages of KERN_PAGE_TOK, one pass. Scores are
 *    score = dot(q, k) * scale, the dot a sum of 16 over the head; with a cap, capped(that). Before a
 *    page's positions are used,
 *        m' = max(m, its scores);  c = exp(m - m');  out = out * c;  each of 16 lanes of l = l * c
 *    then for each position, in order: p = exp(score - m'); l of lane (position mod 16) += p; out = fma(p, v, out).
 *    At the end out = out * (1 / l), l joined by the tree of 1. m starts at -infinity (so the
 *    first c is 0); a NaN never becomes m. K and V are read as stored, also within the step's own chunk. Pages begin
 *    at multiples of 16 of the position in the sequence, so the split never depends on how the rows came.
 *
 * 6. K and V are stored by position and kv head, its head_dim elements x together; half() rounds a float to the nearest
 *    half, to even; the value of a half is used as a float.
 *        F32  as they are            F16  half(x)
 *        Q8   y = hadamard(x);   d = half(top / 127), top = largest |y|;   q = y * (1 / d), rounded to the nearest even
 *             integer, then cut to -127 .. 127; d not above 0: every q = 0.   Read: d * float(q)
 *        Q4   y = hadamard(x);   m = half(lo + 0), lo = smallest y;  d = half((hi + 0 - m) * (1 / 15)), hi = largest y;
 *             q = (y - m) * (1 / d), rounded as in Q8, cut to 0 .. 15; d not above 0: every q = 0.
 *             Read: fma(d, float(q), m)
 *    hadamard() is the Walsh-Hadamard transform. It spreads an element that stands out over the whole head, so that it
 *    does not cost the others their bits (QuaRot, arXiv 2404.00456): with w the largest power of two that divides
 *    head_dim, for h = 1, 2, 4 .. w / 2 each (a, b) that are h apart in a run of 2h becomes (a + b, a - b). Q8 and Q4
 *    store transformed heads, so attention takes hadamard(q) and scale * (1 / w), and at its end
 *    out = hadamard(out) * ((1 / l) * (1 / w)).
 *    Where a y is an infinity or a NaN, or d or m is an infinity: d = NaN, m = 0, every q = 0.
 *
 * 7. Causal convolution of channel c: with taps w[0 .. n - 1] and x the n inputs up to the row's own, the oldest first
 *    (0 before the sequence), acc starts at 0, acc = fma(w[j], x[j], acc) for j = 0, 1, ...; out = silu(acc).
 *
 * 8. The gated delta rule of one value head; S is its matrix [n_k][n_v], 0 before the sequence. dot() is a sum of 16.
 *        decay = exp(rate * softplus(a + bias));   beta = 1 / (1 + exp(-b))
 *        q' = q * (scale / sqrt(dot(q, q) + eps));   k' = k * (1 / sqrt(dot(k, k) + eps))
 *        S[i][j] = S[i][j] * decay;   r[j] = fma(S[i][j], k'[i], r[j]) for i = 0, 1, ..., r[j] starts at 0
 *        d[j] = (v[j] - r[j]) * beta
 *        S[i][j] = fma(k'[i], d[j], S[i][j]);   out[j] = fma(S[i][j], q'[i], out[j]), as r[j]
 *    softplus(x) is x above 0, else 0, plus l: with e = exp(-|x|) and u = 1 + e, l is e where u is 1, else
 *    log(u) * (e / (u - 1)), which is log(1 + e) with the bits that u lost.
 *
 * Everything here trusts its arguments (the backend's entry points check them), allocates nothing and may be called
 * from any thread; ranges of one operation may run at the same time, since they write to disjoint memory.
 */
#ifndef SOTTO_KERN_KERN_H
#define SOTTO_KERN_KERN_H

#include "kern/cpu.h"
#include "tensor/panel.h"
#include <stdbool.h>

#define KERN_PAGE_TOK  16             /* positions of a KV page, and of a step of the one-pass softmax */
#define KERN_ROW_GRAIN 16             /* split weight rows at multiples of this: panels stay whole (speed, not bits) */
#define KERN_HEAD_MAX  512            /* largest head_dim; a multiple of 2 */
#define KERN_TAPS_MAX  16             /* most taps of a convolution */
#define KERN_GELU_LINE 0x1.988454p+0f /* 2 sqrt(2 / pi) */
#define KERN_GELU_CUBE 0x1.2444f2p-4f /* 0.044715 of it */
#define KERN_ACT_TINY  0x1p-100f      /* below this 127 / top nears the end of the range of a float */
#define KERN_ACT_ALIGN 64             /* alignment of the base and the stride of activation rows */

/* Form of a row of activations in a matrix product. */
enum kern_act {
    KERN_ACT_F32,  /* unchanged */
    KERN_ACT_Q32,  /* 8 bits in blocks of 32 */
    KERN_ACT_Q256, /* 8 bits in blocks of 256 */
    KERN_ACT_COUNT,
};

/* Returns the form that weights of @type (one that computes) need. */
enum kern_act kern_act_of(uint32_t type);

/* Returns the stride in bytes of a row of @n_cols (whole blocks) in form @act: a multiple of KERN_ACT_ALIGN. */
size_t kern_act_bytes(enum kern_act act, uint32_t n_cols);

/*
 * A row in 8 bits is laid out as: int8_t q[n_cols]; float d[n_blocks]; then for Q32: float s[n_blocks]; int32_t
 * sum[n_blocks]; for Q256: int16_t sum[n_cols / 16] over each 16. kern_act_at() returns the pieces.
 */
struct kern_act_row {
    const int8_t *q;
    const float *d;
    const float *s;       /* Q32: d * float(sum) */
    const int32_t *sum;   /* Q32: of each block */
    const int16_t *sum16; /* Q256: of each 16 columns */
};

static inline struct kern_act_row kern_act_at(enum kern_act act, uint32_t n_cols, const void *row)
{
    struct kern_act_row pieces = { .q = row };
    const char *d = (const char *)row + n_cols; /* a multiple of 32: aligned for floats */

    pieces.d = (const float *)(const void *)d;
    if (act == KERN_ACT_Q32) {
        pieces.s = pieces.d + n_cols / BLOCK_SMALL;
        pieces.sum = (const int32_t *)(const void *)(pieces.s + n_cols / BLOCK_SMALL);
    } else {
        pieces.sum16 = (const int16_t *)(const void *)(pieces.d + n_cols / BLOCK_SUPER);
    }
    return pieces;
}

/* A matrix of weights, as in the file. */
struct kern_weights {
    uint32_t type;     /* one that computes */
    uint32_t n_cols;   /* elements of a row; whole blocks */
    const void *bytes; /* [n_weight_rows][n_cols]; no alignment needed */
    size_t row_bytes;  /* stride of a row */
    bool in_panels;    /* the weights are panels (panel.h), a whole number; panel p begins where row 16 p would */
};

/* out[r][w] = weight row w . activation row r, for all r and the weight rows of the range. */
struct kern_matmul {
    struct kern_weights weights;
    const void *acts; /* [n_rows][n_cols] in form kern_act_of(type); Q32, Q256: aligned to KERN_ACT_ALIGN */
    size_t act_bytes; /* stride of an activation row */
    uint32_t n_rows;
    float *out;        /* [n_rows][out_stride], weight row w in column w */
    size_t out_stride; /* floats */
};

/* The elements that are rotated as a pair. */
enum kern_rope_order {
    KERN_ROPE_ADJACENT, /* (0, 1), (2, 3), ...: family llama as stored in GGUF */
    KERN_ROPE_HALVES,   /* (0, n/2), (1, n/2 + 1), ...: "neox": qwen2, qwen3, gemma, phi3 */
};

/* Rotates the first n_rot elements of each head in place (RoPE, arXiv 2104.09864): (a, b) becomes
 * (fma(a, cos, -(b * sin)), fma(a, sin, b * cos)). */
struct kern_rope {
    enum kern_rope_order order;
    uint32_t n_heads;
    uint32_t head_dim;
    uint32_t n_rot;      /* even, at most head_dim; the rest of a head does not change */
    const float *table;  /* [position][n_rot / 2][cos, sin]: rope.h */
    const uint32_t *pos; /* [n_rows] */
    float *x;            /* [n_rows][stride], heads one after the other */
    size_t stride;       /* floats */
};

/* Format of stored K and V (THE ARITHMETIC, 6). */
enum kern_kv {
    KERN_KV_F16, /* rounded to nearest even; beyond the range of a half: infinity */
    KERN_KV_F32, /* unchanged */
    KERN_KV_Q8,  /* 8 bits and a scale for each position and head */
    KERN_KV_Q4,  /* 4 bits, a scale and a min; head_dim is even */
    KERN_KV_COUNT,
};

/*
 * The place of K and V of one layer. Page p of the pool begins at base + p * page_bytes + layer_bytes (base may
 * point to a layer: then layer_bytes is 0), and holds K of each kv head, then V of each: kern_kv_page_bytes() in all.
 * K (or V) of a head are the numbers [KERN_PAGE_TOK][head_dim], then with Q8 and Q4 their scales [KERN_PAGE_TOK]: a
 * half d, or a half d and a half m. In Q4 number i < head_dim / 2 is the low half of byte i, number i + head_dim / 2
 * the high half. Page starts are aligned to 32.
 */
struct kern_kv_shape {
    enum kern_kv kv;
    uint32_t n_kv_heads;
    uint32_t head_dim;
    uint8_t *base;
    size_t page_bytes; /* from one page to the next: all layers */
    size_t layer_bytes;
};

/* Returns the bytes of one layer's part of a page. */
size_t kern_kv_page_bytes(enum kern_kv kv, uint32_t n_kv_heads, uint32_t head_dim);

/* A row of the step, for attention. */
struct kern_kv_row {
    const uint32_t *pages; /* of its sequence; position i is in pages[i / KERN_PAGE_TOK] */
    uint32_t pos;          /* of this row in its sequence */
    uint32_t first;        /* oldest position that it attends to (above 0 in sliding windows) */
};

/* Stores the rows' K and V in their pages. */
struct kern_store {
    struct kern_kv_shape shape;
    const struct kern_kv_row *rows;
    const float *k; /* [n_rows][stride], kv heads one after the other */
    const float *v;
    size_t k_stride; /* floats */
    size_t v_stride;
};

/* Grouped queries: head h reads kv head h / (n_heads / n_kv_heads). Rows attend to positions first .. pos. */
struct kern_attend {
    struct kern_kv_shape shape;
    uint32_t n_heads;
    uint32_t n_rows;
    const struct kern_kv_row *rows;
    float scale;
    float cap;      /* soft limit of scores; 0: none */
    const float *q; /* [n_rows][q_stride], heads one after the other */
    float *out;     /* [n_rows][out_stride] */
    size_t q_stride;
    size_t out_stride;
};

/* Neighbouring rows of one sequence, which update its state one after the other. */
struct kern_run {
    uint32_t first; /* row of the step */
    uint32_t n;
    uint8_t *state; /* of the sequence, all layers */
    bool is_new;    /* the sequence begins here: its state is taken as 0, whatever the memory holds */
};

/* The state of a channel is its last n_taps - 1 inputs: [n_taps - 1][n_channels] floats, the oldest first. */
struct kern_conv {
    const struct kern_run *runs;
    uint32_t n_runs;
    size_t state_at; /* bytes: of this layer's window in a run's state */
    uint32_t n_channels;
    uint32_t n_taps;      /* 2 to KERN_TAPS_MAX */
    const float *weights; /* [n_channels][n_taps] */
    const float *in;      /* [n_rows][in_stride] */
    float *out;           /* [n_rows][out_stride]; not @in */
    size_t in_stride;     /* floats */
    size_t out_stride;
};

/*
 * The gated delta rule (arXiv 2412.06464). A row of x holds queries and keys of the n_key_heads key heads, n_k each,
 * then values of the n_heads value heads, n_v each. Value head h uses key head h mod n_key_heads. Its matrix is
 * [n_k][n_v] floats, the h-th of those at state_at.
 */
struct kern_delta {
    const struct kern_run *runs;
    uint32_t n_runs;
    uint32_t from, to; /* the rows of each run that are computed now */
    size_t state_at;   /* bytes */
    uint32_t n_heads;
    uint32_t n_key_heads; /* divides n_heads */
    uint32_t n_k, n_v;    /* each at most KERN_HEAD_MAX */
    const float *rate;    /* [n_heads], not above 0 */
    const float *bias;    /* [n_heads] */
    float eps;
    float scale;
    const float *x; /* [n_rows][x_stride] */
    const float *a; /* [n_rows][a_stride], a column for each value head */
    const float *b;
    float *out;      /* [n_rows][out_stride], value heads one after the other */
    size_t x_stride; /* floats */
    size_t a_stride;
    size_t b_stride;
    size_t out_stride;
};

struct kern_ops {
    const char *name; /* of the best set in use: "scalar", "avx2" */

    /* Writes @n elements of a row of @type (whole blocks) as floats, exactly as the format defines them. */
    void (*unpack)(uint32_t type, const void *row, uint32_t n, float *out);

    /* Rounds one row @x of @n_cols to form @act (Q32 or Q256) at @out (kern_act_bytes(); aligned). The bytes
     * between the last piece and the stride do not change. */
    void (*quantise)(enum kern_act act, const float *x, uint32_t n_cols, void *out);

    /* Computes weight rows @first .. @first + @n - 1, each read once for all activation rows. */
    void (*matmul)(const struct kern_matmul *op, uint32_t first, uint32_t n);

    /* out = (x * (1 / sqrt(mean + eps))) * weight, mean = (sum of 16 of squares) / float(n). In place allowed. */
    void (*rms_norm)(float *out, const float *x, const float *weight, float eps, uint32_t n);

    /* Computes rows @first .. @first + @n - 1. */
    void (*rope)(const struct kern_rope *op, uint32_t first, uint32_t n);

    /* out = silu(gate) * up. In place allowed. */
    void (*silu_mul)(float *out, const float *gate, const float *up, uint32_t n);

    /* out = gelu(gate) * up. In place allowed. */
    void (*gelu_mul)(float *out, const float *gate, const float *up, uint32_t n);

    /* out = (1 / (1 + exp(-gate))) * x. In place allowed. */
    void (*sigmoid_mul)(float *out, const float *gate, const float *x, uint32_t n);

    /* out = x * scale. In place allowed. */
    void (*scale)(float *out, const float *x, float scale, uint32_t n);

    /* out = tanh(x / cap) * cap, cap above 0. In place allowed. */
    void (*cap)(float *out, const float *x, float cap, uint32_t n);

    /* out = a + b. In place allowed. */
    void (*add)(float *out, const float *a, const float *b, uint32_t n);

    /* Computes rows @first .. @first + @n - 1. */
    void (*store)(const struct kern_store *op, uint32_t first, uint32_t n);

    /* Computes items @first .. @first + @n - 1 of n_heads * n_rows, item = head * n_rows + row: neighbours share KV. */
    void (*attend)(const struct kern_attend *op, uint32_t first, uint32_t n);

    /* Computes channels @first .. @first + @n - 1 of all runs, and the state that they leave. */
    void (*conv)(const struct kern_conv *op, uint32_t first, uint32_t n);

    /* Computes items @first .. @first + @n - 1 of n_runs * n_heads, item = run * n_heads + head. */
    void (*delta)(const struct kern_delta *op, uint32_t first, uint32_t n);

    /* Returns the index of the largest, the lowest among equals; NaN never wins. @n if nothing is above -infinity. */
    uint32_t (*argmax)(const float *x, uint32_t n);
};

/* Writes row @row of @weights as floats to @out [n_cols]. */
void kern_unpack_row(const struct kern_ops *ops, const struct kern_weights *weights, uint32_t row, float *out);

/*
 * Fills the table from the plainest kernels up; @cpu holds the bits of the processor (cpu_detect()), less those that
 * the caller masks away. With 0 the table is the definition.
 */
void kern_choose(struct kern_ops *ops, uint32_t cpu);

#endif
