/* A linear machine is learnt and its clock is followed, but not an interrupted step. */
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

/* Returns a mixture of steps as a plan makes them. */
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
    const uint64_t first_ns[COST_PART_COUNT] = { 1, 0, 0, 1 };
    struct cost cost;

    cost_init(&cost, first_ns);
    for (uint32_t i = 0; i < 3000; i++) {
        struct cost_load load = load_of(i);

        /* Anything between 0 and a minute. */
        cost_learn(&cost, &load, i % 3 == 0 ? 1 : i % 3 == 1 ? 60000000000u : 1000u * i);
        for (size_t k = 0; k < COST_PART_COUNT; k++) {
            ck_assert_double_ge(cost.ns[k], 1.0);
            ck_assert(isfinite(cost.ns[k]));
        }
    }
}
END_TEST

START_TEST(no_time_teaches_nothing)
{
    const uint64_t first_ns[COST_PART_COUNT] = { 8000000, 900000, 200000, 3000 };
    struct cost_load load = load_of(3);
    struct cost cost;
    double before;

    cost_init(&cost, first_ns);
    before = cost_of(&cost, &load);
    for (uint32_t i = 0; i < 100; i++) {
        cost_learn(&cost, &load, 0);
    }

    ck_assert_double_eq_tol(cost_of(&cost, &load), before, 0.5);
}
END_TEST

/* ---- a noisy machine: 5 % of noise, and now and then an interrupted step */

struct machine {
    double ns[COST_PART_COUNT];
    double clock; /* 2: twice as fast */
    uint64_t seed;
};

static double draw(struct machine *machine)
{
    /* splitmix64 */
    uint64_t z = (machine->seed += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static struct machine machine_of(uint64_t seed)
{
    struct machine machine = { .clock = 1.0, .seed = seed };

    machine.ns[COST_FIXED] = pow(10.0, 5.0 + 2.5 * draw(&machine));
    machine.ns[COST_PREFILL_ROW] = pow(10.0, 4.0 + 2.0 * draw(&machine));
    machine.ns[COST_DECODE_ROW] = pow(10.0, 3.5 + 2.0 * draw(&machine));
    machine.ns[COST_ATTEND_PAGE] = pow(10.0, 2.0 + 2.0 * draw(&machine));
    return machine;
}

/* Returns first values up to four times too small or too large, each independently. */
static void measure_first(struct machine *machine, struct cost *ret_cost)
{
    uint64_t first_ns[COST_PART_COUNT];

    for (size_t i = 0; i < COST_PART_COUNT; i++) {
        first_ns[i] = (uint64_t)(machine->ns[i] * pow(4.0, 2.0 * draw(machine) - 1.0));
    }
    cost_init(ret_cost, first_ns);
}

/* Returns a load of any number of answers; half of the steps have a piece of a prompt. */
static struct cost_load mixed_load(struct machine *machine)
{
    struct cost_load load = { .n = { [COST_FIXED] = 1 } };

    load.n[COST_DECODE_ROW] = 1 + (uint32_t)(30.0 * draw(machine));
    load.n[COST_ATTEND_PAGE] = (uint32_t)(load.n[COST_DECODE_ROW] * 60.0 * draw(machine));
    if (draw(machine) < 0.5) {
        load.n[COST_PREFILL_ROW] = 16 + (uint32_t)(240.0 * draw(machine));
        load.n[COST_ATTEND_PAGE] += (uint32_t)(load.n[COST_PREFILL_ROW] * 60.0 * draw(machine));
    }
    return load;
}

static double true_ns(const struct machine *machine, const struct cost_load *load)
{
    double ns = 0.0;

    for (size_t i = 0; i < COST_PART_COUNT; i++) {
        ns += machine->ns[i] * load->n[i];
    }
    return ns / machine->clock;
}

static double measured_ns(struct machine *machine, const struct cost_load *load)
{
    double noise = 0.0;

    for (int i = 0; i < 12; i++) {
        noise += draw(machine) - 0.5; /* nearly normal, of variance 1 */
    }
    return true_ns(machine, load) * (1.0 + 0.05 * noise) * (draw(machine) < 0.03 ? 2.0 + 8.0 * draw(machine) : 1.0);
}

/* Runs one step. Returns true if its estimate was within a quarter of the time that it took. */
static bool step(struct machine *machine, struct cost *cost)
{
    struct cost_load load = mixed_load(machine);
    double ratio = cost_of(cost, &load) / true_ns(machine, &load);

    cost_learn(cost, &load, (uint64_t)measured_ns(machine, &load));
    return ratio > 0.75 && ratio < 1.25;
}

START_TEST(after_200_steps_19_of_20_estimates_are_within_a_quarter)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct machine machine = machine_of(seed);
        struct cost cost;
        uint32_t n_good = 0;

        measure_first(&machine, &cost);
        for (uint32_t i = 0; i < 1000; i++) {
            bool good = step(&machine, &cost);

            n_good += i >= 200 && good;
        }

        ck_assert_msg(n_good >= 760, "seed %lu: %u of 800", seed, n_good);
    }
}
END_TEST

static void check_follows(double clock)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct machine machine = machine_of(seed);
        struct cost cost;
        uint32_t n_good = 0;

        measure_first(&machine, &cost);
        for (uint32_t i = 0; i < 300; i++) {
            step(&machine, &cost);
        }
        machine.clock = clock;
        for (uint32_t i = 0; i < 110; i++) {
            bool good = step(&machine, &cost);

            n_good += i >= 10 && good;
        }

        ck_assert_msg(n_good >= 95, "seed %lu: %u of 100", seed, n_good);
    }
}

START_TEST(half_the_clock_is_followed_within_ten_steps)
{
    check_follows(0.5);
}
END_TEST

START_TEST(twice_the_clock_is_followed_within_ten_steps)
{
    check_follows(2.0);
}
END_TEST

START_TEST(parts_that_were_not_measured_are_learnt)
{
    const uint64_t first_ns[COST_PART_COUNT] = { 0, 0, 0, 0 };
    struct machine machine = machine_of(7);
    struct cost cost;
    uint32_t n_good = 0;

    cost_init(&cost, first_ns);
    for (uint32_t i = 0; i < 400; i++) {
        bool good = step(&machine, &cost);

        n_good += i >= 200 && good;
    }

    ck_assert_uint_ge(n_good, 190);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched-cost");
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, first_values_that_are_wrong_are_corrected);
    tcase_add_test(tcase, one_interrupted_step_moves_little);
    tcase_add_test(tcase, no_part_is_ever_free_or_negative);
    tcase_add_test(tcase, no_time_teaches_nothing);
    tcase_add_test(tcase, after_200_steps_19_of_20_estimates_are_within_a_quarter);
    tcase_add_test(tcase, half_the_clock_is_followed_within_ten_steps);
    tcase_add_test(tcase, twice_the_clock_is_followed_within_ten_steps);
    tcase_add_test(tcase, parts_that_were_not_measured_are_learnt);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
