/* Time under power as a bound of the load. */
#include "gpu.h"
#include "load/runtime_pm.h"

#define MS 1000ull

static const struct gpu *device;
static struct source *source;
static struct reading reading;

static void make(void)
{
    device = gpu_make("panthor");
}

static void end(void)
{
    source_destroy(source);
    tree_remove();
}

static void look(uint64_t now_us)
{
    source_read(source, now_us, &reading);
}

static void write_power(uint64_t active_ms, uint64_t suspended_ms)
{
    char text[32];

    snprintf(text, sizeof(text), "%" PRIu64 "\n", active_ms);
    tree_write(GPU_PATH "/power/runtime_active_time", text);
    snprintf(text, sizeof(text), "%" PRIu64 "\n", suspended_ms);
    tree_write(GPU_PATH "/power/runtime_suspended_time", text);
}

START_TEST(time_under_power_is_a_bound)
{
    write_power(1000, 9000);
    ck_assert_int_eq(runtime_pm_open(&source, &tree_root, device), 0);
    look(1000 * MS);
    ck_assert_int_eq(reading.state, READING_STALE);
    write_power(1020, 9080);
    look(1100 * MS);

    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_int_eq(reading.value, 200);
    ck_assert(source->is_bound);
    ck_assert(source->is_mixed);
    ck_assert_ptr_nonnull(strstr(source->why, "at most"));
}
END_TEST

START_TEST(interval_of_few_milliseconds_gives_the_last_share_again)
{
    write_power(1000, 9000);
    ck_assert_int_eq(runtime_pm_open(&source, &tree_root, device), 0);
    look(1000 * MS);
    write_power(1020, 9080);
    look(1100 * MS);
    write_power(1025, 9080);
    look(1105 * MS);

    ck_assert_int_eq(reading.value, 200);
    ck_assert_uint_eq(reading.at_us, 1100 * MS);
}
END_TEST

START_TEST(device_that_may_not_sleep_is_absent)
{
    write_power(1000, 9000);
    tree_write(GPU_PATH "/power/control", "on\n");
    ck_assert_int_eq(runtime_pm_open(&source, &tree_root, device), 0);
    look(1000 * MS);
    write_power(1100, 9000);
    look(1100 * MS);

    ck_assert_int_eq(reading.state, READING_ABSENT);
    ck_assert_ptr_nonnull(strstr(reading.why, "may not sleep"));
}
END_TEST

START_TEST(device_without_runtime_power_is_absent)
{
    write_power(0, 0);
    tree_write(GPU_PATH "/power/runtime_status", "unsupported\n");
    ck_assert_int_eq(runtime_pm_open(&source, &tree_root, device), 0);
    look(1000 * MS);

    ck_assert_int_eq(reading.state, READING_ABSENT);
}
END_TEST

START_TEST(power_counters_that_stand_still_or_run_back_are_no_share)
{
    const struct runtime_pm before = { .active_ms = 10, .suspended_ms = 10 };
    const struct runtime_pm back = { .active_ms = 9, .suspended_ms = 30 };
    const struct runtime_pm after = { .active_ms = 11, .suspended_ms = 13 };
    uint32_t permille;

    ck_assert(!runtime_pm_share(&before, &before, &permille));
    ck_assert(!runtime_pm_share(&before, &back, &permille));
    ck_assert(runtime_pm_share(&before, &after, &permille));
    ck_assert_uint_eq(permille, 250);
}
END_TEST

START_TEST(where_there_is_no_file_there_is_no_source)
{
    ck_assert_int_eq(runtime_pm_open(&source, &tree_root, device), -ENOENT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("runtime_pm");
    TCase *tcase = tcase_create("runtime_pm");

    tcase_add_checked_fixture(tcase, make, end);
    tcase_add_test(tcase, time_under_power_is_a_bound);
    tcase_add_test(tcase, interval_of_few_milliseconds_gives_the_last_share_again);
    tcase_add_test(tcase, device_that_may_not_sleep_is_absent);
    tcase_add_test(tcase, device_without_runtime_power_is_absent);
    tcase_add_test(tcase, power_counters_that_stand_still_or_run_back_are_no_share);
    tcase_add_test(tcase, where_there_is_no_file_there_is_no_source);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
