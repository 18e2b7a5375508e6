/* A sensor that hangs and still answers is found by our own heat, and a working one is rarely taken for it: alone,
 * and with the whole governor on random plants. */
#include "govern/governor.h"
#include "plant.h"
#include "unit.h"
#include <math.h>

#define TARGET       75.0
#define TICK_STEPS   5u /* 50 ms */
#define N_PLANTS     200
#define STEPS_S      (1000000u / PLANT_STEP_US)
#define LEARNS_S     300u
#define FINDS_S      480u
#define CALLED_TICKS 200u /* 10 s */

/* ---- alone: a zone that follows our share at once */

static struct stuck stuck;

static void setup(void)
{
    stuck_init(&stuck);
}

/* Runs for @seconds at that share; the reading is @base plus @gain of it. Returns true if it is called stuck at the
 * end. */
static bool pass(uint32_t seconds, double share, double base, double gain)
{
    bool is_stuck = false;

    for (uint32_t i = 0; i < 20 * seconds; i++) {
        double temp = floor(base + gain * (gain > 0.0 ? stuck.used : share));

        is_stuck = stuck_look(&stuck, (int32_t)(1000.0 * temp), 1.0, share, 0.05);
    }
    return is_stuck;
}

/* Alternates work and pauses, so that the zone shows how far it follows us. */
static void prove(double gain)
{
    for (int i = 0; i < 5; i++) {
        pass(60, 1.0, 40.0, gain);
        pass(60, 0.0, 40.0, gain);
    }
}

START_TEST(a_constant_zone_is_stuck_when_our_heat_comes)
{
    prove(20.0);

    ck_assert(pass(60, 1.0, 40.0, 0.0));
}
END_TEST

START_TEST(a_constant_zone_is_stuck_when_our_heat_goes)
{
    prove(20.0);
    pass(60, 1.0, 40.0, 20.0);

    ck_assert(pass(60, 0.0, 60.0, 0.0));
}
END_TEST

START_TEST(a_constant_zone_is_steady_while_nothing_changes)
{
    prove(20.0);
    pass(60, 0.5, 40.0, 20.0);

    ck_assert(!pass(1000, 0.5, 50.0, 0.0));
}
END_TEST

START_TEST(a_zone_that_we_hardly_warm_may_stay_constant)
{
    prove(4.0);

    ck_assert(!pass(300, 1.0, 40.0, 0.0));
}
END_TEST

START_TEST(one_that_never_followed_us_is_not_judged)
{
    for (int i = 0; i < 10; i++) {
        ck_assert(!pass(60, i % 2, 27.0, 0.0));
    }
}
END_TEST

START_TEST(it_takes_longer_than_any_delay)
{
    prove(20.0);

    ck_assert(!pass(25, 1.0, 40.0, 0.0));
}
END_TEST

START_TEST(one_that_moves_again_is_believed)
{
    prove(20.0);
    ck_assert(pass(60, 1.0, 40.0, 0.0));

    ck_assert(!pass(1, 1.0, 41.0, 0.0));
}
END_TEST

/* ---- on plants, with the whole governor */

struct run {
    struct governor governor;
    struct plant plant;
    uint64_t seed;
    double share;
    bool wants; /* there is work */
    uint32_t n_wants;
    uint64_t held_us;
    bool hangs;
    int32_t hung_mc;
    uint32_t n_stuck; /* ticks */
};

static void tick(struct run *run)
{
    struct governor_input input = { .now_us = (run->plant.n_steps + 1) * PLANT_STEP_US, .n_zones = 1 };
    int32_t temp_mc = (int32_t)lround(run->plant.reading * 1000.0);

    run->hung_mc = run->hangs ? run->hung_mc : temp_mc;
    input.zones[0] = (struct governor_zone){ .sight = GOVERNOR_SEEN,
                                             .at_us = run->plant.reading_us,
                                             .temp_mc = run->hung_mc,
                                             .passive_mc = GOVERNOR_NO_TRIP,
                                             .critical_mc = GOVERNOR_NO_TRIP };
    input.held_us[PROCESSOR_CPU] = run->held_us;
    governor_tick(&run->governor, &input);
    run->share = run->wants ? run->governor.limits[PROCESSOR_CPU].duty_permille / 1000.0 : 0.0;
    run->held_us = 0;
    run->n_stuck += run->governor.heat.zones[0].stuck.is_stuck;
}

