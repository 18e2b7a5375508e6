/*
 * Pick: the best few of many, without sorting the rest
 *
 * The order is total: the higher value first, among equals the lower id. So the result never depends on how the
 * picks stood before, nor on the method. In place, allocates nothing. Values are never NaN.
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

/* Does @a stand before @b? */
static inline bool pick_before(struct pick a, struct pick b)
{
    return a.value > b.value || (a.value == b.value && a.id < b.id);
}

/* Brings the best @k of @n to the front, in no order among themselves. O(n) but for wildly unlikely values. */
void pick_best(struct pick *picks, size_t n, size_t k);

/*
 * The last of the fewest of the best whose @weights (by id, none below 0) together reach @wanted, found without
 * sorting; behind everything if all of them do not. Sums are binary64, in an order that the picks and their number
 * alone decide.
 */
struct pick pick_reach(struct pick *picks, size_t n, const float *weights, double wanted);

/* The same, a little at a time. */
struct pick_reach {
    struct pick *picks; /* [n], the caller's */
    const float *weights;
    double wanted;

    uint64_t state; /* of choosing pivots */
    ptrdiff_t first;
    ptrdiff_t last;
    double sum;      /* of the weights before @first */
    bool is_parting; /* picks[first .. last] are being parted around @pivot: all before @left stand before it or
                          * are it, all behind @right are it or stand behind */
    struct pick pivot;
    ptrdiff_t left;
    ptrdiff_t right;
    ptrdiff_t at; /* once they are: weights of first .. at - 1 are in @part_sum */
    double part_sum;
    struct pick found;
};

void pick_reach_begin(struct pick_reach *reach, struct pick *picks, size_t n, const float *weights, double wanted);

/* Looks at about *n picks and takes those that it looked at off *n. True: reach->found is the answer. However it is
 * cut, the answer is the same. */
bool pick_reach_go(struct pick_reach *reach, size_t *n);

/* Behind everything. */
#define PICK_END ((struct pick){ .value = -INFINITY, .id = UINT32_MAX })

/* Best first. O(n log n), always. */
void pick_sort(struct pick *picks, size_t n);

#endif
