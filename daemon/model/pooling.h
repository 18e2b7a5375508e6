/*
 * Gist: the hidden states of a text's rows, pooled into one
 *
 * A hidden state is what the stream of a row is behind the model's last norm. How those of a text become one stands
 * in its file (key ARCH.pooling_type), and is computed like this, so that the bits depend on the text alone:
 *
 *     mean     sum = 0; for each row in the order of positions: sum = sum + row, in float64; then sum / rows, rounded
 *              to float32 once
 *     first    the row of position 0 as it is
 *     last     the row of the last position as it is
 *
 * Rows may come in as many pieces as one likes. Nothing is allocated after pooling_create().
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

/* More values than any model's; 256 sequences of them fit into one answer of an engine. */
#define POOLING_VALUES_MAX 12288u

struct pooling {
    enum pooling_kind pooling;
    uint32_t n_values;
    uint32_t n_rows; /* that were added */
    double *sums;    /* [n_values], owned */
    float *values;   /* [n_values], owned: a row on its way in, at last the pooled state */
};

/* @pooling is not POOLING_NONE. NULL: no memory. */
struct pooling *pooling_create(enum pooling_kind pooling, uint32_t n_values);
void pooling_destroy(struct pooling *pooling);

/* True if the row of @position counts, of a text whose last row is that of @last. */
bool pooling_wants(const struct pooling *pooling, uint32_t position, uint32_t last);

/* Takes the row in gist->values: the next that counts, positions ascending. */
void pooling_add(struct pooling *pooling);

/* Pools what was added into gist->values. False: a value is not finite. Once it is called no row may be added. */
bool pooling_pool(struct pooling *pooling);

#endif
