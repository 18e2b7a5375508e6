/* A device's clients, found and read again and again, and what the sum of it is worth. */
#include "failed_alloc.h"
#include "watch.h"

START_TEST(device_without_clients_is_idle)
{
    look(1000 * MS);

    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_int_eq(reading.value, 0);
    ck_assert_uint_eq(reading.blind_permille, 0);
    ck_assert_str_eq(reading.why, "");
}
END_TEST

START_TEST(one_reading_is_no_interval_and_two_are)
{
    hold(100, 3, NODE, 1, 0);
    look(1000 * MS);
    ck_assert_int_eq(reading.state, READING_STALE);
    ck_assert_uint_eq(reading.at_us, 0);
    ck_assert_uint_eq(reading.blind_permille, 1000);

    gpu_render(100, 3, 1, 20000000);
    look(1050 * MS);

    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_int_eq(reading.value, 400);
    ck_assert_uint_eq(reading.at_us, 1050 * MS);
}
END_TEST

START_TEST(compute_comes_from_the_same_reading)
{
    gpu_process(100, "app\n");
    gpu_open(100, 3, NODE);
    gpu_say(100, 3, "drm-driver: v3d\ndrm-client-id: 1\ndrm-engine-csd: 0 ns\ndrm-engine-render: 0 ns\n");
    look(1000 * MS);
    gpu_say(100, 3, "drm-driver: v3d\ndrm-client-id: 1\ndrm-engine-csd: 30000000 ns\ndrm-engine-render: 5000000 ns\n");
    look(1050 * MS);
    ck_assert_int_eq(reading.value, 100);

    source_read(compute, 1051 * MS, &reading);

    ck_assert_int_eq(reading.value, 600);
    ck_assert_uint_eq(reading.at_us, 1050 * MS);
}
END_TEST

START_TEST(either_source_works_without_the_other)
{
    hold(100, 3, NODE, 1, 0);
    source_destroy(graphics);
    graphics = NULL;
    source_read(compute, 1000 * MS, &reading);
    source_read(compute, 1050 * MS, &reading);

    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_int_eq(reading.value, 0);
}
END_TEST

START_TEST(client_on_three_descriptors_of_two_processes_counts_once)
{
    struct source_client list[4];

    for (uint64_t turn = 0; turn <= 1; turn++) {
        if (turn == 0) {
            hold(100, 3, NODE, 1, 0);
            hold(101, 7, NODE, 1, 0);
            gpu_open(100, 4, NODE);
        }
        gpu_render(100, 3, 1, turn * 800000000);
        gpu_render(100, 4, 1, turn * 800000000);
        gpu_render(101, 7, 1, turn * 800000000);
        look((1000 + 2000 * turn) * MS);
    }

    ck_assert_int_eq(reading.value, 400);
    ck_assert_uint_eq(source_clients(graphics, list, 4), 1);
    ck_assert_uint_eq(list[0].id, 1);
    ck_assert_uint_eq(list[0].graphics_permille, 400);
    ck_assert_str_eq(list[0].name, "app");
    ck_assert(list[0].pid == 100 || list[0].pid == 101);
}
END_TEST

START_TEST(new_client_is_found_by_the_next_walk_or_when_asked)
{
    struct source_client list[4];

    look(1000 * MS);
    hold(100, 3, NODE, 1, 0);
    look(1500 * MS);
    ck_assert_uint_eq(source_clients(graphics, list, 4), 0);
    look(3000 * MS);
    ck_assert_uint_eq(source_clients(graphics, list, 4), 1);
    hold(101, 3, NODE, 2, 0);

    fdinfo_walk_soon(graphics);
    look(3300 * MS);

    ck_assert_uint_eq(source_clients(graphics, list, 4), 2);
}
END_TEST

START_TEST(idle_client_is_read_every_250_ms_only)
{
    hold(100, 3, NODE, 1, 0);
    look(1000 * MS);
    look(1050 * MS);
    gpu_render(100, 3, 1, 50000000);
    look(1100 * MS);
    ck_assert_int_eq(reading.value, 0);

    look(1300 * MS);

    ck_assert_int_eq(reading.value, 200);
}
END_TEST

