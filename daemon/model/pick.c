/* Quickselect and heapsort. The C library's qsort() allocates for long arrays, and quicksort has a bad worst case. */
#include "model/pick.h"

static void swap(struct pick *a, struct pick *b)
{
    const struct pick kept = *a;

    *a = *b;
    *b = kept;
}

/* Returns a random index in [first, last], so that no input can be arranged to be slow. Source: splitmix64's
 * constants. */
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
 * Partitions [first, last] by Hoare's scheme around the median of three: afterwards [first, *left) is before or equal
 * to the pivot, (*right, last] is equal to or behind it, and left > right.
 */
static void part(struct pick *picks, size_t first, size_t last, uint64_t *state, ptrdiff_t *left, ptrdiff_t *right)
{
    const struct pick pivot = middle_of(picks[any_place(first, last, state)], picks[any_place(first, last, state)],
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

/* Partitions as part() does, but returns whenever it has looked at @n picks. Returns true if it is done. */
static bool part_some(struct pick_reach *reach, size_t *n)
{
    struct pick *picks = reach->picks;

    while (reach->left <= reach->right) {
        while (*n > 0 && pick_before(picks[reach->left], reach->pivot)) {
            reach->left++;
            --*n;
        }
        while (*n > 0 && pick_before(reach->pivot, picks[reach->right])) {
            reach->right--;
            --*n;
        }
        if (*n == 0) {
            return false;
        }
        if (reach->left <= reach->right) {
            swap(&picks[reach->left++], &picks[reach->right--]);
            --*n;
        }
    }
    return true;
}

static void begin_part(struct pick_reach *reach)
{
    size_t first = (size_t)reach->first;
    size_t last = (size_t)reach->last;
    const struct pick *picks = reach->picks;

    reach->pivot = middle_of(picks[any_place(first, last, &reach->state)], picks[any_place(first, last, &reach->state)],
                             picks[any_place(first, last, &reach->state)]);
    reach->left = reach->first;
    reach->right = reach->last;
    reach->at = reach->first;
    reach->part_sum = reach->sum;
    reach->is_parting = true;
}

/* Narrows the search to one of the weighed parts. Returns true if the search has ended. */
static bool end_part(struct pick_reach *reach)
{
    reach->is_parting = false;
    if (reach->right >= reach->first && reach->part_sum >= reach->wanted) {
        reach->found = reach->picks[reach->first];
        reach->last = reach->right;
        return reach->first == reach->right;
    }
    if (reach->right + 1 < reach->left) { /* the pivot is between both parts */
        reach->found = reach->picks[reach->right + 1];
        reach->part_sum += reach->weights[reach->found.id];
        if (reach->part_sum >= reach->wanted) {
            return true;
        }
    }
    reach->sum = reach->part_sum;
    reach->first = reach->left;
    return false;
}

void pick_reach_begin(struct pick_reach *reach, struct pick *picks, size_t n, const float *weights, double wanted)
{
    *reach = (struct pick_reach){
        .picks = picks, .weights = weights, .wanted = wanted, .state = n, .last = (ptrdiff_t)n - 1
    };
}

bool pick_reach_go(struct pick_reach *reach, size_t *n)
{
    while (reach->first <= reach->last) {
        if (!reach->is_parting) {
            begin_part(reach);
        }
        if (!part_some(reach, n)) {
            return false;
        }
        for (; *n > 0 && reach->at <= reach->right; reach->at++, --*n) {
            reach->part_sum += reach->weights[reach->picks[reach->at].id];
        }
        if (reach->at <= reach->right) {
            return false;
        }
        if (end_part(reach)) {
            return true;
        }
    }
    reach->found = PICK_END;
    return true;
}

struct pick pick_reach(struct pick *picks, size_t n, const float *weights, double wanted)
{
    struct pick_reach reach;
    size_t budget = SIZE_MAX;

    pick_reach_begin(&reach, picks, n, weights, wanted);
    pick_reach_go(&reach, &budget);
    return reach.found;
}

/* Lets picks[at] sink until both children are before it; the last pick in order is at the top. */
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
