/*
 * Requant: the rows of a tensor in another format
 *
 * Rows are unpacked to floats and written anew, many at a time, on all cores. What comes out is unpacked again and
 * compared with the floats, so that a command can tell what the rounding has cost.
 */
#ifndef SOTTO_TOOL_REQUANT_H
#define SOTTO_TOOL_REQUANT_H

#include "gguf/write.h"

struct requant;

/* 0 or a fault. */
int requant_create(struct requant **ret_requant);
void requant_destroy(struct requant *requant);
void requant_destroyp(struct requant **requant);

enum requant_outcome {
    REQUANT_OK,
    REQUANT_NOT_FINITE, /* an infinity or a NaN stands in a row that was to be rounded */
};

/* What rounding has cost: sums of squares over the elements. */
struct requant_cost {
    double error;
    double weight;
};

/* Root of the mean square of what was lost, as a part of that of the weights; 0 where there were none. */
double requant_loss(const struct requant_cost *cost);

/*
 * Writes @tensor, whose data lies at @bytes, in format @type as the next tensor of @writer, and adds to @cost. Both
 * formats compute, or are the same: then the bytes are copied.
 */
int requant_tensor(struct requant *requant, const struct gguf_tensor *tensor, const uint8_t *bytes, uint32_t type,
                   struct gguf_writer *writer, struct requant_cost *cost);

#endif
