/* Zones that fail, lie, move, or are no temperature: each fails alone, and all are known by what they are called. */
#include "power/thermal.h"
#include "scan.h"

#define GPU "/sys/class/thermal/thermal_zone1"

static struct source *zone(const char *type)
{
    char name[80];

    snprintf(name, sizeof(name), "zone %s", type);
    return scan_find(READING_TEMPERATURE, name);
}

START_TEST(zone_without_data_does_not_hide_the_next)
{
    scan_zone(0, "cpu-thermal\n", "");
    tree_errno("/sys/class/thermal/thermal_zone0/temp", ENODATA);
    scan_zone(1, "gpu-thermal\n", "84000\n");

    scan_tree();

    scan_expect(zone("cpu-thermal"), READING_ABSENT, 0);
    scan_expect(zone("gpu-thermal"), READING_OK, 84000);
}
END_TEST

START_TEST(each_fault_of_a_read_has_its_state)
{
    static const struct {
        int number;
        enum reading_state state;
        int64_t value;
    } rows[] = {
        { EAGAIN, READING_STALE, 60000 }, { EIO, READING_STALE, 60000 },    { EINVAL, READING_ABSENT, 0 },
        { ENODATA, READING_ABSENT, 0 },   { EACCES, READING_FORBIDDEN, 0 }, { ETIMEDOUT, READING_STALE, 60000 },
    };

    scan_zone(1, "gpu-thermal\n", "60000\n");
    scan_tree();
    scan_expect(zone("gpu-thermal"), READING_OK, 60000);
    for (size_t i = 0; i < COUNTOF(rows); i++) {
        tree_errno(GPU "/temp", rows[i].number);
        scan_expect(zone("gpu-thermal"), rows[i].state, rows[i].value);
    }
    tree_errno(GPU "/temp", 0);
    scan_expect(zone("gpu-thermal"), READING_OK, 60000);
}
END_TEST

START_TEST(each_odd_text_has_its_state)
{
    static char long_text[5001];
    const struct {
        const char *text;
        enum reading_state state;
        int64_t value;
    } rows[] = {
        { "", READING_IMPLAUSIBLE, 45000 },
        { "7", READING_IMPLAUSIBLE, 45000 },
        { long_text, READING_IMPLAUSIBLE, 45000 },
        { "-32768000\n", READING_IMPLAUSIBLE, 45000 },
        { "-650788984\n", READING_IMPLAUSIBLE, 45000 },
        { "45\n", READING_IMPLAUSIBLE, 45000 },
        { "85000\n", READING_IMPLAUSIBLE, 45000 },
        { "hot\n", READING_IMPLAUSIBLE, 45000 },
        { "46000", READING_OK, 46000 },
    };

    memset(long_text, '4', sizeof(long_text) - 1);
    for (size_t i = 0; i < COUNTOF(rows); i++) {
        scan_zone(1, "gpu-thermal\n", "45000\n");
        scan_tree();
        scan_expect(zone("gpu-thermal"), READING_OK, 45000);
        tree_write(GPU "/temp", rows[i].text);
        scan_expect(zone("gpu-thermal"), rows[i].state, rows[i].value);
    }
}
END_TEST

START_TEST(value_without_a_line_end_is_read)
{
    scan_zone(1, "gpu-thermal", "84000");
    scan_tree();

    scan_expect(zone("gpu-thermal"), READING_OK, 84000);
}
END_TEST

START_TEST(zones_that_swap_their_numbers_keep_their_names)
{
    struct source *cpu;
    struct source *gpu;

    scan_zone(3, "cpu-thermal\n", "50000\n");
    scan_zone(7, "gpu-thermal\n", "70000\n");
    scan_tree();
    cpu = zone("cpu-thermal");
    gpu = zone("gpu-thermal");
    scan_expect(gpu, READING_OK, 70000);

    scan_zone(7, "cpu-thermal\n", "51000\n");
    scan_zone(3, "gpu-thermal\n", "71000\n");

    scan_expect(cpu, READING_OK, 51000);
    scan_expect(gpu, READING_OK, 71000);
    scan_tree();
    ck_assert_ptr_eq(zone("gpu-thermal"), gpu);
    ck_assert_str_eq(gpu->path, "/sys/class/thermal/thermal_zone3/temp");
}
END_TEST

