/* Chips of hwmon: what is read of them, in which unit, and nothing twice. */
#include "scan.h"

#define CHIP "/sys/class/hwmon/hwmon0"

START_TEST(chip_is_identified_by_name_and_label)
{
    tree_write(CHIP "/name", "amdgpu\n");
    tree_write(CHIP "/temp1_input", "51000\n");
    tree_write(CHIP "/temp1_label", "edge\n");
    tree_write(CHIP "/temp1_crit", "100000\n");
    tree_write(CHIP "/temp2_input", "61000\n");
    tree_write(CHIP "/temp2_label", "junction\n");
    scan_tree();

    scan_expect(scan_find(READING_TEMPERATURE, "hwmon amdgpu/edge"), READING_OK, 51000);
    scan_expect(scan_find(READING_TEMPERATURE, "hwmon amdgpu/junction"), READING_OK, 61000);
    ck_assert_int_eq(scan_find(READING_TEMPERATURE, "hwmon amdgpu/edge")->critical_mc, 100000);
    ck_assert_int_eq(scan_find(READING_TEMPERATURE, "hwmon amdgpu/junction")->critical_mc, INT32_MAX);
    ck_assert_uint_lt(scan_find(READING_TEMPERATURE, "hwmon amdgpu/junction")->rank,
                      scan_find(READING_TEMPERATURE, "hwmon amdgpu/edge")->rank);
}
END_TEST

START_TEST(cores_of_a_package_are_not_read_one_by_one)
{
    tree_write(CHIP "/name", "coretemp\n");
    tree_write(CHIP "/temp1_input", "51000\n");
    tree_write(CHIP "/temp1_label", "Package id 0\n");
    tree_write(CHIP "/temp2_input", "51000\n");
    tree_write(CHIP "/temp2_label", "Core 0\n");
    scan_tree();

    scan_expect(scan_find(READING_TEMPERATURE, "hwmon coretemp/Package id 0"), READING_OK, 51000);
    ck_assert_uint_eq(scan_find(READING_TEMPERATURE, "hwmon coretemp/Core 0")->rank, SOURCE_PASSED_OVER);
}
END_TEST

START_TEST(chip_that_no_pattern_names_is_passed_over)
{
    tree_write(CHIP "/name", "nvme\n");
    tree_write(CHIP "/temp1_input", "41000\n");
    scan_tree();

    ck_assert_uint_eq(scan_find(READING_TEMPERATURE, "hwmon nvme/temp1")->rank, SOURCE_PASSED_OVER);
}
END_TEST

START_TEST(twin_of_a_thermal_zone_is_not_counted_twice)
{
    scan_zone(0, "gpu-thermal\n", "60000\n");
    tree_write(CHIP "/name", "gpu_thermal\n");
    tree_write(CHIP "/temp1_input", "60000\n");
    scan_tree();

    ck_assert_uint_eq(scan_find(READING_TEMPERATURE, "hwmon gpu_thermal/temp1")->rank, SOURCE_PASSED_OVER);
    ck_assert_str_eq(scan_find(READING_TEMPERATURE, "hwmon gpu_thermal/temp1")->why,
                     "passed over: the same as zone gpu-thermal");
    scan_expect(scan_find(READING_TEMPERATURE, "zone gpu-thermal"), READING_OK, 60000);
}
END_TEST

START_TEST(chip_of_a_zone_device_is_a_twin_under_any_name)
{
    tree_folder("/sys/devices/virtual/thermal/thermal_zone0");
    tree_write(CHIP "/name", "soc_sensor\n");
    tree_write(CHIP "/temp1_input", "60000\n");
    tree_link(CHIP "/device", "../../../devices/virtual/thermal/thermal_zone0");
    scan_tree();

    ck_assert_uint_eq(scan_find(READING_TEMPERATURE, "hwmon soc_sensor/temp1")->rank, SOURCE_PASSED_OVER);
}
END_TEST

START_TEST(chip_that_comes_back_under_another_number_is_the_same)
{
    struct source *temp;

    tree_write(CHIP "/name", "k10temp\n");
    tree_write(CHIP "/temp1_input", "50000\n");
    scan_tree();
    temp = scan_find(READING_TEMPERATURE, "hwmon k10temp/temp1");
    scan_expect(temp, READING_OK, 50000);

    tree_move(CHIP, "/sys/class/hwmon/hwmon9");
    tree_write(CHIP "/name", "nvme\n");
    tree_write(CHIP "/temp1_input", "70000\n");

    scan_expect(temp, READING_OK, 50000);
    scan_tree();
    ck_assert_ptr_eq(scan_find(READING_TEMPERATURE, "hwmon k10temp/temp1"), temp);
    ck_assert_str_eq(temp->path, "/sys/class/hwmon/hwmon9/temp1_input");
}
END_TEST

START_TEST(power_is_in_milliwatts_and_integrated_to_energy)
{
    struct source *energy;

    tree_write(CHIP "/name", "ina226\n");
    tree_write(CHIP "/power1_input", "2500000\n");
    scan_tree();

    scan_expect(scan_find(READING_POWER, "hwmon ina226/power1"), READING_OK, 2500);
    energy = scan_find(READING_ENERGY, "hwmon ina226/power1");
    scan_expect(energy, READING_OK, 0);
    scan_expect(energy, READING_OK, 2500000);
    tree_errno(CHIP "/power1_input", EIO);
    scan_expect(energy, READING_STALE, 2500000);
}
END_TEST

