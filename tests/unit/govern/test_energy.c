/* Joules: what is measured or estimated, which requests are charged, and what the budget of a minute does. */
#include "govern/usage.h"
#include "unit.h"
#include <math.h>

#define SECOND UINT64_C(1000000)
#define UID    1000

static struct energy energy;
static struct usage_table usage_table;
static uint64_t now_us;
static uint64_t meter_uj;
static uint64_t held_us;

static void setup(void)
{
    energy_init(&energy, &(struct energy_stated){ 0 });
    usage_table_init(&usage_table);
    now_us = SECOND;
    meter_uj = 0;
    held_us = 0;
}

static void teardown(void)
{
    usage_table_finish(&usage_table);
}

/* Runs for @n tenths of a second in which our work holds @share at @ours_w and the rest of the chip takes @others_w.
 * Steps of 10 ms are charged as they end. */
static uint64_t run(int n, double share, double ours_w, double others_w)
{
    uint64_t charged = 0;
    enum energy_source source;

    for (int i = 0; i < n; i++) {
        for (double held = 0.0; held + 0.0099 < 0.1 * share; held += 0.01) {
            charged += energy_charge(&energy, 10000, &source);
            held_us += 10000;
        }
        now_us += SECOND / 10;
        meter_uj += (uint64_t)llround((others_w + ours_w * share) * 1e5);
        energy_read(&energy, now_us, meter_uj, held_us);
    }
    return charged;
}

START_TEST(what_the_meter_shows_above_our_pauses_is_charged_in_full)
{
    uint64_t charged;

    run(20, 0.0, 0.0, 3.0);
    charged = run(300, 0.5, 4.0, 3.0); /* 30 s at half of 4 W */

    ck_assert_uint_ge(charged, 58 * SECOND);
    ck_assert_uint_le(charged, 61 * SECOND);
}
END_TEST

START_TEST(watts_that_change_are_followed)
{
    uint64_t charged;

    run(20, 0.0, 0.0, 3.0);
    run(300, 0.5, 4.0, 3.0);
    charged = run(600, 0.5, 2.0, 3.0);

    ck_assert_uint_ge(charged, 57 * SECOND);
    ck_assert_uint_le(charged, 64 * SECOND);
}
END_TEST

/* A step of 0.6 s ends just after a reading, then follow 4 s without work, and so on: 4 W of ours above 3 of others. */
START_TEST(a_step_that_ends_behind_a_reading_is_charged_once)
{
    enum energy_source source;
    uint64_t charged = 0;
    const int n_bursts = 60;

    run(20, 0.0, 0.0, 3.0);
    for (int i = 0; i < n_bursts; i++) {
        for (int k = 1; k <= 5; k++) { /* readings each second; the first shows work that has not ended */
            now_us += SECOND;
            meter_uj += 3 * SECOND + (k == 1 ? 6 * 4 * SECOND / 10 : 0);
            held_us += k == 1 ? 6 * SECOND / 10 : 0;
            energy_read(&energy, now_us, meter_uj, held_us);
            charged += k == 1 ? energy_charge(&energy, 6 * SECOND / 10, &source) : 0;
        }
    }

    ck_assert_uint_ge(charged, (uint64_t)(0.95 * n_bursts * 2.4e6));
    ck_assert_uint_le(charged, (uint64_t)(1.05 * n_bursts * 2.4e6));
}
END_TEST

static uint64_t random_below(uint64_t *state, uint64_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % n;
}