START_TEST(zone_that_returns_under_another_number_is_the_same)
{
    struct source *gpu;
    uint32_t n;

    scan_zone(1, "gpu-thermal\n", "60000\n");
    scan_tree();
    gpu = zone("gpu-thermal");
    n = scan_count();
    scan_expect(gpu, READING_OK, 60000);

    tree_delete(GPU);
    scan_expect(gpu, READING_ABSENT, 0);
    scan_tree();
    ck_assert_uint_eq(scan_count(), n);
    scan_zone(5, "gpu-thermal\n", "61000\n");
    scan_expect(gpu, READING_OK, 61000);
    scan_tree();
    ck_assert_uint_eq(scan_count(), n);
}
END_TEST

START_TEST(twins_are_told_apart_by_their_devices)
{
    tree_folder("/sys/devices/LNXTHERM:00");
    tree_folder("/sys/devices/LNXTHERM:01");
    scan_zone(0, "acpitz\n", "40000\n");
    tree_link("/sys/class/thermal/thermal_zone0/device", "../../../devices/LNXTHERM:00");
    scan_zone(1, "acpitz\n", "50000\n");
    tree_link(GPU "/device", "../../../devices/LNXTHERM:01");
    scan_tree();

    tree_move("/sys/class/thermal/thermal_zone0", "/sys/class/thermal/spare");
    tree_move(GPU, "/sys/class/thermal/thermal_zone0");
    tree_move("/sys/class/thermal/spare", GPU);

    ck_assert_uint_eq(scan_count(), 2);
    scan_expect(container_of(scan_sources.next, struct source, link), READING_OK, 40000);
    scan_expect(container_of(scan_sources.prev, struct source, link), READING_OK, 50000);
}
END_TEST

START_TEST(twins_without_a_device_are_both_read)
{
    scan_zone(0, "cpu-thermal\n", "40000\n");
    scan_zone(4, "cpu-thermal\n", "50000\n");

    scan_tree();

    scan_expect(zone("cpu-thermal"), READING_OK, 40000);
    scan_expect(zone("cpu-thermal (2)"), READING_OK, 50000);
}
END_TEST

START_TEST(voltage_is_passed_over_with_the_reason)
{
    static const char *const types[] = { "vbat", "soc", "pm8350b-ibat-lvl0", "battery-voltage", "pm8350b-bcl-lvl1" };

    for (size_t i = 0; i < COUNTOF(types); i++) {
        scan_zone((int)i, types[i], "43000\n");
        scan_trip((int)i, 0, "critical\n", "50000\n");
    }
    scan_tree();

    for (size_t i = 0; i < COUNTOF(types); i++) {
        ck_assert_uint_eq(zone(types[i])->rank, SOURCE_PASSED_OVER);
        ck_assert_ptr_nonnull(strstr(zone(types[i])->why, "passed over"));
        scan_expect(zone(types[i]), READING_ABSENT, 0);
    }
}
END_TEST

START_TEST(gpu_comes_before_the_chip_and_the_chip_before_the_cores)
{
    scan_zone(0, "cpu0-thermal\n", "40000\n");
    scan_zone(1, "soc-thermal\n", "41000\n");
    scan_zone(2, "GPU-thermal\n", "42000\n");
    scan_zone(3, "wlan0\n", "43000\n");

    scan_tree();

    ck_assert_ptr_eq(container_of(scan_sources.next, struct source, link), zone("GPU-thermal"));
    ck_assert_uint_lt(zone("soc-thermal")->rank, zone("cpu0-thermal")->rank);
    ck_assert_uint_eq(zone("wlan0")->rank, SOURCE_PASSED_OVER);
    ck_assert_str_eq(zone("GPU-thermal")->why, "chosen by \"gpu*\"");
}
END_TEST

