/* Time lost for want of memory, and the kernel's call when it is lost. */
#include "memory/psi.h"
#include "scan.h"
#include <poll.h>

#define FULL_TEXT                                                                                                      \
    "some avg10=12.34 avg60=1.00 avg300=0.50 total=123456\nfull avg10=3.09 avg60=0.00 avg300=0.00 "                    \
    "total=99\n"

static struct psi psi;

START_TEST(both_lines_are_read)
{
    ck_assert_int_eq(psi_parse(FULL_TEXT, &psi), 0);

    ck_assert_uint_eq(psi.some_permille, 123);
    ck_assert_uint_eq(psi.full_permille, 30);
    ck_assert_uint_eq(psi.some_us, 123456);
}
END_TEST

START_TEST(whole_pressure_is_a_thousand)
{
    ck_assert_int_eq(psi_parse("some avg10=100.00 avg60=0.00 avg300=0.00 total=1\n", &psi), 0);
    ck_assert_uint_eq(psi.some_permille, 1000);
    ck_assert_uint_eq(psi.full_permille, 0);
}
END_TEST

START_TEST(malformed_pressure_is_refused)
{
    static const char *const texts[] = {
        "",
        "some",
        "some avg10=",
        "some avg10=1.00 avg60=0.00\n",
        "some avg10=101.00 total=1\n",
        "some avg10=1. total=1\n",
        "some avg10=-1.00 total=1\n",
        "some avg10=1.00 total=\n",
        "some avg10=1.00 total=1x\n",
        "some avg10=1.00 total=99999999999999999999\n",
        "some total=1\nfull avg10=1.00 total=1\n",
        "full avg10=1.00 total=1\n",
        "some avg10=1.00 total=1\nfull avg10=x total=1\n",
    };

    psi.some_us = 7;
    for (size_t i = 0; i < COUNTOF(texts); i++) {
        ck_assert_msg(psi_parse(texts[i], &psi) == -EPROTO, "\"%s\"", texts[i]);
    }
    ck_assert_uint_eq(psi.some_us, 7);
}
END_TEST

START_TEST(pressure_is_a_source)
{
    tree_write("/proc/pressure/memory", FULL_TEXT);
    scan_tree();
    scan_tree();

    ck_assert_uint_eq(scan_count(), 1);
    scan_expect(scan_find(READING_MEMORY_PRESSURE, "psi memory"), READING_OK, 123);
    tree_errno("/proc/pressure/memory", EOPNOTSUPP);
    scan_expect(scan_find(READING_MEMORY_PRESSURE, "psi memory"), READING_ABSENT, 0);
}
END_TEST

START_TEST(kernel_without_pressure_has_no_source)
{
    tree_write("/proc/meminfo", "MemTotal: 1 kB\n");
    scan_tree();

    ck_assert_ptr_null(scan_look(READING_MEMORY_PRESSURE, "psi memory"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("psi");
    TCase *tcase = tcase_create("psi");

    tcase_add_checked_fixture(tcase, scan_make, scan_remove);
    tcase_add_test(tcase, both_lines_are_read);
    tcase_add_test(tcase, whole_pressure_is_a_thousand);
    tcase_add_test(tcase, malformed_pressure_is_refused);
    tcase_add_test(tcase, pressure_is_a_source);
    tcase_add_test(tcase, kernel_without_pressure_has_no_source);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