START_TEST(client_that_ends_is_idle_and_dropped_by_the_next_walk)
{
    struct source_client list[4];

    hold(100, 3, NODE, 1, 0);
    look(1000 * MS);
    gpu_render(100, 3, 1, 50000000);
    look(1050 * MS);
    ck_assert_int_eq(reading.value, 1000);
    tree_delete("/proc/100");

    look(1100 * MS);
    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_int_eq(reading.value, 0);
    look(1300 * MS);
    ck_assert_uint_eq(source_clients(graphics, list, 4), 0);
}
END_TEST

START_TEST(client_whose_first_holder_closes_is_found_with_the_second)
{
    struct source_client list[4];
    uint32_t first;

    hold(100, 3, NODE, 1, 0);
    hold(101, 3, NODE, 1, 0);
    look(1000 * MS);
    ck_assert_uint_eq(source_clients(graphics, list, 4), 1);
    first = list[0].pid;
    tree_delete(first == 100 ? "/proc/100" : "/proc/101");
    look(1050 * MS);
    gpu_render(201 - first, 3, 1, 150000000);

    look(1300 * MS);

    ck_assert_int_eq(reading.value, 500);
    ck_assert_uint_eq(source_clients(graphics, list, 4), 1);
    ck_assert_uint_eq(list[0].pid, 201 - first);
}
END_TEST

START_TEST(descriptor_that_became_another_client_is_not_mistaken)
{
    hold(100, 3, NODE, 1, 0);
    look(1000 * MS);
    gpu_render(100, 3, 2, 50000000);
    look(1050 * MS);
    ck_assert_int_eq(reading.state, READING_STALE);

    look(1300 * MS); /* a walk: client 2 is new */
    gpu_render(100, 3, 2, 75000000);
    look(1350 * MS);

    ck_assert_int_eq(reading.value, 500);
}
END_TEST

START_TEST(driver_that_reports_nothing_is_absent_and_not_idle)
{
    gpu_process(100, "app\n");
    gpu_open(100, 3, NODE);
    gpu_say(100, 3, "%s", "");
    look(1000 * MS);

    ck_assert_int_eq(reading.state, READING_ABSENT);
    ck_assert_ptr_nonnull(strstr(reading.why, "tells nothing"));
}
END_TEST

START_TEST(driver_that_reports_memory_only_is_absent)
{
    gpu_process(100, "app\n");
    gpu_open(100, 3, NODE);
    gpu_say(100, 3, "drm-driver: etnaviv\ndrm-client-id: 1\ndrm-total-memory: 4 KiB\n");
    look(1000 * MS);
    look(1050 * MS);

    ck_assert_int_eq(reading.state, READING_ABSENT);
    ck_assert_ptr_nonnull(strstr(reading.why, "no times"));
}
END_TEST

START_TEST(unplugged_device_whose_files_lose_their_keys_is_not_idle)
{
    hold(100, 3, NODE, 1, 0);
    look(1000 * MS);
    look(1050 * MS);
    gpu_say(100, 3, "%s", "");

    look(3000 * MS);

    ck_assert_int_eq(reading.state, READING_ABSENT);
}
END_TEST

START_TEST(device_that_is_gone_is_absent_and_back_under_another_number_is_found)
{
    struct source_client list[4];

    look(1000 * MS);
    tree_delete("/sys/class/drm");
    tree_folder("/sys/class/drm");
    look(3000 * MS);
    ck_assert_int_eq(reading.state, READING_ABSENT);
    ck_assert_ptr_nonnull(strstr(reading.why, "gone"));

    gpu_node("renderD129", GPU_PATH);
    hold(100, 3, "/dev/dri/renderD129", 1, 0);
    look(5000 * MS);
    look(5050 * MS);

    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_uint_eq(source_clients(graphics, list, 4), 1);
    ck_assert_uint_eq(list[0].minor, 129);
}
END_TEST

