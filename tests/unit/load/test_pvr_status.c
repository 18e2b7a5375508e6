/* The vendor PowerVR driver's own figures, as its versions print them. */
#include "failed_alloc.h"
#include "gpu.h"
#include "load/pvr_status.h"

#define MS     1000ull
#define STATUS "/sys/kernel/debug/pvr/status"

#define HEAD                                                                                                           \
    "Driver Status:   OK\n\nDevice ID: 0:128\nFirmware Status: OK\nServer Errors:   24\nHWR Event Count: "             \
    "1\n"                                                                                                              \
    "CRR Event Count: 2\nSLR Event Count: 3\nWGP Error Count: 0\nTRP Error Count: 0\nFWF Event Count: 4\n"             \
    "APM Event Count: 2026\n"

static const char now_print[] = HEAD "GPU Utilisation: 57%\nDM Utilisation:  VM0\n           2D:   3% \n"
                                     "         GEOM:  12% \n           3D:  41% \n          CDM:  23% \n"
                                     "          RAY:   0% \n        GEOM2:   0% \n";

static struct pvr_status status;
static const struct gpu *device;
static struct source *graphics;
static struct source *compute;
static struct reading reading;

static bool parse(const char *text)
{
    return pvr_status_parse(&status, text, strlen(text));
}

static void make(void)
{
    device = gpu_make("pvrsrvkm");
}

static void open_both(void)
{
    ck_assert_int_eq(pvr_status_open(&graphics, &compute, &tree_root, device), 0);
}

static void end(void)
{
    source_destroy(graphics);
    source_destroy(compute);
    tree_remove();
}

START_TEST(graphics_is_the_busiest_of_3d_and_compute_is_separate)
{
    ck_assert(parse(now_print));

    ck_assert(status.is_driver_ok);
    ck_assert_uint_eq(status.n_devices, 1);
    ck_assert_uint_eq(status.devices[0].minor, 128);
    ck_assert_uint_eq(status.devices[0].total_permille, 570);
    ck_assert_uint_eq(status.devices[0].graphics_permille, 410);
    ck_assert_uint_eq(status.devices[0].compute_permille, 230);
    ck_assert_int_eq(status.devices[0].health, PVR_HEALTH_OK);
}
END_TEST

START_TEST(guests_of_all_columns_add_up)
{
    ck_assert(parse(HEAD "GPU Utilisation: 90%\nDM Utilisation:  VM0  VM1  VM2\n          TDM:   1%   2%    - \n"
                         "         GEOM:  30%  40%   5% \n           3D:  20%  20%  10% \n"
                         "          CDM:    -   80%  70% \n"));

    ck_assert_uint_eq(status.devices[0].graphics_permille, 750);
    ck_assert_uint_eq(status.devices[0].compute_permille, 1000);
}
END_TEST

START_TEST(dash_is_no_number)
{
    ck_assert(parse(HEAD "GPU Utilisation: -\n"));

    ck_assert(!status.devices[0].has_total);
    ck_assert(!status.devices[0].has_rows);
    ck_assert(!status.devices[0].has_sides);
}
END_TEST

START_TEST(rows_of_dashes_are_rows_without_figures)
{
    ck_assert(parse(HEAD "GPU Utilisation: 0%\nDM Utilisation:  VM0\n         GEOM:   - \n          CDM:   - \n"));

    ck_assert(status.devices[0].has_rows);
    ck_assert(!status.devices[0].has_sides);
}
END_TEST

START_TEST(second_geometry_master_counts)
{
    ck_assert(parse(HEAD "GPU Utilisation: 9%\nDM Utilisation:  VM0\n         GEOM:   1% \n        GEOM2:  66% \n"));

    ck_assert_uint_eq(status.devices[0].graphics_permille, 660);
}
END_TEST

START_TEST(of_several_devices_ours_is_taken)
{
    ck_assert(parse("Driver Status:   OK\n\nDevice ID: 0:128\nFirmware Status: OK\nGPU Utilisation: 10%\n\n"
                    "Device ID: 1:129\nFirmware Status: OK\nHWR Event Count: 7\nGPU Utilisation: 20%\n"));

    ck_assert_uint_eq(status.n_devices, 2);
    ck_assert_uint_eq(pvr_status_device(&status, 129)->total_permille, 200);
    ck_assert_ptr_null(pvr_status_device(&status, 130));
}
END_TEST

