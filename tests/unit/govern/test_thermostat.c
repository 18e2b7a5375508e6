/* A temperature is held on any chip: random plants, the whole governor, and a shadow of the plant without our heat
 * from the moment when a reading has passed the target. */
#include "govern/governor.h"
#include "plant.h"
#include "unit.h"
#include <math.h>
#include <string.h>

#define TARGET     75.0
#define TICK_STEPS 5u /* 50 ms */
#define N_PLANTS   200u
#define SECONDS    600u
#define ASKED_S    30.0
#define TAIL_S     100u

struct run {
    struct governor governor;
    struct plant plant;
    struct plant shadow;
    double share;
    uint64_t held_us;
    bool has_passed; /* a reading has passed the target */
    bool was_below;

    double worst;       /* above the higher of target and shadow, once below */
    double worst_hot;   /* above the shadow, before */
    double least, most; /* of the tail */
    double asked_s;     /* until the fall of the last question counts as over */
    double sum_share;   /* of the tail */
    double sum_temp;
};

static void tick(struct run *run)
{
    const struct governor_limits *limits = &run->governor.limits[PROCESSOR_CPU];
    struct governor_input input = { .now_us = (run->plant.n_steps + 1) * PLANT_STEP_US, .n_zones = 1 };

    input.zones[0] = (struct governor_zone){ .sight = GOVERNOR_SEEN,
                                             .at_us = run->plant.reading_us,
                                             .temp_mc = (int32_t)lround(run->plant.reading * 1000.0),
                                             .passive_mc = GOVERNOR_NO_TRIP,
                                             .critical_mc = GOVERNOR_NO_TRIP };
    input.held_us[PROCESSOR_CPU] = run->held_us;
    if (run->plant.reading > TARGET) {
        run->has_passed = true;
    }
    governor_tick(&run->governor, &input);
    run->share = governor_lets_run(limits, PRIORITY_INTERACTIVE) ? limits->duty_permille / 1000.0 : 0.0;
    run->held_us = 0;
}

static void observe(struct run *run, bool is_tail)
{
    double temp = run->plant.chip;

    run->was_below |= temp <= TARGET;
    if (run->was_below) {
        run->worst = fmax(run->worst, temp - fmax(TARGET, run->shadow.chip));
    } else {
        run->worst_hot = fmax(run->worst_hot, temp - run->shadow.chip);
    }
    /* A fall by which a zone shows that it works is no swing. */
    run->asked_s = run->governor.heat.zones[0].stuck.probe_s > 0.0 ? ASKED_S : run->asked_s - PLANT_STEP_US / 1e6;
    if (is_tail && run->asked_s <= 0.0) {
        run->least = fmin(run->least, temp);
        run->most = fmax(run->most, temp);
    }
    if (is_tail) {
        run->sum_share += run->share;
        run->sum_temp += temp;
    }
}

static void start(struct run *run, double temp)
{
    const struct governor_policy policy = { .target_mc = (int32_t)(TARGET * 1000.0) };

    governor_init(&run->governor, &policy);
    plant_start(&run->plant, temp);
    run->shadow = run->plant;
    run->least = 1000.0;
    run->most = -1000.0;
}

/* @others: their heat from @change_s on. */
static void go(struct run *run, uint32_t seconds, uint32_t change_s, double others)
{
    uint32_t n_steps = seconds * (1000000 / PLANT_STEP_US);

    for (uint32_t i = 0; i < n_steps; i++) {
        if (i == change_s * (1000000 / PLANT_STEP_US)) {
            run->plant.others = others;
            run->shadow.others = others;
        }
        if (i % TICK_STEPS == 0) {
            tick(run);
        }
        plant_step(&run->plant, run->share);
        plant_step(&run->shadow, run->has_passed ? 0.0 : run->share);
        run->held_us += (uint64_t)(run->share * PLANT_STEP_US);
        observe(run, i >= n_steps - TAIL_S * (1000000 / PLANT_STEP_US));
    }
}

static uint64_t seed_of(int i)
{
    return UINT64_C(0x9E3779B97F4A7C15) * (uint64_t)(i + 1);
}

static uint32_t n_plants(void)
{
    return unit_looks_for_races() ? 5 : N_PLANTS;
}

static void say(const struct run *run, uint32_t i, const char *what)
{
    ck_abort_msg("plant %u: %s; %.2f above, %.2f hot, swings by %.2f; resistance %.0f, %.1f and %.1f s, step "
                 "%.0f rounded %d, %.2f s late, every %.2f s",
                 i, what, run->worst, run->worst_hot, run->most - run->least, run->plant.resistance, run->plant.chip_s,
                 run->plant.board_s, run->plant.step, (int)run->plant.rounding, (double)run->plant.late_us / 1e6,
                 (double)run->plant.period_us / 1e6);
}

START_TEST(from_cold_no_chip_passes_its_target_by_two_degrees_nor_swings)
{
    for (uint32_t i = 0; i < n_plants(); i++) {
        struct run run = { 0 };
        uint64_t seed = seed_of((int)i);

        plant_draw(&run.plant, &seed, TARGET);
        start(&run, run.plant.ambient + 0.5 * run.plant.others * run.plant.resistance);
        go(&run, SECONDS, 0, run.plant.others);

        if (run.worst > 2.0) {
            say(&run, i, "passed");
        }
        if (run.most - run.least > 0.5) {
            say(&run, i, "swings");
        }
    }
}
END_TEST

