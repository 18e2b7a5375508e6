/* Which source is read when, which one decides, and what becomes of one that hangs. */
#include "bench.h"
#include "unit.h"

START_TEST(everything_is_read_once_a_second_by_default)
{
    struct bench bench;
    struct fake heat;
    struct fake load;

    bench_open(&bench);
    fake_init(&heat, READING_TEMPERATURE, "zone", 0);
    fake_init(&load, READING_GRAPHICS_LOAD, "load", 0);
    load.source.slow_ms = 50;
    heat.source.critical_mc = 50000;
    fake_says(&heat, READING_OK, 49500);
    bench_found(&bench, (struct fake *[]){ &heat, &load }, 2);

    bench_run(&bench, 5000);

    ck_assert_uint_eq(fake_n_reads(&heat), 6); /* at the begin, and after each second */
    ck_assert_uint_eq(fake_n_reads(&load), 6);
    bench_close(&bench);
}
END_TEST

START_TEST(load_is_read_at_the_requested_rate_and_the_rest_at_its_own)
{
    struct bench bench;
    struct fake load;
    struct fake other;
    struct fake memory;

    bench_open(&bench);
    fake_init(&load, READING_GRAPHICS_LOAD, "first", 0);
    fake_init(&other, READING_GRAPHICS_LOAD, "second", 1);
    fake_init(&memory, READING_MEMORY_AVAILABLE, "memory", 0);
    bench_found(&bench, (struct fake *[]){ &load, &other, &memory }, 3);
    sampler_set_rate(&bench.sampler, 50, bench.now_us);

    bench_run(&bench, 2000);

    ck_assert_uint_eq(fake_n_reads(&load), 41);
    ck_assert_uint_eq(fake_n_reads(&other), 3);
    ck_assert_uint_eq(fake_n_reads(&memory), 3);
    bench_close(&bench);
}
END_TEST

START_TEST(a_load_without_an_interval_is_read_again_soon_at_any_rate)
{
    struct bench bench;
    struct fake load;

    bench_open(&bench);
    fake_init(&load, READING_GRAPHICS_LOAD, "load", 0);
    load.source.slow_ms = 50;
    fake_early(&load);
    bench_found(&bench, (struct fake *[]){ &load }, 1);
    bench_run(&bench, 10);
    ck_assert(bench_channel(&bench, &load)->in_use);
    fake_says(&load, READING_OK, 100);

    bench_run(&bench, 70);
    ck_assert_int_eq(bench_channel(&bench, &load)->now.state, READING_OK);
    bench_run(&bench, 2000);

    ck_assert_uint_le(fake_n_reads(&load), 5); /* and from then on once a second */
    bench_close(&bench);
}
END_TEST

START_TEST(nothing_is_read_faster_than_the_minimum_period)
{
    struct bench bench;
    struct fake load;

    bench_open(&bench);
    bench.sampler.least_ms = 500;
    fake_init(&load, READING_GRAPHICS_LOAD, "load", 0);
    load.source.slow_ms = 50;
    fake_early(&load);
    bench_found(&bench, (struct fake *[]){ &load }, 1);

    bench_run(&bench, 1900);

    ck_assert_uint_eq(fake_n_reads(&load), 4);
    bench_close(&bench);
}
END_TEST

START_TEST(a_rate_is_kept_in_range)
{
    struct bench bench;
    struct fake load;

    bench_open(&bench);
    fake_init(&load, READING_GRAPHICS_LOAD, "load", 0);
    bench_found(&bench, (struct fake *[]){ &load }, 1);

    sampler_set_rate(&bench.sampler, 0, bench.now_us);
    ck_assert_uint_eq(bench.sampler.rate_ms, 10);
    sampler_set_rate(&bench.sampler, UINT32_MAX, bench.now_us);
    ck_assert_uint_eq(bench.sampler.rate_ms, 1000);
    bench_close(&bench);
}
END_TEST