START_TEST(only_device_is_ours_with_any_minor)
{
    ck_assert(parse("Device ID: 0:130\nGPU Utilisation: 10%\n"));

    ck_assert_ptr_nonnull(pvr_status_device(&status, 128));
}
END_TEST

START_TEST(oldest_driver_has_no_line_for_its_device)
{
    ck_assert(parse("Driver Status:   OK\nHWR Event Count: 5\nCRR Event Count: 0\nAPM Event Count: 1\n"
                    "GPU Utilisation: 33%\n"));

    ck_assert_uint_eq(status.n_devices, 1);
    ck_assert_uint_eq(pvr_status_device(&status, 128)->total_permille, 330);
}
END_TEST

START_TEST(unhealthy_firmware_is_reported)
{
    static const struct {
        const char *words;
        enum pvr_health health;
    } rows[] = {
        { "OK", PVR_HEALTH_OK },
        { "DEAD (Asserted)", PVR_HEALTH_BAD },
        { "NOT RESPONDING (Poll failure)", PVR_HEALTH_BAD },
        { "FAULT", PVR_HEALTH_BAD },
        { "UNDEFINED", PVR_HEALTH_UNKNOWN },
    };
    char text[160];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(text, sizeof(text), "Device ID: 0:128\nFirmware Status: %s\n", rows[i].words);
        ck_assert(parse(text));
        ck_assert_int_eq(status.devices[0].health, rows[i].health);
        ck_assert_str_eq(status.devices[0].health_words, rows[i].words);
    }
}
END_TEST

START_TEST(foreign_text_is_no_status)
{
    ck_assert(!parse(""));
    ck_assert(!parse("Driver Status:   OK\n"));
    ck_assert(!parse("Device ID: x:y\n3D\n:::\n"));
    ck_assert(!parse("Memory: 3\nCached: 4\n"));
}
END_TEST

START_TEST(more_devices_than_fit_do_no_harm)
{
    char text[1024] = "";

    for (int i = 0; i < 12; i++) {
        size_t n = strlen(text);

        snprintf(text + n, sizeof(text) - n, "Device ID: %d:%d\nGPU Utilisation: %d%%\n", i, 128 + i, i);
    }
    ck_assert(parse(text));

    ck_assert_uint_eq(status.n_devices, PVR_DEVICES_MAX);
    ck_assert_uint_eq(pvr_status_device(&status, 128)->total_permille, 0);
}
END_TEST

START_TEST(one_read_serves_both_readings)
{
    tree_write(STATUS, now_print);
    open_both();
    source_read(graphics, 1000 * MS, &reading);
    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_int_eq(reading.value, 410);
    tree_write(STATUS, HEAD "GPU Utilisation: 0%\nDM Utilisation:  VM0\n           3D:   0% \n          CDM:   0% \n");

    source_read(compute, 1001 * MS, &reading);

    ck_assert_int_eq(reading.value, 230); /* not asked again: the figures would cover a millisecond */
    ck_assert_uint_eq(graphics->rank, LOAD_RANK_VENDOR);
    ck_assert(!graphics->is_mixed);
    ck_assert(compute->is_mixed);
}
END_TEST

START_TEST(one_figure_for_everything_is_mixed_and_compute_is_absent)
{
    tree_write(STATUS, HEAD "GPU Utilisation: 57%\n");
    open_both();
    source_read(graphics, 1000 * MS, &reading);
    ck_assert_int_eq(reading.value, 570);
    source_read(compute, 1000 * MS, &reading);

    ck_assert_int_eq(reading.state, READING_ABSENT);
    ck_assert(graphics->is_mixed);
}
END_TEST

START_TEST(dash_is_absent_and_not_idle)
{
    tree_write(STATUS, HEAD "GPU Utilisation: -\n");
    open_both();
    source_read(graphics, 1000 * MS, &reading);

    ck_assert_int_eq(reading.state, READING_ABSENT);
}
END_TEST

START_TEST(rows_of_dashes_are_idle_if_nothing_ran)
{
    tree_write(STATUS, HEAD "GPU Utilisation: 0%\nDM Utilisation:  VM0\n         GEOM:   - \n          CDM:   - \n");
    open_both();
    source_read(graphics, 1000 * MS, &reading);
    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_int_eq(reading.value, 0);
    tree_write(STATUS, HEAD "GPU Utilisation: 9%\nDM Utilisation:  VM0\n         GEOM:   - \n          CDM:   - \n");

    source_read(graphics, 1100 * MS, &reading);

    ck_assert_int_eq(reading.state, READING_ABSENT);
}
END_TEST

