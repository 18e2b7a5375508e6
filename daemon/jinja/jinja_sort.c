#include "jinja/jinja_sort.h"
#include "jinja/jinja_compare.h"
#include "jinja/jinja_fail.h"
#include "jinja/jinja_run.h"
#include <string.h>

/* Merges the sorted runs [from, middle) and [middle, to). */
static int merge(struct jinja_run *run, struct jinja_pair *pairs, struct jinja_pair *spare, size_t from, size_t middle,
                 size_t to, bool reverse)
{
    size_t a = from;
    size_t b = middle;

    for (size_t i = from; i < to; i++) {
        bool takes_b = a == middle;

        if (a < middle && b < to) {
            const struct jinja_value *first = reverse ? &pairs[a].key : &pairs[b].key;
            const struct jinja_value *second = reverse ? &pairs[b].key : &pairs[a].key;
            bool same = false;
            int order = 0;
            int r = jinja_compare_equal(run, first, second, &same); /* equal keys need no order */

            r = r || same ? r : jinja_compare_order(run, first, second, "<", &order);
            if (r) {
                return r;
            }
            takes_b = order < 0;
        }
        spare[i] = takes_b ? pairs[b++] : pairs[a++];
    }
    memcpy(pairs + from, spare + from, (to - from) * sizeof(*pairs));
    return JINJA_OK;
}

int jinja_sort_pairs(struct jinja_run *run, struct jinja_pair *pairs, size_t n, bool reverse)
{
    struct jinja_pair *spare = jinja_run_alloc(run, n * sizeof(*spare));
    int r = JINJA_OK;

    if (!spare) {
        return jinja_fail_full(run);
    }
    for (size_t width = 1; !r && width < n; width *= 2) {
        for (size_t from = 0; !r && from + width < n; from += 2 * width) {
            const size_t to = from + 2 * width < n ? from + 2 * width : n;

            r = merge(run, pairs, spare, from, from + width, to, reverse);
        }
    }
    return r;
}