START_TEST(cycles_of_an_unknown_clock_are_absent_and_with_devfreq_s_clock_a_share)
{
    gpu_process(100, "app\n");
    gpu_open(100, 3, NODE);
    for (uint64_t turn = 0; turn <= 1; turn++) {
        gpu_say(100, 3, "drm-client-id: 1\ndrm-cycles-gpu: %" PRIu64 "\n", turn * 10000000);
        look((1000 + 50 * turn) * MS);
    }
    ck_assert_int_eq(reading.state, READING_ABSENT);
    ck_assert_ptr_nonnull(strstr(reading.why, "clock"));
    source_destroy(graphics);
    source_destroy(compute);

    tree_write("/sys/class/devfreq/fd00000.gpu/available_frequencies", "200000000 800000000 400000000\n");
    ck_assert_int_eq(fdinfo_open(&graphics, &compute, &tree_root, device), 0);
    for (uint64_t turn = 0; turn <= 1; turn++) {
        gpu_say(100, 3, "drm-client-id: 1\ndrm-cycles-gpu: %" PRIu64 "\n", turn * 10000000);
        look((1000 + 50 * turn) * MS);
    }

    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_int_eq(reading.value, 250);
}
END_TEST

START_TEST(switch_that_is_off_is_named)
{
    make_driver("panfrost");
    tree_write(GPU_PATH "/profiling", "0\n");
    hold(100, 3, NODE, 1, 0);
    look(1000 * MS);
    look(1050 * MS);
    ck_assert_int_eq(reading.state, READING_ABSENT);
    ck_assert_ptr_nonnull(strstr(reading.why, "profiling"));
    ck_assert_uint_eq(reading.blind_permille, 1000);

    tree_write(GPU_PATH "/profiling", "1\n");
    look(3000 * MS);

    ck_assert_int_eq(reading.state, READING_OK);
}
END_TEST

static void write_power(uint64_t active_ms, uint64_t suspended_ms)
{
    char text[32];

    snprintf(text, sizeof(text), "%" PRIu64 "\n", active_ms);
    tree_write(GPU_PATH "/power/runtime_active_time", text);
    snprintf(text, sizeof(text), "%" PRIu64 "\n", suspended_ms);
    tree_write(GPU_PATH "/power/runtime_suspended_time", text);
    tree_write(GPU_PATH "/power/control", "auto\n");
}

/* Ten seconds of a client whose counters stay zero, with @active_ms of each 50 under power. */
static void stand_still(uint64_t active_ms)
{
    for (uint64_t i = 0; i <= 200; i++) {
        write_power(1000 + i * active_ms, 5000 + i * (50 - active_ms));
        look((1000 + 50 * i) * MS);
    }
}

START_TEST(counters_at_zero_on_a_busy_device_are_unknown_and_not_idle)
{
    hold(100, 3, NODE, 1, 0);
    stand_still(50);

    ck_assert_int_eq(reading.state, READING_ABSENT);
    ck_assert_ptr_nonnull(strstr(reading.why, "stand still"));
    ck_assert_uint_eq(reading.blind_permille, 1000);
}
END_TEST

START_TEST(counters_at_zero_on_a_sleeping_device_are_idle)
{
    hold(100, 3, NODE, 1, 0);
    stand_still(5);

    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_int_eq(reading.value, 0);
}
END_TEST

START_TEST(device_kept_on_is_no_proof_of_work)
{
    hold(100, 3, NODE, 1, 0);
    for (uint64_t i = 0; i <= 200; i++) {
        write_power(1000 + i * 50, 5000);
        tree_write(GPU_PATH "/power/control", "on\n");
        look((1000 + 50 * i) * MS);
    }

    ck_assert_int_eq(reading.state, READING_OK);
}
END_TEST

