/*
 * Selection and sorting against the C library's qsort().
 */
#include "model/pick.h"

#include "base/clean.h"
#include "unit.h"
#include <math.h>
#include <string.h>

#define N 3000

static uint64_t turn(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return *state >> 33;
}

/* Fills with values of @n_kinds, so that many are equal. */
static void fill(struct pick *picks, size_t n, uint64_t n_kinds, uint64_t state)
{
    for (size_t i = 0; i < n; i++) {
        picks[i] = (struct pick){ .value = (float)(turn(&state) % n_kinds), .id = (uint32_t)i };
    }
}

static int compare(const void *a, const void *b)
{
    return pick_before(*(const struct pick *)a, *(const struct pick *)b) ? -1 : 1;
}

static void check_best(const struct pick *picks, size_t n, size_t k)
{
    static struct pick sorted[N];
    static struct pick found[N];

    memcpy(sorted, picks, n * sizeof(*picks));
    memcpy(found, picks, n * sizeof(*picks));
    qsort(sorted, n, sizeof(*sorted), compare);

    pick_best(found, n, k);
    pick_sort(found, k);

    for (size_t i = 0; i < k; i++) {
        ck_assert_uint_eq(found[i].id, sorted[i].id);
    }
}

START_TEST(best_few_equal_the_first_of_a_full_sort)
{
    static const size_t wanted[] = { 1, 2, 50, N / 2, N - 1, N };
    static const uint64_t kinds[] = { 1, 3, 1000000 };
    static struct pick picks[N];

    for (size_t k = 0; k < COUNTOF(kinds); k++) {
        fill(picks, N, kinds[k], 7 + k);
        for (size_t w = 0; w < COUNTOF(wanted); w++) {
            check_best(picks, N, wanted[w]);
        }
    }
}
END_TEST

START_TEST(short_lists_of_every_length_are_picked_from)
{
    struct pick picks[20];

    for (size_t n = 1; n <= COUNTOF(picks); n++) {
        for (size_t k = 1; k <= n; k++) {
            fill(picks, n, 4, n * 100 + k);
            check_best(picks, n, k);
        }
    }
}
END_TEST

START_TEST(infinities_have_their_places_at_the_ends)
{
    struct pick picks[] = { { -INFINITY, 0 }, { 1, 1 }, { INFINITY, 2 }, { -INFINITY, 3 }, { -1, 4 } };

    pick_sort(picks, COUNTOF(picks));

    ck_assert_uint_eq(picks[0].id, 2);
    ck_assert_uint_eq(picks[1].id, 1);
    ck_assert_uint_eq(picks[2].id, 4);
    ck_assert_uint_eq(picks[3].id, 0);
    ck_assert_uint_eq(picks[4].id, 3);
}
END_TEST

/* Finds the pick by sorting and adding up. Weights are integers, so no sum rounds. */
static struct pick reach_by_sorting(const struct pick *picks, size_t n, const float *weights, double wanted)
{
    static struct pick sorted[N];
    double sum = 0;

    memcpy(sorted, picks, n * sizeof(*picks));
    qsort(sorted, n, sizeof(*sorted), compare);
    for (size_t i = 0; i < n; i++) {
        sum += weights[sorted[i].id];
        if (sum >= wanted) {
            return sorted[i];
        }
    }
    return PICK_END;
}

static void check_reach(size_t n, uint64_t n_kinds, uint64_t state)
{
    static struct pick picks[N];
    static struct pick moved[N];
    static float weights[N];
    double total = 0;

    fill(picks, n, n_kinds, state);
    for (size_t i = 0; i < n; i++) {
        weights[i] = picks[i].value + 1;
        total += weights[i];
    }
    for (double share = -0.1; share < 1.2; share += 0.09) {
        struct pick found;
        struct pick wanted = reach_by_sorting(picks, n, weights, share * total);

        memcpy(moved, picks, n * sizeof(*picks));
        found = pick_reach(moved, n, weights, share * total);
        ck_assert_uint_eq(found.id, wanted.id);
        ck_assert_float_eq(found.value, wanted.value);
        for (size_t most = 1; most < 40; most += 6) {
            struct pick_reach reach;
            size_t left;

            memcpy(moved, picks, n * sizeof(*picks));
            pick_reach_begin(&reach, moved, n, weights, share * total);
            do {
                left = most;
            } while (!pick_reach_go(&reach, &left));
            ck_assert_uint_eq(reach.found.id, found.id);
        }
    }
}

START_TEST(weights_are_reached_where_sorting_would_reach_them)
{
    static const uint64_t kinds[] = { 1, 3, 1000 };

    for (size_t k = 0; k < COUNTOF(kinds); k++) {
        for (size_t n = 1; n < 20; n++) {
            check_reach(n, kinds[k], n);
        }
        check_reach(N, kinds[k], 5);
    }
}
END_TEST

START_TEST(nothing_is_picked_from_nothing)
{
    struct pick none;

    pick_best(&none, 0, 0);
    pick_best(&none, 0, 5);
    pick_sort(&none, 0);
    ck_assert_uint_eq(pick_reach(&none, 0, NULL, 1).id, PICK_END.id);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pick");
    TCase *tests = tcase_create("all");

    tcase_add_test(tests, best_few_equal_the_first_of_a_full_sort);
    tcase_add_test(tests, short_lists_of_every_length_are_picked_from);
    tcase_add_test(tests, infinities_have_their_places_at_the_ends);
    tcase_add_test(tests, weights_are_reached_where_sorting_would_reach_them);
    tcase_add_test(tests, nothing_is_picked_from_nothing);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
