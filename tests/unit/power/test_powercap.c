/* Energy counters of powercap: they run round, and they are often forbidden. */
#include "scan.h"

#define PACKAGE "/sys/class/powercap/intel-rapl:0"

static void package(const char *energy)
{
    tree_write("/sys/class/powercap/intel-rapl/enabled", "1\n");
    tree_write(PACKAGE "/name", "package-0\n");
    tree_write(PACKAGE "/energy_uj", energy);
    tree_write(PACKAGE "/max_energy_range_uj", "262143328850\n");
}

START_TEST(energy_and_power_come_from_one_counter)
{
    package("262143328000\n");
    scan_tree();

    scan_expect(scan_find(READING_ENERGY, "powercap package-0"), READING_OK, 0);
    scan_expect(scan_find(READING_POWER, "powercap package-0"), READING_ABSENT, 0);
    package("3999150\n"); /* it ran round: 4 J later */
    scan_expect(scan_find(READING_ENERGY, "powercap package-0"), READING_OK, 4000000);
    scan_expect(scan_find(READING_POWER, "powercap package-0"), READING_OK, 2000);
}
END_TEST

START_TEST(counter_that_may_not_be_read_is_forbidden_not_absent)
{
    package("1\n");
    tree_errno(PACKAGE "/energy_uj", EACCES);
    scan_tree();

    scan_expect(scan_find(READING_ENERGY, "powercap package-0"), READING_FORBIDDEN, 0);
    scan_expect(scan_find(READING_POWER, "powercap package-0"), READING_FORBIDDEN, 0);
}
END_TEST

START_TEST(second_zone_of_the_same_package_is_passed_over)
{
    package("1\n");
    tree_write("/sys/class/powercap/intel-rapl-mmio:0/name", "package-0\n");
    tree_write("/sys/class/powercap/intel-rapl-mmio:0/energy_uj", "1\n");
    scan_tree();

    struct source *first = scan_find(READING_ENERGY, "powercap package-0");
    struct source *second = container_of(first->link.next, struct source, link);

    ck_assert_uint_ne(first->rank, SOURCE_PASSED_OVER);
    ck_assert_str_eq(second->name, "powercap package-0");
    ck_assert_uint_eq(second->rank, SOURCE_PASSED_OVER);
    ck_assert_ptr_nonnull(strstr(second->why, "counts the same"));
}
END_TEST

START_TEST(part_of_a_package_is_passed_over)
{
    package("1\n");
    tree_write("/sys/class/powercap/intel-rapl:0:0/name", "core\n");
    tree_write("/sys/class/powercap/intel-rapl:0:0/energy_uj", "1\n");
    scan_tree();

    ck_assert_uint_eq(scan_find(READING_ENERGY, "powercap core")->rank, SOURCE_PASSED_OVER);
}
END_TEST

START_TEST(power_file_is_used_where_there_is_one)
{
    package("1\n");
    tree_write(PACKAGE "/power_uw", "3000000\n");
    scan_tree();

    scan_expect(scan_find(READING_POWER, "powercap package-0"), READING_OK, 3000);
}
END_TEST

START_TEST(power_over_a_minute_without_readings_is_absent)
{
    struct source *power;

    package("1\n");
    scan_tree();
    power = scan_find(READING_POWER, "powercap package-0");
    scan_expect(power, READING_ABSENT, 0);

    scan_now_us += 120000000; /* it may have run round more than once */
    scan_expect(power, READING_ABSENT, 0);
    package("2000001\n");
    scan_expect(power, READING_OK, 2000);
}
END_TEST

START_TEST(power_read_too_soon_is_the_last)
{
    struct source *power;

    package("1\n");
    scan_tree();
    power = scan_find(READING_POWER, "powercap package-0");
    scan_expect(power, READING_ABSENT, 0);
    package("2000001\n");
    scan_expect(power, READING_OK, 2000);

    package("2000101\n");
    scan_now_us -= 999000; /* a millisecond later */
    scan_expect(power, READING_OK, 2000);
    package("2001001\n");
    scan_now_us -= 1000;
    scan_expect(power, READING_OK, 1); /* 1 mJ in the second since */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("powercap");
    TCase *tcase = tcase_create("powercap");

    tcase_add_checked_fixture(tcase, scan_make, scan_remove);
    tcase_add_test(tcase, energy_and_power_come_from_one_counter);
    tcase_add_test(tcase, counter_that_may_not_be_read_is_forbidden_not_absent);
    tcase_add_test(tcase, second_zone_of_the_same_package_is_passed_over);
    tcase_add_test(tcase, part_of_a_package_is_passed_over);
    tcase_add_test(tcase, power_file_is_used_where_there_is_one);
    tcase_add_test(tcase, power_over_a_minute_without_readings_is_absent);
    tcase_add_test(tcase, power_read_too_soon_is_the_last);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
