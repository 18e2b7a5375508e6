/*
 * Delta: parts of the convolution and the gated delta rule (kern.h, 7 and 8) that all sets share: where things are
 * stored, and the few numbers that exist once for each head or channel; private to the module
 */
#ifndef SOTTO_KERN_DELTA_H
#define SOTTO_KERN_DELTA_H

#include "kern/kern.h"
#include "tensor/real.h"
#include <math.h>
#include <string.h>

/* One value head of one run. */
struct delta_head {
    const struct kern_run *run;
    uint32_t head;
    float *matrix;
};

static inline struct delta_head delta_head_at(const struct kern_delta *op, uint32_t item)
{
    struct delta_head at = { .run = &op->runs[item / op->n_heads], .head = item % op->n_heads };
    const size_t n = (size_t)op->n_k * op->n_v;

    at.matrix = (float *)(void *)(at.run->state + op->state_at) + at.head * n;
    if (at.run->is_new && op->from == 0) {
        memset(at.matrix, 0, n * sizeof(float));
    }
    return at;
}

static inline float delta_softplus(float x)
{
    const float e = real_exp(-fabsf(x));
    const float u = 1.0f + e;
    const float l = u == 1.0f ? e : real_log(u) * (e / (u - 1.0f));

    return (x > 0.0f ? x : 0.0f) + l;
}

/* The inputs of one head from one row, and where its output goes. */
struct delta_row {
    const float *q; /* like @k not yet scaled */
    const float *k;
    const float *v;
    float *out;
    float decay;
    float beta;
};

static inline struct delta_row delta_row_at(const struct kern_delta *op, uint32_t row, uint32_t head)
{
    const float *x = op->x + row * op->x_stride;
    const float a = op->a[row * op->a_stride + head];
    const float b = op->b[row * op->b_stride + head];
    const uint32_t key_head = head % op->n_key_heads;

    return (struct delta_row){
        .q = x + (size_t)key_head * op->n_k,
        .k = x + (size_t)(op->n_key_heads + key_head) * op->n_k,
        .v = x + (size_t)2 * op->n_key_heads * op->n_k + (size_t)head * op->n_v,
        .out = op->out + row * op->out_stride + (size_t)head * op->n_v,
        .decay = real_exp(op->rate[head] * delta_softplus(a + op->bias[head])),
        .beta = 1.0f / (1.0f + real_exp(-b)),
    };
}

/* Returns the row of @run before which this call ends. */
static inline uint32_t delta_end(const struct kern_delta *op, const struct kern_run *run)
{
    return run->n < op->to ? run->n : op->to;
}

/* Returns the inputs of all channels, @at rows after the run's first; below 0 they are in the window. */
static inline const float *conv_input(const struct kern_conv *op, const struct kern_run *run, const float *window,
                                      int64_t at)
{
    return at < 0 ? window + (size_t)(op->n_taps - 1 + at) * op->n_channels
                  : op->in + (run->first + (size_t)at) * op->in_stride;
}

static inline float *conv_window(const struct kern_conv *op, const struct kern_run *run)
{
    return (float *)(void *)(run->state + op->state_at);
}

/* Zeroes the window of a new sequence. */
static inline void conv_begin(const struct kern_conv *op, const struct kern_run *run, uint32_t first, uint32_t n)
{
    float *window = conv_window(op, run);

    for (uint32_t j = 0; run->is_new && j < op->n_taps - 1; j++) {
        memset(window + (size_t)j * op->n_channels + first, 0, n * sizeof(float));
    }
}

/* Moves the window to the end of the run, upwards in place: reads are above writes. */
static inline void conv_end(const struct kern_conv *op, const struct kern_run *run, uint32_t first, uint32_t n)
{
    float *window = conv_window(op, run);

    for (uint32_t j = 0; j < op->n_taps - 1; j++) {
        const int64_t at = (int64_t)run->n + j - (op->n_taps - 1);

        memcpy(window + (size_t)j * op->n_channels + first, conv_input(op, run, window, at) + first, n * sizeof(float));
    }
}

static inline float conv_one(const struct kern_conv *op, const struct kern_run *run, const float *window, uint32_t row,
                             uint32_t channel)
{
    const float *taps = op->weights + (size_t)channel * op->n_taps;
    float acc = 0.0f;

    for (uint32_t j = 0; j < op->n_taps; j++) {
        acc = fmaf(taps[j], conv_input(op, run, window, (int64_t)row + j - (op->n_taps - 1))[channel], acc);
    }
    return acc / (1.0f + real_exp(-acc));
}

#endif