START_TEST(heat_near_a_trip_is_read_faster_while_there_is_work)
{
    static const struct {
        int32_t temp_mc;
        uint32_t n_reads; /* in two seconds */
    } rows[] = { { 40000, 2 }, { 78000, 8 }, { 83000, 20 }, { 90000, 20 } };

    for (size_t i = 0; i < COUNTOF(rows); i++) {
        struct bench bench;
        struct fake heat;
        uint32_t before;

        bench_open(&bench);
        fake_init(&heat, READING_TEMPERATURE, "zone", 0);
        heat.source.passive_mc = 85000;
        fake_says(&heat, READING_OK, rows[i].temp_mc);
        bench_found(&bench, (struct fake *[]){ &heat }, 1);
        sampler_set_rate(&bench.sampler, 50, bench.now_us);
        bench_run(&bench, 1000);
        before = fake_n_reads(&heat);

        bench_run(&bench, 2000);

        ck_assert_uint_ge(fake_n_reads(&heat) - before, rows[i].n_reads);
        ck_assert_uint_le(fake_n_reads(&heat) - before, rows[i].n_reads + 1);
        bench_close(&bench);
    }
}
END_TEST

/* Nobody waits for an answer that is overdue, so its reader needs time of its own to come round. */
static void wait_until_ok(struct bench *bench, const struct fake *fake)
{
    for (int i = 0; i < 10000 && bench_channel(bench, fake)->now.state != READING_OK; i++) {
        usleep(1000);
        bench_run(bench, 10);
    }
}

START_TEST(a_source_that_hangs_is_stale_keeps_its_value_and_blocks_no_other)
{
    struct bench bench;
    struct fake hung;
    struct fake other;
    uint32_t before;

    bench_open(&bench);
    fake_init(&hung, READING_TEMPERATURE, "hung", 0);
    fake_init(&other, READING_TEMPERATURE, "other", 1);
    fake_says(&hung, READING_OK, 45000);
    bench_found(&bench, (struct fake *[]){ &hung, &other }, 2);
    bench_run(&bench, 100);
    fake_shut(&hung, true);
    bench_run(&bench, 2200);
    before = fake_n_reads(&other);

    bench_run(&bench, 3000);

    ck_assert_int_eq(bench_channel(&bench, &hung)->now.state, READING_STALE);
    ck_assert_int_eq(bench_channel(&bench, &hung)->now.value, 45000);
    ck_assert_str_eq(bench_channel(&bench, &hung)->now.why, "it does not answer");
    ck_assert_uint_ge(fake_n_reads(&other) - before, 3);
    ck_assert_int_eq(bench_channel(&bench, &other)->now.state, READING_OK);
    ck_assert_uint_eq(fake_n_reads(&hung), 2);
    fake_says(&hung, READING_OK, 46000);
    fake_shut(&hung, false);
    wait_until_ok(&bench, &hung);
    bench_run(&bench, 1500);
    ck_assert_int_eq(bench_channel(&bench, &hung)->now.state, READING_OK);
    ck_assert_int_eq(bench_channel(&bench, &hung)->now.value, 46000);
    bench_close(&bench);
}
END_TEST

START_TEST(there_are_at_most_sixteen_readers_and_the_last_is_shared)
{
    struct bench bench;
    struct fake fakes[20];
    struct fake *list[20];

    bench_open(&bench);
    for (size_t i = 0; i < COUNTOF(fakes); i++) {
        fake_init(&fakes[i], READING_TEMPERATURE, "zone", (uint32_t)i);
        fakes[i].source.may_block = true;
        list[i] = &fakes[i];
    }
    bench_found(&bench, list, COUNTOF(list));

    bench_run(&bench, 100);

    ck_assert_uint_eq(bench.readers.n, READERS_MAX);
    for (size_t i = 0; i < COUNTOF(fakes); i++) {
        ck_assert_uint_eq(fake_n_reads(&fakes[i]), 1);
    }
    bench_close(&bench);
}
END_TEST