static void start(struct run *run, int i)
{
    const struct governor_policy policy = { .target_mc = (int32_t)(TARGET * 1000.0) };

    *run = (struct run){ .seed = UINT64_C(0x9E3779B97F4A7C15) * (uint64_t)(i + 1) };
    plant_draw(&run->plant, &run->seed, TARGET);
    governor_init(&run->governor, &policy);
    plant_start(&run->plant, run->plant.ambient + 0.5 * run->plant.others * run->plant.resistance);
}

/* Work comes and goes after 20 to 80 s, or never stops with @always; others' heat changes as often. */
static void go(struct run *run, uint32_t seconds, bool always)
{
    double others = run->plant.others;
    uint32_t other_in = 0;

    for (uint32_t i = 0; i < seconds * STEPS_S; i++) {
        if (run->n_wants == 0) {
            run->wants = always || !run->wants;
            run->n_wants = (uint32_t)((20.0 + 60.0 * plant_chance(&run->seed)) * STEPS_S);
        }
        if (other_in == 0) {
            run->plant.others = others * (0.5 + plant_chance(&run->seed));
            other_in = (uint32_t)((20.0 + 60.0 * plant_chance(&run->seed)) * STEPS_S);
        }
        run->n_wants--;
        other_in--;
        if (i % TICK_STEPS == 0) {
            tick(run);
        }
        plant_step(&run->plant, run->share);
        run->held_us += (uint64_t)(run->share * PLANT_STEP_US);
    }
    run->plant.others = others;
}

/* Others' heat may happen to balance ours, and a sensor of whole degrees shows neither: one plant in a hundred, in
 * ten minutes in which others change their heat as often as we do. That ends by itself. */
START_TEST(a_working_sensor_is_rarely_called_stuck_and_not_for_long)
{
    int n_called = 0;

    for (int i = 0; i < N_PLANTS; i++) {
        struct run run;

        start(&run, i);
        go(&run, 600, i % 2);

        ck_assert_msg(run.n_stuck < CALLED_TICKS, "plant %d: stuck for %u ticks", i, run.n_stuck);
        n_called += run.n_stuck > 0;
    }
    ck_assert_int_le(n_called, N_PLANTS / 100);
}
END_TEST

START_TEST(one_that_hangs_is_found_wherever_it_has_shown_that_it_follows_us)
{
    int n_known = 0;
    int n_found = 0;

    for (int i = 0; i < N_PLANTS; i++) {
        struct run run;

        start(&run, i);
        go(&run, LEARNS_S, false);
        run.hangs = true;
        n_known += run.governor.heat.zones[0].stuck.gain > 0.0;
        go(&run, FINDS_S, false);
        n_found += run.n_stuck > 0;
    }

    printf("# of %d plants %d had shown their gain; %d were found\n", N_PLANTS, n_known, n_found);
    ck_assert_int_ge(n_known, 2 * N_PLANTS / 5); /* others moved the rest more than we did */
    ck_assert_int_ge(n_found, n_known * 9 / 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stuck");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, setup, NULL);
    tcase_set_timeout(facts, 60);
    tcase_add_test(facts, a_constant_zone_is_stuck_when_our_heat_comes);
    tcase_add_test(facts, a_constant_zone_is_stuck_when_our_heat_goes);
    tcase_add_test(facts, a_constant_zone_is_steady_while_nothing_changes);
    tcase_add_test(facts, a_zone_that_we_hardly_warm_may_stay_constant);
    tcase_add_test(facts, one_that_never_followed_us_is_not_judged);
    tcase_add_test(facts, it_takes_longer_than_any_delay);
    tcase_add_test(facts, one_that_moves_again_is_believed);
    tcase_add_test(facts, a_working_sensor_is_rarely_called_stuck_and_not_for_long);
    tcase_add_test(facts, one_that_hangs_is_found_wherever_it_has_shown_that_it_follows_us);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
