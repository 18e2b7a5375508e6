/* Clocks of a device, and what they let us guess of its load. */
#include "gpu.h"
#include "load/devfreq.h"

#define MS   1000ull
#define FREQ "/sys/class/devfreq/fd00000.gpu"

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

START_TEST(clock_is_in_khz_with_the_highest_beside_it)
{
    tree_write(FREQ "/cur_freq", "300000000\n");
    tree_write(FREQ "/max_freq", "600000000\n");
    tree_write(FREQ "/available_frequencies", "300000000 800000000 600000000 \n");
    ck_assert_int_eq(devfreq_clock_open(&source, &tree_root, device), 0);
    look(1000 * MS);

    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_int_eq(reading.value, 300000);
    ck_assert_int_eq(source->most, 800000); /* max_freq is what is allowed just now */
    ck_assert_uint_eq(devfreq_highest_hz(&tree_root, device), 800000000);
}
END_TEST

START_TEST(highest_clock_is_the_limit_without_a_list_and_unknown_if_that_is_0)
{
    tree_write(FREQ "/max_freq", "600000000\n");
    ck_assert_uint_eq(devfreq_highest_hz(&tree_root, device), 600000000);

    tree_write(FREQ "/max_freq", "0\n");
    ck_assert_uint_eq(devfreq_highest_hz(&tree_root, device), 0);
}
END_TEST

START_TEST(clock_of_another_device_is_not_ours)
{
    char path[160];

    tree_write("/sys/class/devfreq/4e000000.ddr/cur_freq", "1000\n");
    ck_assert(!devfreq_find(&tree_root, device, path, sizeof(path)));
    ck_assert_int_eq(devfreq_clock_open(&source, &tree_root, device), -ENOENT);

    /* Called otherwise, but it is its device. */
    tree_folder(GPU_PATH);
    tree_link("/sys/class/devfreq/devfreq0/device", "../../../devices/platform/fd00000.gpu");
    ck_assert(devfreq_find(&tree_root, device, path, sizeof(path)));
    ck_assert_str_eq(path, "/sys/class/devfreq/devfreq0");
}
END_TEST

START_TEST(own_clock_of_i915_serves_without_devfreq)
{
    tree_write("/sys/class/drm/card0/gt_act_freq_mhz", "350\n");
    tree_write("/sys/class/drm/card0/gt_RP0_freq_mhz", "1300\n");
    ck_assert_int_eq(devfreq_clock_open(&source, &tree_root, device), 0);
    look(1000 * MS);

    ck_assert_int_eq(reading.value, 350000);
    ck_assert_int_eq(source->most, 1300000);
}
END_TEST

START_TEST(malformed_clock_is_implausible_and_keeps_the_last)
{
    static const char *const texts[] = { "", "-1\n", "fast\n", "99999999999999999999\n" };

    tree_write(FREQ "/cur_freq", "300000000\n");
    ck_assert_int_eq(devfreq_clock_open(&source, &tree_root, device), 0);
    look(1000 * MS);
    tree_write(FREQ "/cur_freq", texts[_i]);
    look(1050 * MS);

    ck_assert_int_eq(reading.state, READING_IMPLAUSIBLE);
    ck_assert_int_eq(reading.value, 300000);
    ck_assert_uint_eq(reading.at_us, 1000 * MS);
}
END_TEST

START_TEST(load_of_vendors_is_percent_at_a_clock)
{
    uint32_t permille;
    uint64_t hz;

    ck_assert(devfreq_load_parse("37@800000000Hz", &permille, &hz));
    ck_assert_uint_eq(permille, 370);
    ck_assert_uint_eq(hz, 800000000);
    ck_assert(devfreq_load_parse("101@300000000\n", &permille, &hz));
    ck_assert_uint_eq(permille, 1000);
    ck_assert(!devfreq_load_parse("", &permille, &hz));
    ck_assert(!devfreq_load_parse("37", &permille, &hz));
    ck_assert(!devfreq_load_parse("-3@800Hz", &permille, &hz));
    ck_assert(!devfreq_load_parse("900@800Hz", &permille, &hz));
    ck_assert(!devfreq_load_parse("37@Hz", &permille, &hz));
    ck_assert(!devfreq_load_parse("37@800Hz?", &permille, &hz));
}
END_TEST