START_TEST(of_one_quantity_the_lowest_rank_that_is_ok_is_in_use)
{
    struct bench bench;
    struct fake first;
    struct fake second;

    bench_open(&bench);
    fake_init(&first, READING_POWER, "first", 1);
    fake_init(&second, READING_POWER, "second", 2);
    fake_says(&first, READING_ABSENT, 0);
    bench_found(&bench, (struct fake *[]){ &first, &second }, 2);

    bench_run(&bench, 1000);

    ck_assert(!bench_channel(&bench, &first)->in_use);
    ck_assert(bench_channel(&bench, &second)->in_use);
    bench_close(&bench);
}
END_TEST

START_TEST(a_choice_changes_only_for_lasting_differences)
{
    struct bench bench;
    struct fake first;
    struct fake second;

    bench_open(&bench);
    fake_init(&first, READING_POWER, "first", 1);
    fake_init(&second, READING_POWER, "second", 2);
    bench_found(&bench, (struct fake *[]){ &first, &second }, 2);
    bench_run(&bench, 3000);
    ck_assert(bench_channel(&bench, &first)->in_use);

    fake_says(&first, READING_STALE, 0);
    bench_run(&bench, 1000);
    ck_assert(bench_channel(&bench, &first)->in_use);
    bench_run(&bench, 3000);
    ck_assert(bench_channel(&bench, &second)->in_use);
    fake_says(&first, READING_OK, 5);
    bench_run(&bench, 1000);
    ck_assert(bench_channel(&bench, &second)->in_use);
    bench_run(&bench, 3000);
    ck_assert(bench_channel(&bench, &first)->in_use);
    bench_close(&bench);
}
END_TEST

START_TEST(without_existing_sources_none_is_in_use)
{
    struct bench bench;
    struct fake load;

    bench_open(&bench);
    fake_init(&load, READING_GRAPHICS_LOAD, "load", 0);
    fake_says(&load, READING_ABSENT, 0);
    bench_found(&bench, (struct fake *[]){ &load }, 1);

    bench_run(&bench, 3000);

    ck_assert(!bench_channel(&bench, &load)->in_use);
    bench_close(&bench);
}
END_TEST

START_TEST(a_source_passed_over_or_aside_is_never_read_or_in_use)
{
    struct bench bench;
    struct fake passed;
    struct fake aside;

    bench_open(&bench);
    fake_init(&passed, READING_TEMPERATURE, "passed over", SOURCE_PASSED_OVER);
    fake_init(&aside, READING_GRAPHICS_LOAD, "aside", 0);
    aside.source.is_aside = true;
    scan_result_add(&bench.scan_result, &passed.source);
    scan_result_add(&bench.scan_result, &aside.source);
    ck_assert_int_eq(sampler_take_scan(&bench.sampler, &bench.scan_result, bench.now_us), 0);

    bench_run(&bench, 1500);

    ck_assert_uint_eq(fake_n_reads(&passed), 0);
    ck_assert(!bench_channel(&bench, &passed)->in_use);
    ck_assert_uint_eq(fake_n_reads(&aside), 0);
    ck_assert(!bench_channel(&bench, &aside)->in_use);

    bench.scan_result.n_sources = 0;
    aside.source.is_aside = false;
    scan_result_add(&bench.scan_result, &aside.source);
    ck_assert_int_eq(sampler_take_scan(&bench.sampler, &bench.scan_result, bench.now_us), 0);
    bench_run(&bench, 1500);
    ck_assert_uint_gt(fake_n_reads(&aside), 0);
    ck_assert(bench_channel(&bench, &aside)->in_use);
    bench_close(&bench);
}
END_TEST

START_TEST(all_zones_count)
{
    struct bench bench;
    struct fake one;
    struct fake other;

    bench_open(&bench);
    fake_init(&one, READING_TEMPERATURE, "one", 0);
    fake_init(&other, READING_TEMPERATURE, "other", 3);
    bench_found(&bench, (struct fake *[]){ &one, &other }, 2);

    ck_assert(bench_channel(&bench, &one)->in_use);
    ck_assert(bench_channel(&bench, &other)->in_use);
    bench_close(&bench);
}
END_TEST

