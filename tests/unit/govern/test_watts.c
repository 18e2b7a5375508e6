/* Watts: a ceiling of 6 W, on a chip where a full share of ours takes 6 W, beside others' 2 W and more. */
#include "govern/governor.h"
#include "unit.h"
#include <math.h>

#define TICK_S    0.05
#define CEILING_W 6.0
#define OURS_W    6.0
#define USUAL_W   2.0

static const struct governor_policy policy = { .power_mw = 6000, .heat_grace_ms = 3000 };
static struct watts watts;
static struct governor_input in;
static double meter_w; /* what it shows: it averages half a second */
static double share;
static double above_j; /* energy above the ceiling */
static uint32_t n_ticks;

static void setup(void)
{
    watts_init(&watts);
    in = (struct governor_input){ .now_us = 1000000, .power = { .sight = GOVERNOR_SEEN } };
    meter_w = USUAL_W;
    share = 1.0;
    above_j = 0.0;
    n_ticks = 0;
}

/* Runs for @s seconds beside @others_w; @want is the part of the share that there is work for. */
static void run(double s, double others_w, double want)
{
    for (double at_s = 0.0; at_s < s; at_s += TICK_S) {
        double used = share * want;
        double watts_now = others_w + OURS_W * used;
        struct governor_bound bound;

        meter_w += (watts_now - meter_w) * (1.0 - exp(-TICK_S / 0.5));
        above_j += fmax(0.0, watts_now - CEILING_W) * TICK_S;
        in.now_us += (uint64_t)(TICK_S * 1e6);
        in.power.mw = (uint32_t)(meter_w * 1000.0);
        if (n_ticks++ % 4 == 0) {
            in.power.at_us = in.now_us;
        }
        watts_tick(&watts, &policy, &in, TICK_S, used, &bound);
        share = bound.duty_permille / 1000.0;
    }
}

/* Work that comes and goes shows what it costs. */
static void run_work(double s, double others_w)
{
    for (double at_s = 0.0; at_s < s; at_s += 10.0) {
        run(5.0, others_w, 1.0);
        run(5.0, others_w, 0.5);
    }
}

START_TEST(a_rise_of_others_is_above_the_ceiling_only_until_the_meter_shows_it)
{
    run_work(60.0, USUAL_W);
    above_j = 0.0;
    run(30.0, USUAL_W + 3.0, 1.0);

    ck_assert_double_lt(above_j, 3.0); /* a second of it: the meter averages for half of one */
    ck_assert_double_lt(fabs(share - 1.0 / 6.0), 0.03);
}
END_TEST

START_TEST(when_others_need_less_we_have_it_within_seconds)
{
    run_work(60.0, USUAL_W);
    run(30.0, USUAL_W + 3.0, 1.0);
    run(6.0, USUAL_W, 1.0);

    ck_assert_double_gt(share, 0.6);
    ck_assert_double_lt(share, 0.7);
}
END_TEST

START_TEST(work_that_begins_again_does_not_pass_the_ceiling_for_long)
{
    run_work(60.0, USUAL_W);
    above_j = 0.0;
    for (uint32_t i = 0; i < 6; i++) {
        run(10.0, USUAL_W, 0.1);
        run(10.0, USUAL_W, 1.0);
    }

    ck_assert_double_lt(above_j, 6 * 2.0);
}
END_TEST

START_TEST(the_least_share_remains_beside_others_above_the_ceiling)
{
    run_work(60.0, USUAL_W);
    run(60.0, CEILING_W + 2.0, 1.0);
    ck_assert_double_eq(share, 0.01);

    run(30.0, USUAL_W, 1.0); /* and grows again */
    ck_assert_double_gt(share, 0.6);
}
END_TEST

START_TEST(a_share_that_stays_tells_nothing_of_its_watts)
{
    run_work(60.0, USUAL_W);
    double known_mw = watts.ours_mw;

    for (uint32_t i = 0; i < 120; i++) {
        share = 0.3;
        run(TICK_S, USUAL_W, 1.0);
    }
    for (uint32_t i = 0; i < 2400; i++) { /* others' power swings meanwhile */
        share = 0.3 + 0.01 * (i % 2);
        run(TICK_S, USUAL_W + 1.0 + sin(i / 60.0), 1.0);
    }

    ck_assert_double_gt(known_mw, 4000.0);
    ck_assert_double_lt(fabs(watts.ours_mw - known_mw), 0.5 * known_mw);
}
END_TEST

START_TEST(without_a_meter_there_is_no_ceiling)
{
    struct governor_bound bound;

    in.power.sight = GOVERNOR_NONE;
    watts.share = 0.5;
    watts_tick(&watts, &policy, &in, TICK_S, 1.0, &bound);

    ck_assert_uint_eq(bound.duty_permille, 1000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("govern-watts");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, setup, NULL);
    tcase_add_test(facts, a_rise_of_others_is_above_the_ceiling_only_until_the_meter_shows_it);
    tcase_add_test(facts, when_others_need_less_we_have_it_within_seconds);
    tcase_add_test(facts, work_that_begins_again_does_not_pass_the_ceiling_for_long);
    tcase_add_test(facts, the_least_share_remains_beside_others_above_the_ceiling);
    tcase_add_test(facts, a_share_that_stays_tells_nothing_of_its_watts);
    tcase_add_test(facts, without_a_meter_there_is_no_ceiling);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
