/* A sensor that hangs and still answers is found by taking our own heat away, and a working one is rarely taken for
 * it: alone, and with the whole governor on random plants. */
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

/* Runs for @seconds at that share, less what a question takes. The reading is @base plus @gain of it. Returns true if
 * it was called stuck in the end. */
static bool pass(uint32_t seconds, double share, double base, double gain)
{
    for (uint32_t i = 0; i < 20 * seconds; i++) {
        double used = share * stuck_part(&stuck);

        stuck_look(&stuck, (int32_t)(1000.0 * floor(base + gain * used)), 1.0, used, 0.05);
    }
    return stuck.is_stuck;
}

/* Warms up, so that the zone shows that it follows us. */
static void prove(void)
{
    pass(5, 0.0, 40.0, 20.0);
    pass(5, 1.0, 40.0, 20.0);
}

START_TEST(a_constant_zone_is_stuck_when_it_does_not_answer)
{
    prove();

    ck_assert(!pass(50, 1.0, 60.0, 0.0)); /* the longest that it may take is not over */
    ck_assert(pass(60, 1.0, 60.0, 0.0));
}
END_TEST

START_TEST(a_zone_that_answers_is_asked_less_and_never_called_stuck)
{
    uint32_t n_asked = 0;

    prove();
    for (uint32_t i = 0; i < 600; i++) {
        bool was_asked = stuck_part(&stuck) < 1.0;

        ck_assert(!pass(1, 0.5, 40.0, 20.0));
        n_asked += !was_asked && stuck_part(&stuck) < 1.0;
    }

    ck_assert_uint_le(n_asked, 12);
}
END_TEST

START_TEST(while_a_value_stands_still_the_share_may_not_grow)
{
    prove();
    ck_assert(!stuck_is_still(&stuck));

    pass(15, 1.0, 60.0, 0.0);

    ck_assert(stuck_is_still(&stuck));
}
END_TEST

START_TEST(nothing_is_asked_while_we_do_not_work)
{
    prove();

    ck_assert(!pass(1000, 0.0, 40.0, 0.0));
    ck_assert_double_eq(stuck_part(&stuck), 1.0);
}
END_TEST

START_TEST(one_that_never_followed_us_is_not_judged)
{
    for (int i = 0; i < 10; i++) {
        ck_assert(!pass(60, i % 2, 27.0, 0.0));
    }
}
END_TEST

START_TEST(one_that_moves_again_is_believed_and_has_to_show_again_that_it_follows)
{
    prove();
    ck_assert(pass(200, 1.0, 60.0, 0.0));

    ck_assert(!pass(1, 1.0, 61.0, 0.0));
    ck_assert(!pass(500, 1.0, 61.0, 0.0));
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
        n_known += run.governor.heat.zones[0].stuck.follows;
        go(&run, FINDS_S, false);
        n_found += run.n_stuck > 0;
    }

    printf("# of %d plants %d had shown that they follow; %d were found\n", N_PLANTS, n_known, n_found);
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
    tcase_add_test(facts, a_constant_zone_is_stuck_when_it_does_not_answer);
    tcase_add_test(facts, a_zone_that_answers_is_asked_less_and_never_called_stuck);
    tcase_add_test(facts, while_a_value_stands_still_the_share_may_not_grow);
    tcase_add_test(facts, nothing_is_asked_while_we_do_not_work);
    tcase_add_test(facts, one_that_never_followed_us_is_not_judged);
    tcase_add_test(facts, one_that_moves_again_is_believed_and_has_to_show_again_that_it_follows);
    tcase_add_test(facts, a_working_sensor_is_rarely_called_stuck_and_not_for_long);
    tcase_add_test(facts, one_that_hangs_is_found_wherever_it_has_shown_that_it_follows_us);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
