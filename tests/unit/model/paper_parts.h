/*
 * Paper_parts: what the files of a paper's model share; private to them
 */
#ifndef SOTTO_TESTS_MODEL_PAPER_PARTS_H
#define SOTTO_TESTS_MODEL_PAPER_PARTS_H

#include "maker.h"
#include "paper.h"

#define PAPER_EPS 1e-6f

/* Adds a tensor of layer @layer: numbers of @middle plus or minus @spread. @n_rows 0: one dimension. */
void paper_add(struct paper_model *model, uint32_t layer, const char *name, uint32_t n_cols, uint32_t n_rows,
               float middle, float spread);
void paper_key(struct maker *maker, const struct paper *paper, const char *name, uint32_t value);

const float *paper_in_layer(const struct paper_model *model, uint32_t layer, const char *name); /* or NULL */
void paper_multiply(const float *matrix, uint32_t n_cols, uint32_t n_rows, const double *x, double *out);
void paper_norm(const float *weight, uint32_t n, const double *x, double *out); /* in place allowed */

/* ---- paper_net.c: gated delta nets ---- */

/* All tensors of a layer but its first norm, keys, and whether the layer is a net. */
void paper_net_add(struct paper_model *model, uint32_t layer);
void paper_net_keys(struct maker *maker, const struct paper *paper);
bool paper_net_recurs(const struct paper *paper, uint32_t layer);

/* What the layer adds for the next position, from its normed stream. Position 0 begins a sequence. */
void paper_net_take(const struct paper_model *model, uint32_t layer, uint32_t position, const double *normed,
                    double *back);

/* ---- paper_words.c ---- */

/* Keys of a vocabulary of PAPER_TOKENS tokens: enough for sottod to serve the file. */
void paper_words(struct maker *maker);

#endif