/* Steps and pauses of any length, with readings at any time: 3 W of others, 4 W of ours. */
START_TEST(whatever_the_pattern_the_accounts_add_up_to_the_meter)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t state = seed;
        uint64_t longest_us = 20000 + random_below(&state, 2 * SECOND);
        uint64_t pause_us = longest_us / 2 + random_below(&state, 4 * longest_us);
        uint64_t every_us = 50000 + random_below(&state, 2 * SECOND);
        uint64_t step_ends_us = 0;
        uint64_t step_us = 0;
        uint64_t next_us;
        uint64_t charged = 0;
        uint64_t begun_uj;
        enum energy_source source;

        setup();
        run(20, 0.0, 0.0, 3.0);
        begun_uj = held_us * 4;
        next_us = now_us + random_below(&state, pause_us);
        for (uint64_t end_us = now_us + 600 * SECOND, read_us = now_us; now_us < end_us;) {
            uint64_t until_us = step_ends_us ? step_ends_us : next_us;
            uint64_t at_us = until_us < read_us + every_us ? until_us : read_us + every_us;

            meter_uj += (at_us - now_us) * (step_ends_us ? 7 : 3);
            held_us += step_ends_us ? at_us - now_us : 0;
            now_us = at_us;
            if (at_us == read_us + every_us) {
                read_us = at_us;
                energy_read(&energy, now_us, meter_uj, held_us);
            } else if (step_ends_us) {
                charged += energy_charge(&energy, step_us, &source);
                step_ends_us = 0;
                next_us = now_us + 1 + random_below(&state, pause_us);
            } else {
                step_us = 1 + random_below(&state, longest_us);
                step_ends_us = now_us + step_us;
            }
        }
        ck_assert_msg(fabs((double)charged / (double)(held_us * 4 - begun_uj) - 1.0) < 0.1,
                      "seed %d: %.1f J charged, %.1f J were ours", (int)seed, (double)charged / 1e6,
                      (double)(held_us * 4 - begun_uj) / 1e6);
        teardown();
    }
    setup();
}
END_TEST

START_TEST(a_meter_that_never_saw_us_rest_says_nothing_of_us)
{
    enum energy_source source;

    run(50, 0.5, 4.0, 3.0);

    ck_assert_uint_eq(energy_charge(&energy, 10000, &source), 0);
    ck_assert_int_eq(source, ENERGY_UNKNOWN);
}
END_TEST

START_TEST(stated_watts_are_an_estimate)
{
    enum energy_source source;

    energy_configure(&energy, &(struct energy_stated){ .active_mw = 7000, .idle_mw = 2000 });

    ck_assert_uint_eq(energy_charge(&energy, 200000, &source), 1000000); /* 5 W for 0.2 s */
    ck_assert_int_eq(source, ENERGY_ESTIMATED);
}
END_TEST

START_TEST(without_meter_and_statement_it_is_unknown)
{
    enum energy_source source;

    ck_assert_uint_eq(energy_charge(&energy, 200000, &source), 0);
    ck_assert_int_eq(source, ENERGY_UNKNOWN);
}
END_TEST

START_TEST(a_meter_counts_more_than_a_statement_until_it_is_gone)
{
    enum energy_source source;

    energy_configure(&energy, &(struct energy_stated){ .active_mw = 7000, .idle_mw = 2000 });
    run(20, 0.0, 0.0, 3.0);
    run(50, 0.5, 1.0, 3.0);
    energy_charge(&energy, 10000, &source);
    ck_assert_int_eq(source, ENERGY_MEASURED);

    energy_lose_meter(&energy);

    energy_charge(&energy, 10000, &source);
    ck_assert_int_eq(source, ENERGY_ESTIMATED);
}
END_TEST

START_TEST(a_meter_that_restarts_charges_no_request)
{
    enum energy_source source;
    uint64_t before;

    run(20, 0.0, 0.0, 3.0);
    run(50, 0.5, 4.0, 3.0);
    before = (uint64_t)energy.with_us;
    energy_read(&energy, now_us + SECOND, 5, held_us);

    ck_assert_uint_eq((uint64_t)energy.with_us, before);
    ck_assert_uint_lt(energy_charge(&energy, 10000, &source), 100000);
}
END_TEST

START_TEST(parts_of_a_step_add_up_to_the_step)
{
    const double parts[3] = { 1.0, 1.0, 1.0 };
    uint64_t uj[3];

    energy_divide(1000, parts, 3, uj);

    ck_assert_uint_eq(uj[0] + uj[1] + uj[2], 1000);
    ck_assert_uint_le(uj[2] - uj[0], 1);
}
END_TEST

START_TEST(more_work_is_charged_more)
{
    const double parts[2] = { 30.0, 10.0 };
    uint64_t uj[2];

    energy_divide(4000, parts, 2, uj);

    ck_assert_uint_eq(uj[0], 3000);
    ck_assert_uint_eq(uj[1], 1000);
}
END_TEST

START_TEST(parts_without_work_share_evenly)
{
    const double parts[2] = { 0.0, 0.0 };
    uint64_t uj[2];

    energy_divide(7, parts, 2, uj);

    ck_assert_uint_eq(uj[0] + uj[1], 7);
}
END_TEST

