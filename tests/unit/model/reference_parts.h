/* Reference_parts: functions shared by the files of the reference, private to them */
#ifndef SOTTO_MODEL_REFERENCE_PARTS_H
#define SOTTO_MODEL_REFERENCE_PARTS_H

#include "maker.h"
#include "reference.h"

#define REFERENCE_EPS 1e-6f

/* Adds a tensor of layer @layer with numbers of @middle plus or minus @spread. @n_rows 0: one dimension. */
void reference_add(struct reference_model *model, uint32_t layer, const char *name, uint32_t n_cols, uint32_t n_rows,
                   float middle, float spread);
void reference_key(struct maker *maker, const struct reference *reference, const char *name, uint32_t value);

const float *reference_in_layer(const struct reference_model *model, uint32_t layer, const char *name); /* or NULL */
void reference_multiply(const float *matrix, uint32_t n_cols, uint32_t n_rows, const double *x, double *out);
void reference_norm(const float *weight, uint32_t n, const double *x, double *out); /* in place allowed */

/* ---- reference_net.c: gated delta nets ---- */

/* Add all tensors of a layer but its first norm, and the keys; tells whether the layer is a net. */
void reference_net_add(struct reference_model *model, uint32_t layer);
void reference_net_keys(struct maker *maker, const struct reference *reference);
bool reference_net_recurs(const struct reference *reference, uint32_t layer);

/* Computes what the layer adds for the next position, from its normed stream. Position 0 begins a sequence. */
void reference_net_take(const struct reference_model *model, uint32_t layer, uint32_t position, const double *normed,
                        double *back);

/* ---- reference_vocab.c ---- */

/* Writes the keys of a vocabulary of REFERENCE_TOKENS tokens, enough for sottod to serve the file. */
void reference_vocab(struct maker *maker);

#endif