START_TEST(zone_that_no_pattern_names_is_watched_if_the_kernel_acts_on_it)
{
    scan_zone(0, "strange\n", "40000\n");
    scan_trip(0, 0, "critical\n", "105000\n");
    scan_tree();

    ck_assert_uint_ne(zone("strange")->rank, SOURCE_PASSED_OVER);
    ck_assert_int_eq(zone("strange")->critical_mc, 105000);
}
END_TEST

START_TEST(lowest_trip_of_each_kind_is_the_limit)
{
    scan_zone(1, "gpu-thermal\n", "40000\n");
    scan_trip(1, 0, "active0\n", "40000\n");
    scan_trip(1, 1, "passive\n", "95000\n");
    scan_trip(1, 2, "passive\n", "85000\n");
    scan_trip(1, 3, "critical\n", "110000\n");
    scan_trip(1, 4, "hot\n", "105000\n");
    scan_tree();

    ck_assert_int_eq(zone("gpu-thermal")->passive_mc, 85000);
    ck_assert_int_eq(zone("gpu-thermal")->critical_mc, 105000);
}
END_TEST

START_TEST(trip_that_no_chip_can_reach_is_no_limit)
{
    static const char *const temps[] = { "-274000\n",    "0\n",  "-1\n", "85000000\n",
                                         "2147483647\n", "85\n", "",     "9223372036854775807\n" };

    for (size_t i = 0; i < COUNTOF(temps); i++) {
        scan_zone(1, "gpu-thermal\n", "40000\n");
        scan_trip(1, 0, "passive\n", temps[i]);
        scan_trip(1, 1, "critical\n", temps[i]);
        scan_tree();
        ck_assert_int_eq(zone("gpu-thermal")->passive_mc, INT32_MAX);
        ck_assert_int_eq(zone("gpu-thermal")->critical_mc, INT32_MAX);
    }
}
END_TEST

START_TEST(trips_have_kind_temperature_and_hysteresis)
{
    struct thermal_trip trips[4];

    scan_zone(1, "gpu-thermal\n", "40000\n");
    scan_trip(1, 0, "active[0-*]\n", "50000\n");
    scan_trip(1, 1, "passive\n", "85000\n");
    tree_write(GPU "/trip_point_1_hyst", "5000\n");
    scan_trip(1, 2, "passively\n", "-274000\n");

    ck_assert_uint_eq(thermal_read_trips(&tree_root, 1, 1000, trips, 4), 3);

    ck_assert_int_eq(trips[0].kind, THERMAL_TRIP_ACTIVE);
    ck_assert_int_eq(trips[1].kind, THERMAL_TRIP_PASSIVE);
    ck_assert(trips[1].is_limit);
    ck_assert_int_eq(trips[1].temp_mc, 85000);
    ck_assert_int_eq(trips[1].hyst_mc, 5000);
    ck_assert_int_eq(trips[2].kind, THERMAL_TRIP_UNKNOWN);
    ck_assert(!trips[2].is_limit);
}
END_TEST

START_TEST(trip_that_changes_is_a_new_limit_at_the_next_scan)
{
    scan_zone(1, "gpu-thermal\n", "40000\n");
    scan_trip(1, 0, "passive\n", "85000\n");
    scan_tree();

    scan_trip(1, 0, "passive\n", "75000\n");
    scan_tree();

    ck_assert_int_eq(zone("gpu-thermal")->passive_mc, 75000);
}
END_TEST

START_TEST(multiplier_of_the_policy_holds_for_value_and_trips)
{
    policy_init(&scan_policy);
    scan_policy.scales[0] = (struct policy_scale){ "gpu*", 1000000 };
    scan_policy.n_scales = 1;
    scan_zone(1, "gpu-thermal\n", "45\n");
    scan_trip(1, 0, "passive\n", "85\n");
    scan_trip(1, 1, "critical\n", "105000\n"); /* in thousandths already */
    scan_tree();

    scan_expect(zone("gpu-thermal"), READING_OK, 45000);
    ck_assert_int_eq(zone("gpu-thermal")->passive_mc, 85000);
    ck_assert_int_eq(zone("gpu-thermal")->critical_mc, 105000);
}
END_TEST

