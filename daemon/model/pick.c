/*
 * Quickselect and heapsort. The C library's qsort() allocates for long arrays, and quicksort has a worst case.
 */
#include "model/pick.h"

static void swap(struct pick *a, struct pick *b)
{
    const struct pick kept = *a;

    *a = *b;
    *b = kept;
}

/* A place in [first, last] that no arrangement of the input makes bad on purpose. Source: splitmix64's constants. */
static size_t any_place(size_t first, size_t last, uint64_t *state)
{
    *state = (*state ^ (*state >> 30)) * 0xbf58476d1ce4e5b9U + 0x9e3779b97f4a7c15U;
    return first + (size_t)((*state >> 16) % (last - first + 1));
}

static struct pick middle_of(struct pick a, struct pick b, struct pick c)
{
    if (pick_before(a, b) == pick_before(b, c)) {
        return b;
    }
    return pick_before(b, a) == pick_before(a, c) ? a : c;
}

/*
 * Hoare's partition of [first, last] around the middle one of three: afterwards everything in [first, *left) stands
 * before or is the pivot, everything in (*right, last] is it or stands behind, and left > right.
 */
static void part(struct pick *picks, size_t first, size_t last, uint64_t *state, ptrdiff_t *left,
                 ptrdiff_t *right)
{
    const struct pick pivot =
        middle_of(picks[any_place(first, last, state)], picks[any_place(first, last, state)],
                  picks[any_place(first, last, state)]);
    ptrdiff_t i = (ptrdiff_t)first;
    ptrdiff_t j = (ptrdiff_t)last;

    while (i <= j) {
        while (pick_before(picks[i], pivot)) {
            i++;
        }
        while (pick_before(pivot, picks[j])) {
            j--;
        }
        if (i <= j) {
            swap(&picks[i++], &picks[j--]);
        }
    }
    *left = i;
    *right = j;
}

void pick_best(struct pick *picks, size_t n, size_t k)
{
    uint64_t state = n;
    ptrdiff_t first = 0;
    ptrdiff_t last = (ptrdiff_t)n - 1;
    ptrdiff_t left;
    ptrdiff_t right;

    if (k == 0 || k >= n) {
        return;
    }
    while (first < last) {
        part(picks, (size_t)first, (size_t)last, &state, &left, &right);
        if ((ptrdiff_t)k - 1 <= right) {
            last = right;
        } else if ((ptrdiff_t)k - 1 >= left) {
            first = left;
        } else {
            return;
        }
    }
}

struct pick pick_reach(struct pick *picks, size_t n, const float *weights, double wanted)
{
    uint64_t state = n;
    ptrdiff_t first = 0;
    ptrdiff_t last = (ptrdiff_t)n - 1;
    ptrdiff_t left;
    ptrdiff_t right;
    double sum = 0; /* of those before @first */

    while (first <= last) {
        double part_sum = sum;

        part(picks, (size_t)first, (size_t)last, &state, &left, &right);
        for (ptrdiff_t i = first; i <= right; i++) {
            part_sum += weights[picks[i].id];
        }
        if (right >= first && part_sum >= wanted) {
            if (first == right) {
                return picks[first];
            }
            last = right;
            continue;
        }
        if (right + 1 < left) { /* the pivot, between both parts */
            part_sum += weights[picks[right + 1].id];
            if (part_sum >= wanted) {
                return picks[right + 1];
            }
        }
        sum = part_sum;
        first = left;
    }
    return PICK_END;
}

/* Lets picks[at] sink until both below it stand before it: the last one in order is at the top. */
static void sink(struct pick *picks, size_t at, size_t n)
{
    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= n) {
            return;
        }
        if (child + 1 < n && pick_before(picks[child], picks[child + 1])) {
            child++;
        }
        if (!pick_before(picks[at], picks[child])) {
            return;
        }
        swap(&picks[at], &picks[child]);
        at = child;
    }
}

void pick_sort(struct pick *picks, size_t n)
{
    for (size_t i = n / 2; i-- > 0;) {
        sink(picks, i, n);
    }
    for (size_t end = n; end-- > 1;) {
        swap(&picks[0], &picks[end]);
        sink(picks, 0, end);
    }
}