START_TEST(busy_percentage_is_proof_of_work_too)
{
    hold(100, 3, NODE, 1, 0);
    tree_write(GPU_PATH "/gpu_busy_percent", "97\n");
    for (uint64_t i = 0; i <= 200; i++) {
        look((1000 + 50 * i) * MS);
    }
    ck_assert_int_eq(reading.state, READING_ABSENT);
    ck_assert_ptr_nonnull(strstr(reading.why, "stand still"));

    gpu_render(100, 3, 1, 1000000);
    look(11300 * MS);

    ck_assert_int_eq(reading.state, READING_OK);
}
END_TEST

START_TEST(known_clients_are_read_without_allocating)
{
    struct source_client list[4];
    uint64_t n_allocs;

    for (uint32_t pid = 100; pid < 120; pid++) {
        hold(pid, 3, NODE, pid, 0);
    }
    look(1000 * MS);
    look(3000 * MS);
    n_allocs = mem_n_allocs();

    for (uint64_t i = 1; i <= 100; i++) {
        look((3000 + 50 * i) * MS);
    }
    source_clients(graphics, list, 4);

    ck_assert_uint_eq(mem_n_allocs(), n_allocs);
}
END_TEST

static int open_and_look(void *data)
{
    struct reading look;
    int r = fdinfo_open(&graphics, &compute, &tree_root, device);

    if (r) {
        return r;
    }
    source_read(graphics, 1000 * MS, &look);
    r = look.state == READING_OK ? 0 : -ENOMEM;
    source_destroy(graphics);
    source_destroy(compute);
    return r;
}

START_TEST(want_of_memory_in_opening_is_a_fault)
{
    source_destroy(graphics);
    source_destroy(compute);
    /* The list of processes is allocated last; without it everybody is blind, and nobody idle. */
    for_each_failed_alloc(open_and_look, NULL);
    graphics = NULL;
    compute = NULL;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fdinfo");
    TCase *tcase = tcase_create("fdinfo");
    TCase *switches = tcase_create("switches");

    tcase_add_checked_fixture(tcase, make, end);
    tcase_add_test(tcase, device_without_clients_is_idle);
    tcase_add_test(tcase, one_reading_is_no_interval_and_two_are);
    tcase_add_test(tcase, compute_comes_from_the_same_reading);
    tcase_add_test(tcase, either_source_works_without_the_other);
    tcase_add_test(tcase, client_on_three_descriptors_of_two_processes_counts_once);
    tcase_add_test(tcase, new_client_is_found_by_the_next_walk_or_when_asked);
    tcase_add_test(tcase, idle_client_is_read_every_250_ms_only);
    tcase_add_test(tcase, client_that_ends_is_idle_and_dropped_by_the_next_walk);
    tcase_add_test(tcase, client_whose_first_holder_closes_is_found_with_the_second);
    tcase_add_test(tcase, descriptor_that_became_another_client_is_not_mistaken);
    tcase_add_test(tcase, driver_that_reports_nothing_is_absent_and_not_idle);
    tcase_add_test(tcase, driver_that_reports_memory_only_is_absent);
    tcase_add_test(tcase, unplugged_device_whose_files_lose_their_keys_is_not_idle);
    tcase_add_test(tcase, device_that_is_gone_is_absent_and_back_under_another_number_is_found);
    tcase_add_test(tcase, cycles_of_an_unknown_clock_are_absent_and_with_devfreq_s_clock_a_share);
    tcase_add_test(tcase, counters_at_zero_on_a_busy_device_are_unknown_and_not_idle);
    tcase_add_test(tcase, counters_at_zero_on_a_sleeping_device_are_idle);
    tcase_add_test(tcase, device_kept_on_is_no_proof_of_work);
    tcase_add_test(tcase, busy_percentage_is_proof_of_work_too);
    tcase_add_test(tcase, known_clients_are_read_without_allocating);
    tcase_add_test(tcase, want_of_memory_in_opening_is_a_fault);
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(switches, NULL, end);
    tcase_add_test(switches, switch_that_is_off_is_named);
    suite_add_tcase(suite, switches);
    return unit_run(suite);
}