START_TEST(a_sum_is_as_certain_as_its_least_certain_part)
{
    ck_assert_int_eq(energy_sum_source(ENERGY_MEASURED, ENERGY_ESTIMATED), ENERGY_ESTIMATED);
    ck_assert_int_eq(energy_sum_source(ENERGY_UNKNOWN, ENERGY_MEASURED), ENERGY_MEASURED);
    ck_assert_int_eq(energy_sum_source(ENERGY_UNKNOWN, ENERGY_UNKNOWN), ENERGY_UNKNOWN);
}
END_TEST

START_TEST(a_budget_holds_back_until_there_is_room_again)
{
    struct usage *usage = usage_table_get(&usage_table, UID);
    uint64_t wait_us;

    usage_charge(usage, 90 * SECOND, ENERGY_MEASURED, 60, now_us); /* 90 J of 60 J a minute */
    wait_us = usage_wait_us(usage, 60, now_us);
    ck_assert_uint_ge(wait_us, 30 * SECOND);

    ck_assert_uint_gt(usage_wait_us(usage, 60, now_us + wait_us / 2), 0);
    ck_assert_uint_eq(usage_wait_us(usage, 60, now_us + wait_us + 1000), 0);
}
END_TEST

START_TEST(half_a_budget_delays_no_request)
{
    struct usage *usage = usage_table_get(&usage_table, UID);

    usage_charge(usage, 30 * SECOND, ENERGY_MEASURED, 60, now_us);

    ck_assert_uint_eq(usage_wait_us(usage, 60, now_us), 0);
}
END_TEST

START_TEST(without_a_budget_only_totals_are_kept)
{
    struct usage *usage = usage_table_get(&usage_table, UID);

    usage_charge(usage, 3000 * SECOND, ENERGY_ESTIMATED, 0, now_us);

    ck_assert_uint_eq(usage_wait_us(usage, 0, now_us), 0);
    ck_assert_uint_eq(usage_wait_us(usage, 60, now_us), 0);
    ck_assert_uint_eq(usage->energy_uj, 3000 * SECOND);
    ck_assert_int_eq(usage->source, ENERGY_ESTIMATED);
}
END_TEST

START_TEST(thousands_of_users_do_not_make_it_grow_for_ever)
{
    size_t at = 0;
    size_t n = 0;

    for (uint32_t uid = 0; uid < 2 * USAGE_MOST; uid++) {
        usage_table_get(&usage_table, uid);
    }
    while (usage_table_next(&usage_table, &at)) {
        n++;
    }

    ck_assert_uint_eq(n, USAGE_MOST);
    ck_assert_ptr_null(usage_table_get(&usage_table, 5 * USAGE_MOST));
    ck_assert_ptr_nonnull(usage_table_get(&usage_table, 1));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("energy");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, setup, teardown);
    tcase_add_test(facts, what_the_meter_shows_above_our_pauses_is_charged_in_full);
    tcase_add_test(facts, a_step_that_ends_behind_a_reading_is_charged_once);
    tcase_add_test(facts, whatever_the_pattern_the_accounts_add_up_to_the_meter);
    tcase_add_test(facts, watts_that_change_are_followed);
    tcase_add_test(facts, a_meter_that_never_saw_us_rest_says_nothing_of_us);
    tcase_add_test(facts, stated_watts_are_an_estimate);
    tcase_add_test(facts, without_meter_and_statement_it_is_unknown);
    tcase_add_test(facts, a_meter_counts_more_than_a_statement_until_it_is_gone);
    tcase_add_test(facts, a_meter_that_restarts_charges_no_request);
    tcase_add_test(facts, parts_of_a_step_add_up_to_the_step);
    tcase_add_test(facts, more_work_is_charged_more);
    tcase_add_test(facts, parts_without_work_share_evenly);
    tcase_add_test(facts, a_sum_is_as_certain_as_its_least_certain_part);
    tcase_add_test(facts, a_budget_holds_back_until_there_is_room_again);
    tcase_add_test(facts, half_a_budget_delays_no_request);
    tcase_add_test(facts, without_a_budget_only_totals_are_kept);
    tcase_add_test(facts, thousands_of_users_do_not_make_it_grow_for_ever);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