START_TEST(average_power_stands_in_for_power)
{
    tree_write(CHIP "/name", "amdgpu\n");
    tree_write(CHIP "/power1_average", "15000000\n");
    tree_write(CHIP "/power1_label", "PPT\n");
    scan_tree();

    scan_expect(scan_find(READING_POWER, "hwmon amdgpu/PPT"), READING_OK, 15000);
}
END_TEST

START_TEST(volts_times_amperes_are_power_where_there_is_no_power_file)
{
    tree_write(CHIP "/name", "ina3221\n");
    tree_write(CHIP "/in1_input", "5000\n");
    tree_write(CHIP "/in1_label", "VDD_IN\n");
    tree_write(CHIP "/curr1_input", "1200\n");
    tree_write(CHIP "/in2_input", "900\n");
    tree_write(CHIP "/in2_label", "VDD_GPU_SOC\n");
    tree_write(CHIP "/curr2_input", "1000\n");
    scan_tree();

    scan_expect(scan_find(READING_POWER, "hwmon ina3221/VDD_IN"), READING_OK, 6000);
    scan_expect(scan_find(READING_POWER, "hwmon ina3221/VDD_GPU_SOC"), READING_OK, 900);
    ck_assert_uint_lt(scan_find(READING_POWER, "hwmon ina3221/VDD_IN")->rank,
                      scan_find(READING_POWER, "hwmon ina3221/VDD_GPU_SOC")->rank);
    scan_expect(scan_find(READING_ENERGY, "hwmon ina3221/VDD_IN"), READING_OK, 0);
    scan_expect(scan_find(READING_ENERGY, "hwmon ina3221/VDD_IN"), READING_OK, 6000000);
}
END_TEST

START_TEST(product_that_overflows_is_implausible)
{
    tree_write(CHIP "/name", "ina3221\n");
    tree_write(CHIP "/in1_input", "9223372036854775807\n");
    tree_write(CHIP "/curr1_input", "9223372036854775807\n");
    scan_tree();

    scan_expect(scan_find(READING_POWER, "hwmon ina3221/in1"), READING_IMPLAUSIBLE, 0);
}
END_TEST

START_TEST(energy_counter_gives_energy_and_power)
{
    struct source *energy;
    struct source *power;

    tree_write(CHIP "/name", "xe\n");
    tree_write(CHIP "/energy1_input", "1000000\n");
    tree_write(CHIP "/energy1_label", "pkg\n");
    scan_tree();
    energy = scan_find(READING_ENERGY, "hwmon xe/pkg");
    power = scan_find(READING_POWER, "hwmon xe/pkg");

    scan_expect(energy, READING_OK, 0);
    scan_expect(power, READING_ABSENT, 0); /* the first of two */
    tree_write(CHIP "/energy1_input", "9000000\n");
    scan_expect(energy, READING_OK, 8000000);
    scan_expect(power, READING_OK, 4000); /* 8 J in two seconds */
    tree_write(CHIP "/energy1_input", "-1\n");
    scan_expect(energy, READING_IMPLAUSIBLE, 8000000);
}
END_TEST

START_TEST(counter_is_preferred_to_a_sum)
{
    tree_write(CHIP "/name", "amdgpu\n");
    tree_write(CHIP "/power1_input", "1000000\n");
    tree_write(CHIP "/energy1_input", "5\n");
    scan_tree();

    ck_assert_ptr_null(scan_look(READING_ENERGY, "hwmon amdgpu/power1"));
    scan_expect(scan_find(READING_ENERGY, "hwmon amdgpu/energy1"), READING_OK, 0);
    scan_expect(scan_find(READING_POWER, "hwmon amdgpu/power1"), READING_OK, 1000);
    ck_assert_ptr_null(scan_look(READING_POWER, "hwmon amdgpu/energy1"));
}
END_TEST

START_TEST(folder_without_a_name_is_no_chip)
{
    tree_write(CHIP "/temp1_input", "50000\n");
    tree_write("/sys/class/hwmon/hwmon01/name", "k10temp\n");
    tree_write("/sys/class/hwmon/hwmon1x/name", "k10temp\n");
    tree_write("/sys/class/hwmon/hwmon99999999999/name", "k10temp\n");
    scan_tree();

    ck_assert_uint_eq(scan_count(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hwmon");
    TCase *tcase = tcase_create("hwmon");

    tcase_add_checked_fixture(tcase, scan_make, scan_remove);
    tcase_add_test(tcase, chip_is_identified_by_name_and_label);
    tcase_add_test(tcase, cores_of_a_package_are_not_read_one_by_one);
    tcase_add_test(tcase, chip_that_no_pattern_names_is_passed_over);
    tcase_add_test(tcase, twin_of_a_thermal_zone_is_not_counted_twice);
    tcase_add_test(tcase, chip_of_a_zone_device_is_a_twin_under_any_name);
    tcase_add_test(tcase, chip_that_comes_back_under_another_number_is_the_same);
    tcase_add_test(tcase, power_is_in_milliwatts_and_integrated_to_energy);
    tcase_add_test(tcase, average_power_stands_in_for_power);
    tcase_add_test(tcase, volts_times_amperes_are_power_where_there_is_no_power_file);
    tcase_add_test(tcase, product_that_overflows_is_implausible);
    tcase_add_test(tcase, energy_counter_gives_energy_and_power);
    tcase_add_test(tcase, counter_is_preferred_to_a_sum);
    tcase_add_test(tcase, folder_without_a_name_is_no_chip);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
