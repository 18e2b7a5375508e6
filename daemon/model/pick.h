/*
 * Pick: the best few of many, without sorting the rest
 *
 * The order is total: the higher value first, among equals the lower id. So the result never depends on the order of
 * the input, nor on the method. Everything works in place and allocates nothing. Values are never NaN.
 */
#ifndef SOTTO_MODEL_PICK_H
#define SOTTO_MODEL_PICK_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pick {
    float value;
    uint32_t id;
};

/* Returns true if @a is before @b in the order. */
static inline bool pick_before(struct pick a, struct pick b)
{
    return a.value > b.value || (a.value == b.value && a.id < b.id);
}

/* Brings the best @k of @n to the front, in no order. O(n) except for extremely unlikely values. */
void pick_best(struct pick *picks, size_t n, size_t k);

/*
 * Finds the smallest set of best picks that reaches @wanted by its @weights (by id, none below 0), without sorting, and
 * returns the last of the set; PICK_END if all together do not reach it. Sums are binary64, in an order that depends on
 * the picks and their number alone.
 */
struct pick pick_reach(struct pick *picks, size_t n, const float *weights, double wanted);

/* A search like pick_reach() that can be interrupted. */
struct pick_reach {
    struct pick *picks; /* [n], the caller's */
    const float *weights;
    double wanted;

    uint64_t state; /* of the random choice of pivots */
    ptrdiff_t first;
    ptrdiff_t last;
    double sum;        /* of the weights before @first */
    bool is_parting;   /* picks[first .. last] are being partitioned: those before @left are before @pivot or equal, */
    struct pick pivot; /* those behind @right are behind it or equal */
    ptrdiff_t left;
    ptrdiff_t right;
    ptrdiff_t at; /* afterwards: weights of first .. at - 1 are in @part_sum */
    double part_sum;
    struct pick found;
};

void pick_reach_begin(struct pick_reach *reach, struct pick *picks, size_t n, const float *weights, double wanted);

/* Looks at about *n picks and subtracts the number from *n. Returns true if reach->found is the answer, which does not
 * depend on how the search is cut. */
bool pick_reach_go(struct pick_reach *reach, size_t *n);

/* A pick behind all others. */
#define PICK_END ((struct pick){ .value = -INFINITY, .id = UINT32_MAX })

/* Sorts, best first. O(n log n), always. */
void pick_sort(struct pick *picks, size_t n);

#endif
