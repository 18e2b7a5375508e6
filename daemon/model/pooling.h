/*
 * Pooling: the hidden states of a text's rows become one
 *
 * A hidden state is the residual stream of a row behind the model's last norm. The file says how those of a text are
 * pooled (key ARCH.pooling_type). The arithmetic is fixed, so that the bits depend on the text alone:
 *
 *     mean     sum = 0; for each row in the order of positions: sum = sum + row, in float64; then sum / rows, rounded
 *              to float32 once
 *     first    the row of position 0 as it is
 *     last     the row of the last position as it is
 *
 * Rows may come in any number of pieces. Nothing is allocated after pooling_create().
 */
#ifndef SOTTO_MODEL_POOLING_H
#define SOTTO_MODEL_POOLING_H

#include <stdbool.h>
#include <stdint.h>

/* The numbers are those of the key. */
enum pooling_kind {
    POOLING_NONE = 0, /* the model is not made for embedding */
    POOLING_MEAN = 1,
    POOLING_FIRST = 2, /* "cls" */
    POOLING_LAST = 3,
};

/* More values than any model has; 256 sequences of them fit into one answer of an engine. */
#define POOLING_VALUES_MAX 12288u

struct pooling {
    enum pooling_kind kind;
    uint32_t n_values;
    uint32_t n_rows; /* added so far */
    double *sums;    /* [n_values], owned */
    float *values;   /* [n_values], owned: the pooled state, after pooling_end() */
};

/* @kind is not POOLING_NONE. Returns NULL if there is no memory. */
struct pooling *pooling_create(enum pooling_kind kind, uint32_t n_values);
void pooling_destroy(struct pooling *pooling);

/* Returns true if the row of @position counts, in a text with its last row at @last. */
bool pooling_wants(const struct pooling *pooling, uint32_t position, uint32_t last);

/* Adds the next row that counts, [n_values]; positions ascend. */
void pooling_add(struct pooling *pooling, const float *row);

/* Pools the added rows into pooling->values. Returns false if a value is not finite. No row may be added later. */
bool pooling_end(struct pooling *pooling);

#endif