START_TEST(a_second_scan_keeps_ids_and_assigns_new_ones_to_new_sources)
{
    struct bench bench;
    struct fake one;
    struct fake other;
    uint32_t id;

    bench_open(&bench);
    fake_init(&one, READING_TEMPERATURE, "one", 0);
    fake_init(&other, READING_TEMPERATURE, "other", 1);
    bench_found(&bench, (struct fake *[]){ &one }, 1);
    id = bench_channel(&bench, &one)->id;
    bench.sampler.has_changed = false;
    bench_found(&bench, (struct fake *[]){ &one }, 1);
    ck_assert(!bench.sampler.has_changed);

    bench_found(&bench, (struct fake *[]){ &other, &one }, 2);

    ck_assert(bench.sampler.has_changed);
    ck_assert_uint_eq(bench_channel(&bench, &one)->id, id);
    ck_assert_uint_gt(bench_channel(&bench, &other)->id, id);
    bench_close(&bench);
}
END_TEST

START_TEST(an_event_causes_an_immediate_reading_of_temperatures_only)
{
    struct bench bench;
    struct fake heat;
    struct fake memory;

    bench_open(&bench);
    fake_init(&heat, READING_TEMPERATURE, "zone", 0);
    fake_init(&memory, READING_MEMORY_AVAILABLE, "memory", 0);
    bench_found(&bench, (struct fake *[]){ &heat, &memory }, 2);
    bench_run(&bench, 100);

    sampler_hurry(&bench.sampler, bench.now_us);
    bench_run(&bench, 100);

    ck_assert_uint_eq(fake_n_reads(&heat), 2);
    ck_assert_uint_eq(fake_n_reads(&memory), 1);
    bench_close(&bench);
}
END_TEST

START_TEST(clients_come_with_the_reading)
{
    struct bench bench;
    struct fake load;

    bench_open(&bench);
    fake_init_clients(&load, READING_GRAPHICS_LOAD, "fdinfo", 0);
    load.clients[0] = (struct source_client){ .minor = 128, .id = 7, .pid = 77, .graphics_permille = 300 };
    load.n_clients = 1;
    bench_found(&bench, (struct fake *[]){ &load }, 1);

    bench_run(&bench, 100);

    ck_assert_uint_eq(bench_channel(&bench, &load)->n_clients, 1);
    ck_assert_uint_eq(bench_channel(&bench, &load)->clients[0].id, 7);
    bench_close(&bench);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sampler");
    TCase *facts = tcase_create("facts");

    tcase_add_test(facts, everything_is_read_once_a_second_by_default);
    tcase_add_test(facts, load_is_read_at_the_requested_rate_and_the_rest_at_its_own);
    tcase_add_test(facts, a_load_without_an_interval_is_read_again_soon_at_any_rate);
    tcase_add_test(facts, nothing_is_read_faster_than_the_minimum_period);
    tcase_add_test(facts, a_rate_is_kept_in_range);
    tcase_add_test(facts, heat_near_a_trip_is_read_faster_while_there_is_work);
    tcase_add_test(facts, a_source_that_hangs_is_stale_keeps_its_value_and_blocks_no_other);
    tcase_add_test(facts, there_are_at_most_sixteen_readers_and_the_last_is_shared);
    tcase_add_test(facts, of_one_quantity_the_lowest_rank_that_is_ok_is_in_use);
    tcase_add_test(facts, a_choice_changes_only_for_lasting_differences);
    tcase_add_test(facts, without_existing_sources_none_is_in_use);
    tcase_add_test(facts, a_source_passed_over_or_aside_is_never_read_or_in_use);
    tcase_add_test(facts, all_zones_count);
    tcase_add_test(facts, a_second_scan_keeps_ids_and_assigns_new_ones_to_new_sources);
    tcase_add_test(facts, an_event_causes_an_immediate_reading_of_temperatures_only);
    tcase_add_test(facts, clients_come_with_the_reading);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