START_TEST(load_of_vendors_is_a_source_that_includes_our_own_load)
{
    tree_write(FREQ "/load", "37@800000000Hz\n");
    ck_assert_int_eq(devfreq_load_open(&source, &tree_root, device), 0);
    look(1000 * MS);
    ck_assert_int_eq(reading.value, 370);
    ck_assert(source->is_mixed);
    ck_assert(!source->is_bound);
    tree_write(FREQ "/load", "busy\n");

    look(1050 * MS);

    ck_assert_int_eq(reading.state, READING_IMPLAUSIBLE);
}
END_TEST

#define TABLE(star0, star1, ms0, ms1)                                                                                  \
    "     From  :   To\n           : 200000000 800000000   time(ms)\n" star0 " 200000000:         0         5   " ms0  \
    "\n" star1 " 800000000:         5         0   " ms1 "\nTotal transition : 10\n"

START_TEST(times_at_clocks_are_read_from_their_table)
{
    struct devfreq_times times;
    static const char text[] = TABLE(" ", "*", "1000", "3000");

    ck_assert(devfreq_times_parse(&times, text, sizeof(text) - 1));
    ck_assert_uint_eq(times.n, 2);
    ck_assert_uint_eq(times.hz[1], 800000000);
    ck_assert_uint_eq(times.ms[0], 1000);
    ck_assert_uint_eq(times.ms[1], 3000);
    ck_assert(!devfreq_times_parse(&times, "Not Supported.\n", 15));
    ck_assert(!devfreq_times_parse(&times, "", 0));
}
END_TEST

START_TEST(mean_clock_is_weighed_by_time)
{
    const struct devfreq_times before = { .n = 2, .hz = { 200, 800 }, .ms = { 1000, 1000 } };
    const struct devfreq_times after = { .n = 2, .hz = { 200, 800 }, .ms = { 1050, 1050 } };
    const struct devfreq_times other = { .n = 2, .hz = { 200, 900 }, .ms = { 1050, 1050 } };
    uint32_t permille;

    ck_assert(devfreq_times_mean(&before, &after, &permille));
    ck_assert_uint_eq(permille, 625);
    ck_assert(!devfreq_times_mean(&before, &before, &permille));
    ck_assert(!devfreq_times_mean(&after, &before, &permille));
    ck_assert(!devfreq_times_mean(&before, &other, &permille));
}
END_TEST

START_TEST(mean_clock_is_a_bound_under_a_governor_that_follows_the_load)
{
    tree_write(FREQ "/governor", "simple_ondemand\n");
    tree_write(FREQ "/trans_stat", TABLE(" ", "*", "1000", "3000"));
    ck_assert_int_eq(devfreq_guess_open(&source, &tree_root, device), 0);
    look(1000 * MS);
    ck_assert_int_eq(reading.state, READING_STALE);
    tree_write(FREQ "/trans_stat", TABLE("*", " ", "2000", "3000"));
    look(2000 * MS);

    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_int_eq(reading.value, 250);
    ck_assert(source->is_bound);
    ck_assert(source->is_mixed);
}
END_TEST

START_TEST(full_clock_under_another_governor_is_not_a_full_load)
{
    tree_write(FREQ "/governor", "performance\n");
    tree_write(FREQ "/trans_stat", TABLE(" ", "*", "1000", "3000"));
    ck_assert_int_eq(devfreq_guess_open(&source, &tree_root, device), 0);
    look(1000 * MS);
    tree_write(FREQ "/trans_stat", TABLE(" ", "*", "1000", "4000"));
    look(2000 * MS);

    ck_assert_int_eq(reading.state, READING_ABSENT);
    ck_assert_ptr_nonnull(strstr(reading.why, "performance"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("devfreq");
    TCase *tcase = tcase_create("devfreq");

    tcase_add_checked_fixture(tcase, make, end);
    tcase_add_test(tcase, clock_is_in_khz_with_the_highest_beside_it);
    tcase_add_test(tcase, highest_clock_is_the_limit_without_a_list_and_unknown_if_that_is_0);
    tcase_add_test(tcase, clock_of_another_device_is_not_ours);
    tcase_add_test(tcase, own_clock_of_i915_serves_without_devfreq);
    tcase_add_loop_test(tcase, malformed_clock_is_implausible_and_keeps_the_last, 0, 4);
    tcase_add_test(tcase, load_of_vendors_is_percent_at_a_clock);
    tcase_add_test(tcase, load_of_vendors_is_a_source_that_includes_our_own_load);
    tcase_add_test(tcase, times_at_clocks_are_read_from_their_table);
    tcase_add_test(tcase, mean_clock_is_weighed_by_time);
    tcase_add_test(tcase, mean_clock_is_a_bound_under_a_governor_that_follows_the_load);
    tcase_add_test(tcase, full_clock_under_another_governor_is_not_a_full_load);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
