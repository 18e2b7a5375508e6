/* One figure that the device measures. */
#include "gpu.h"
#include "load/busy_percent.h"

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

START_TEST(percentages_in_their_forms)
{
    uint32_t permille;

    ck_assert(busy_percent_parse("42\n", &permille));
    ck_assert_uint_eq(permille, 420);
    ck_assert(busy_percent_parse(" 7 %\n", &permille));
    ck_assert_uint_eq(permille, 70);
    ck_assert(busy_percent_parse("100%", &permille));
    ck_assert_uint_eq(permille, 1000);
    ck_assert(!busy_percent_parse("", &permille));
    ck_assert(!busy_percent_parse("-1\n", &permille));
    ck_assert(!busy_percent_parse("4294967295\n", &permille));
    ck_assert(!busy_percent_parse("42 of 100\n", &permille));
    ck_assert(!busy_percent_parse("n/a\n", &permille));
}
END_TEST

START_TEST(busy_and_total_in_their_forms)
{
    uint32_t permille;

    ck_assert(busy_percent_parse_pair("  250000 1000000\n", &permille));
    ck_assert_uint_eq(permille, 250);
    ck_assert(busy_percent_parse_pair("0 0\n", &permille));
    ck_assert_uint_eq(permille, 0);
    ck_assert(busy_percent_parse_pair("1001 1000\n", &permille));
    ck_assert_uint_eq(permille, 1000);
    ck_assert(!busy_percent_parse_pair("5 0\n", &permille));
    ck_assert(!busy_percent_parse_pair("5\n", &permille));
    ck_assert(!busy_percent_parse_pair("", &permille));
    ck_assert(!busy_percent_parse_pair("1 2 3\n", &permille));
}
END_TEST

START_TEST(busy_percentage_is_a_source_that_includes_our_own_load)
{
    tree_write(GPU_PATH "/gpu_busy_percent", "42\n");
    ck_assert_int_eq(busy_percent_open(&source, &tree_root, device), 0);
    look(1000 * MS);
    ck_assert_int_eq(reading.value, 420);
    ck_assert(source->is_mixed);
    tree_errno(GPU_PATH "/gpu_busy_percent", EAGAIN);
    look(1050 * MS);

    ck_assert_int_eq(reading.state, READING_STALE);
    ck_assert_int_eq(reading.value, 420);
}
END_TEST

START_TEST(adreno_of_its_vendor_reports_busy_and_total)
{
    struct gpu adreno = *device;

    ck_assert_int_eq(busy_percent_open(&source, &tree_root, &adreno), -ENOENT);
    tree_write(GPU_KGSL "/gpu_busy_percentage", "12 %\n");
    ck_assert_int_eq(busy_percent_open(&source, &tree_root, &adreno), -ENOENT); /* a panthor is no Adreno */
    snprintf(adreno.driver, sizeof(adreno.driver), "kgsl");
    ck_assert_int_eq(busy_percent_open(&source, &tree_root, &adreno), 0);
    look(1000 * MS);
    ck_assert_int_eq(reading.value, 120);
    tree_write(GPU_KGSL "/gpubusy", " 300 1000\n");

    look(1050 * MS);

    ck_assert_int_eq(reading.value, 300);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("busy_percent");
    TCase *tcase = tcase_create("busy_percent");

    tcase_add_checked_fixture(tcase, make, end);
    tcase_add_test(tcase, percentages_in_their_forms);
    tcase_add_test(tcase, busy_and_total_in_their_forms);
    tcase_add_test(tcase, busy_percentage_is_a_source_that_includes_our_own_load);
    tcase_add_test(tcase, adreno_of_its_vendor_reports_busy_and_total);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
