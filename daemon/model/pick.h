/*
 * Pick: the best few of many, without sorting the rest
 *
 * The order is total: the higher value first, among equals the lower id. So the result never depends on how the
 * picks stood before, nor on the method. In place, allocates nothing. Values are never NaN.
 */
#ifndef SOTTO_MODEL_PICK_H
#define SOTTO_MODEL_PICK_H

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

/* Best first. O(n log n), always. */
void pick_sort(struct pick *picks, size_t n);

#endif