START_TEST(a_hot_start_falls_no_slower_than_without_us)
{
    for (uint32_t i = 0; i < n_plants(); i++) {
        struct run run = { 0 };
        uint64_t seed = seed_of(1000 + (int)i);

        plant_draw(&run.plant, &seed, TARGET);
        run.plant.others *= 0.5;
        start(&run, TARGET + 3.0 + 10.0 * plant_chance(&seed));
        go(&run, SECONDS, 0, run.plant.others);

        if (run.worst_hot > 0.1 || run.worst > 2.0) {
            say(&run, i, "too hot");
        }
    }
}
END_TEST

START_TEST(what_the_target_allows_is_used)
{
    double sum = 0.0;

    for (uint32_t i = 0; i < n_plants(); i++) {
        struct run run = { 0 };
        uint64_t seed = seed_of(2000 + (int)i);
        double right;

        plant_draw(&run.plant, &seed, TARGET);
        start(&run, run.plant.ambient);
        go(&run, SECONDS, 200, 0.5 * run.plant.others);

        right = fmin(1.0, (TARGET - run.plant.ambient) / run.plant.resistance - run.plant.others);
        sum += run.sum_share / (TAIL_S * (1000000.0 / PLANT_STEP_US)) / right;
        if (run.worst > 2.0) {
            say(&run, i, "passed");
        }
    }

    ck_assert_double_gt(sum / n_plants(), 0.92);
}
END_TEST

START_TEST(others_that_heat_up_take_our_share_not_the_temperature)
{
    for (uint32_t i = 0; i < n_plants(); i++) {
        struct run run = { 0 };
        uint64_t seed = seed_of(3000 + (int)i);
        double others;

        plant_draw(&run.plant, &seed, TARGET);
        run.plant.board_s = fmax(run.plant.board_s, 10.0);
        run.plant.chip_s = fmax(run.plant.chip_s, 3.0);
        others = run.plant.others;
        run.plant.others = others * 0.75;
        start(&run, run.plant.ambient);
        go(&run, SECONDS, 300, others);

        if (run.worst > 2.0) {
            say(&run, i, "passed");
        }
    }
}
END_TEST

START_TEST(while_a_chip_heats_up_the_share_falls_as_a_curve)
{
    struct run run = { 0 };
    double before = 0.0;
    double drop = 0.0;

    run.plant = (struct plant){ .ambient = 30.0,
                                .resistance = 80.0,
                                .chip_part = 0.3,
                                .chip_s = 3.0,
                                .board_s = 40.0,
                                .step = 1.0,
                                .late_us = 500000,
                                .period_us = 250000 };
    start(&run, 30.0);
    for (uint32_t s = 0; s < 300; s++) {
        go(&run, 1, 0, 0.0);
        drop = fmax(drop, before - run.share);
        before = run.share;
    }

    ck_assert_double_lt(drop, 0.35); /* in one second, of the whole */
    ck_assert_double_gt(run.share, 0.4);
    ck_assert_double_lt(run.worst, 2.0);
}
END_TEST

START_TEST(a_share_that_is_not_used_does_not_grow)
{
    struct thermostat thermostat;
    struct thermostat_reading reading = { .elapsed_s = 0.05, .over = -1.0, .step = 1.0 };
    double before;

    thermostat_init(&thermostat);
    thermostat_share(&thermostat, &reading);
    thermostat.integral = 0.3;
    before = thermostat.integral;
    for (int i = 0; i < 1000; i++) {
        thermostat_share(&thermostat, &reading);
    }

    ck_assert_double_eq(thermostat.integral, before);
}
END_TEST

/* Returns the first share of a chip that is so far below its aim, with gains that were kept; 0: none. */
static double first_share(double below, double kept)
{
    struct thermostat thermostat;
    struct thermostat_reading reading = { .elapsed_s = 0.05, .over = -below };

    thermostat_init(&thermostat);
    if (kept > 0.0) {
        thermostat_keep(&thermostat, kept, 10.0);
    }
    return thermostat_share(&thermostat, &reading);
}

START_TEST(an_unknown_chip_begins_with_what_the_hottest_one_bears)
{
    for (double below = 10.0; below < 80.0; below += 10.0) {
        ck_assert_double_lt(first_share(below, 0.0) * 120.0, 1.05 * below);
    }
    ck_assert_double_gt(first_share(60.0, 0.0), 0.45);
}
END_TEST

START_TEST(kept_gains_make_the_first_share_no_larger_where_it_could_burn)
{
    ck_assert_double_lt(first_share(20.0, 190.0), first_share(20.0, 0.0));
}
END_TEST

START_TEST(the_aim_is_a_value_that_the_sensor_can_say)
{
    ck_assert_double_eq(thermostat_aim(75.0, 1.0), 74.0);
    ck_assert_double_eq(thermostat_aim(75.7, 1.0), 75.0);
    ck_assert_double_eq(thermostat_aim(75.0, 0.0), 74.5);
    ck_assert_double_eq(thermostat_aim(-20.0, 0.5), -20.5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("thermostat");
    TCase *facts = tcase_create("facts");

    tcase_set_timeout(facts, 120);
    tcase_add_test(facts, from_cold_no_chip_passes_its_target_by_two_degrees_nor_swings);
    tcase_add_test(facts, a_hot_start_falls_no_slower_than_without_us);
    tcase_add_test(facts, what_the_target_allows_is_used);
    tcase_add_test(facts, others_that_heat_up_take_our_share_not_the_temperature);
    tcase_add_test(facts, while_a_chip_heats_up_the_share_falls_as_a_curve);
    tcase_add_test(facts, a_share_that_is_not_used_does_not_grow);
    tcase_add_test(facts, an_unknown_chip_begins_with_what_the_hottest_one_bears);
    tcase_add_test(facts, kept_gains_make_the_first_share_no_larger_where_it_could_burn);
    tcase_add_test(facts, the_aim_is_a_value_that_the_sensor_can_say);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