START_TEST(dead_firmware_is_absent_with_its_words)
{
    tree_write(STATUS, "Driver Status: OK\nDevice ID: 0:128\nFirmware Status: DEAD (Asserted)\nHWR Event Count: 1\n");
    open_both();
    source_read(graphics, 1000 * MS, &reading);

    ck_assert_int_eq(reading.state, READING_ABSENT);
    ck_assert_ptr_nonnull(strstr(reading.why, "DEAD (Asserted)"));
}
END_TEST

START_TEST(faults_of_reading_are_told_apart)
{
    static const struct {
        int fault;
        enum reading_state state;
    } rows[] = {
        { EACCES, READING_FORBIDDEN },
        { ENOENT, READING_ABSENT },
        { EIO, READING_STALE },
        { EAGAIN, READING_STALE },
    };

    tree_write(STATUS, now_print);
    open_both();
    source_read(graphics, 1000 * MS, &reading);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tree_errno(STATUS, rows[i].fault);
        source_read(graphics, (1100 + 100 * i) * MS, &reading);
        ck_assert_int_eq(reading.state, rows[i].state);
        if (reading.state == READING_STALE) {
            ck_assert_int_eq(reading.value, 410);
            ck_assert_uint_eq(reading.at_us, 1000 * MS);
        }
    }
}
END_TEST

START_TEST(file_in_procfs_serves_where_debugfs_has_none)
{
    tree_write("/proc/pvr/status", now_print);
    open_both();
    source_read(graphics, 1000 * MS, &reading);

    ck_assert_int_eq(reading.value, 410);
    ck_assert_str_eq(graphics->path, "/proc/pvr/status");
}
END_TEST

START_TEST(empty_file_and_another_device_s_are_absent)
{
    tree_write(STATUS, "");
    open_both();
    source_read(graphics, 1000 * MS, &reading);
    ck_assert_int_eq(reading.state, READING_ABSENT);
    tree_write(STATUS, "Device ID: 0:130\nGPU Utilisation: 1%\nDevice ID: 1:131\nGPU Utilisation: 1%\n");

    source_read(graphics, 1100 * MS, &reading);

    ck_assert_int_eq(reading.state, READING_ABSENT);
}
END_TEST

static int open_once(void *data)
{
    int r = pvr_status_open(&graphics, &compute, &tree_root, device);

    if (!r) {
        source_destroy(graphics);
        source_destroy(compute);
    }
    graphics = NULL;
    compute = NULL;
    return r;
}

START_TEST(want_of_memory_in_opening_is_a_fault)
{
    tree_write(STATUS, now_print);
    for_each_failed_alloc(open_once, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pvr_status");
    TCase *pure = tcase_create("parse");
    TCase *tcase = tcase_create("source");

    tcase_add_test(pure, graphics_is_the_busiest_of_3d_and_compute_is_separate);
    tcase_add_test(pure, guests_of_all_columns_add_up);
    tcase_add_test(pure, dash_is_no_number);
    tcase_add_test(pure, rows_of_dashes_are_rows_without_figures);
    tcase_add_test(pure, second_geometry_master_counts);
    tcase_add_test(pure, of_several_devices_ours_is_taken);
    tcase_add_test(pure, only_device_is_ours_with_any_minor);
    tcase_add_test(pure, oldest_driver_has_no_line_for_its_device);
    tcase_add_test(pure, unhealthy_firmware_is_reported);
    tcase_add_test(pure, foreign_text_is_no_status);
    tcase_add_test(pure, more_devices_than_fit_do_no_harm);
    suite_add_tcase(suite, pure);
    tcase_add_checked_fixture(tcase, make, end);
    tcase_add_test(tcase, one_read_serves_both_readings);
    tcase_add_test(tcase, one_figure_for_everything_is_mixed_and_compute_is_absent);
    tcase_add_test(tcase, dash_is_absent_and_not_idle);
    tcase_add_test(tcase, rows_of_dashes_are_idle_if_nothing_ran);
    tcase_add_test(tcase, dead_firmware_is_absent_with_its_words);
    tcase_add_test(tcase, faults_of_reading_are_told_apart);
    tcase_add_test(tcase, file_in_procfs_serves_where_debugfs_has_none);
    tcase_add_test(tcase, empty_file_and_another_device_s_are_absent);
    tcase_add_test(tcase, want_of_memory_in_opening_is_a_fault);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
