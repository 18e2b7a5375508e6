/*
 * Requant: the rows of a tensor in another format
 *
 * Rows are unpacked to floats and packed in the new format, many at a time, on all cores. The result is unpacked again
 * and compared with the floats, so that a command can report the rounding error.
 */
#ifndef SOTTO_TOOL_REQUANT_H
#define SOTTO_TOOL_REQUANT_H

#include "gguf/write.h"

struct requant;

/* Returns 0 or a fault. */
int requant_create(struct requant **ret_requant);
void requant_destroy(struct requant *requant);
void requant_destroyp(struct requant **requant);

enum requant_outcome {
    REQUANT_OK,
    REQUANT_NOT_FINITE, /* a row that was to be rounded has an infinity or a NaN */
};

/* Rounding errors: sums of squares over the elements. */
struct requant_cost {
    double error;
    double weight;
};

/* Returns the root mean square of the errors relative to that of the weights; 0 if there were none. */
double requant_loss(const struct requant_cost *cost);

/*
 * Writes @tensor, which has its data at @bytes, in format @type as the next tensor of @writer, and adds to @cost. Both
 * formats must compute, or be the same: then the bytes are copied. Returns a requant_outcome or a fault.
 */
int requant_tensor(struct requant *requant, const struct gguf_tensor *tensor, const uint8_t *bytes, uint32_t type,
                   struct gguf_writer *writer, struct requant_cost *cost);

#endif
