/* A linear machine is learnt; an interrupted step is not. */
#include "sched/cost.h"
#include "unit.h"
#include <math.h>

static const double truth_ns[COST_PART_COUNT] = { 8e6, 9e5, 2e5, 3e3 };

static uint64_t truly(const struct cost_load *load)
{
    double ns = 0.0;

    for (size_t i = 0; i < COST_PART_COUNT; i++) {
        ns += truth_ns[i] * load->n[i];
    }
    return (uint64_t)ns;
}

/* A mixture of steps as a plan makes them. */
static struct cost_load load_of(uint32_t i)
{
    return (struct cost_load){ .n = { 1, (i * 7) % 50, (i * 3) % 9, (i * 13) % 400 } };
}

START_TEST(first_values_that_are_wrong_are_corrected)
{
    const uint64_t first_ns[COST_PART_COUNT] = { 2000000, 3000000, 200000, 30000 };
    struct cost cost;

    cost_init(&cost, first_ns);
    for (uint32_t i = 0; i < 2000; i++) {
        struct cost_load load = load_of(i);

        cost_learn(&cost, &load, truly(&load));
    }

    for (uint32_t i = 0; i < 50; i++) {
        struct cost_load load = load_of(i);

        ck_assert_double_eq_tol(cost_of(&cost, &load) / (double)truly(&load), 1.0, 0.05);
    }
}
END_TEST

START_TEST(one_interrupted_step_moves_little)
{
    const uint64_t first_ns[COST_PART_COUNT] = { 8000000, 900000, 200000, 3000 };
    struct cost_load load = load_of(3);
    struct cost cost;
    double before;

    cost_init(&cost, first_ns);
    before = cost_of(&cost, &load);
    cost_learn(&cost, &load, UINT64_MAX / 2);

    ck_assert_double_lt(cost_of(&cost, &load), 3.0 * before);
}
END_TEST

START_TEST(no_part_is_ever_free_or_negative)
{
    const uint64_t first_ns[COST_PART_COUNT] = { 0, 0, 0, 0 };
    struct cost_load load = load_of(5);
    struct cost cost;

    cost_init(&cost, first_ns);
    for (uint32_t i = 0; i < 100; i++) {
        cost_learn(&cost, &load, 0);
    }

    for (size_t i = 0; i < COST_PART_COUNT; i++) {
        ck_assert_double_ge(cost.ns[i], 1.0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched-cost");
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, first_values_that_are_wrong_are_corrected);
    tcase_add_test(tcase, one_interrupted_step_moves_little);
    tcase_add_test(tcase, no_part_is_ever_free_or_negative);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
