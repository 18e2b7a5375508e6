/*
 * Shuffle: where lines (rows or columns) of a tensor lie in the folder
 */
#ifndef SOTTO_IMPORT_SHUFFLE_H
#define SOTTO_IMPORT_SHUFFLE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Behind the first @n_kept lines, what the folder holds as [n_outer][n_inner][n_unit] lies in GGUF as
 * [n_inner][n_outer][n_unit], repeatedly. n_outer 0: no line changes its place.
 */
struct shuffle {
    uint64_t n_kept;
    uint64_t n_outer;
    uint64_t n_inner;
    uint64_t n_unit;
};

/* Returns the line of the folder that line @i of the tensor is. */
uint64_t shuffle_line(const struct shuffle *shuffle, uint64_t i);

/* False if @n lines are not a whole number of periods. */
bool shuffle_fits(const struct shuffle *shuffle, uint64_t n);

#endif