START_TEST(disabled_zone_ranks_after_the_others)
{
    scan_zone(0, "cpu-thermal\n", "40000\n");
    scan_zone(1, "gpu-thermal\n", "50000\n");
    tree_write(GPU "/mode", "disabled\n");
    scan_tree();

    ck_assert_uint_gt(zone("gpu-thermal")->rank, zone("cpu-thermal")->rank);
    ck_assert_ptr_nonnull(strstr(zone("gpu-thermal")->why, "disabled"));
    scan_expect(zone("gpu-thermal"), READING_OK, 50000);
}
END_TEST

START_TEST(all_zones_unreadable_for_a_while_are_stale_and_come_back)
{
    struct reading reading;

    scan_zone(1, "gpu-thermal\n", "60000\n");
    scan_tree();
    scan_read(zone("gpu-thermal"));
    tree_errno(GPU "/temp", EIO);
    for (int i = 0; i < 60; i++) {
        reading = scan_read(zone("gpu-thermal"));
        ck_assert_int_eq(reading.state, READING_STALE);
        ck_assert_uint_eq(reading.at_us, 2000000);
    }

    tree_errno(GPU "/temp", 0);

    scan_expect(zone("gpu-thermal"), READING_OK, 60000);
}
END_TEST

START_TEST(scan_for_zones_reads_no_temperature)
{
    scan_zone(0, "cpu-thermal\n", "40000\n");
    tree_write(GPU "/type", "gpu-thermal\n");
    tree_pipe(GPU "/temp");

    scan_tree();

    ck_assert(zone("gpu-thermal")->may_block);
    scan_expect(zone("cpu-thermal"), READING_OK, 40000);
}
END_TEST

START_TEST(type_with_invalid_bytes_becomes_valid_text)
{
    scan_zone(0, "gpu\xff\x1b[31m\n", "40000\n");

    scan_tree();

    scan_expect(container_of(scan_sources.next, struct source, link), READING_OK, 40000);
    ck_assert_ptr_null(strchr(container_of(scan_sources.next, struct source, link)->name, '\x1b'));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("thermal");
    TCase *tcase = tcase_create("thermal");

    tcase_add_checked_fixture(tcase, scan_make, scan_remove);
    tcase_add_test(tcase, zone_without_data_does_not_hide_the_next);
    tcase_add_test(tcase, each_fault_of_a_read_has_its_state);
    tcase_add_test(tcase, each_odd_text_has_its_state);
    tcase_add_test(tcase, value_without_a_line_end_is_read);
    tcase_add_test(tcase, zones_that_swap_their_numbers_keep_their_names);
    tcase_add_test(tcase, zone_that_returns_under_another_number_is_the_same);
    tcase_add_test(tcase, twins_are_told_apart_by_their_devices);
    tcase_add_test(tcase, twins_without_a_device_are_both_read);
    tcase_add_test(tcase, voltage_is_passed_over_with_the_reason);
    tcase_add_test(tcase, gpu_comes_before_the_chip_and_the_chip_before_the_cores);
    tcase_add_test(tcase, zone_that_no_pattern_names_is_watched_if_the_kernel_acts_on_it);
    tcase_add_test(tcase, lowest_trip_of_each_kind_is_the_limit);
    tcase_add_test(tcase, trip_that_no_chip_can_reach_is_no_limit);
    tcase_add_test(tcase, trips_have_kind_temperature_and_hysteresis);
    tcase_add_test(tcase, trip_that_changes_is_a_new_limit_at_the_next_scan);
    tcase_add_test(tcase, multiplier_of_the_policy_holds_for_value_and_trips);
    tcase_add_test(tcase, disabled_zone_ranks_after_the_others);
    tcase_add_test(tcase, all_zones_unreadable_for_a_while_are_stale_and_come_back);
    tcase_add_test(tcase, scan_for_zones_reads_no_temperature);
    tcase_add_test(tcase, type_with_invalid_bytes_becomes_valid_text);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
