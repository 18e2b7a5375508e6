/* A device's clients in a tree of processes: who is found, when, and what the sum of it is worth. */
#include "failed_alloc.h"
#include "gpu.h"
#include "sense/fdinfo.h"
#include "sense/proc.h"

#define MS                1000ull
#define FDINFO_TEST_BYTES 65537u

static const struct load_device *device;
static struct source *graphics;
static struct source *compute;
static struct reading reading;

static void make_driver(const char *driver)
{
    device = gpu_make(driver);
    ck_assert_int_eq(fdinfo_open(&graphics, &compute, &tree_root, device), 0);
}

static void make(void)
{
    make_driver("v3d");
}

static void end(void)
{
    source_destroy(graphics);
    source_destroy(compute);
    tree_remove();
}

static void look(uint64_t now_us)
{
    source_read(graphics, now_us, &reading);
}

/* A process with one descriptor. */
static void hold(uint32_t pid, uint32_t fd, const char *node, uint64_t id, uint64_t ns)
{
    gpu_process(pid, "app\n");
    gpu_open(pid, fd, node);
    gpu_render(pid, fd, id, ns);
}

#define NODE "/dev/dri/renderD128"

START_TEST(device_that_nobody_has_open_is_idle)
{
    look(1000 * MS);

    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_int_eq(reading.value, 0);
    ck_assert_uint_eq(reading.blind_permille, 0);
    ck_assert_str_eq(reading.why, "");
}
END_TEST

START_TEST(one_look_is_no_interval_and_two_are)
{
    hold(100, 3, NODE, 1, 0);
    look(1000 * MS);
    ck_assert_int_eq(reading.state, READING_ABSENT);
    ck_assert_uint_eq(reading.blind_permille, 1000);

    gpu_render(100, 3, 1, 20000000);
    look(1050 * MS);

    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_int_eq(reading.value, 400);
    ck_assert_uint_eq(reading.at_us, 1050 * MS);
}
END_TEST

START_TEST(compute_is_told_by_the_same_look)
{
    gpu_process(100, "app\n");
    gpu_open(100, 3, NODE);
    gpu_say(100, 3, "drm-driver: v3d\ndrm-client-id: 1\ndrm-engine-csd: 0 ns\ndrm-engine-render: 0 ns\n");
    look(1000 * MS);
    gpu_say(
        100, 3,
        "drm-driver: v3d\ndrm-client-id: 1\ndrm-engine-csd: 30000000 ns\ndrm-engine-render: 5000000 ns\n");
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

START_TEST(card_and_render_node_are_one_device)
{
    for (uint64_t turn = 0; turn <= 1; turn++) {
        if (turn == 0) {
            hold(100, 3, NODE, 1, 0);
            hold(101, 3, "/dev/dri/card0", 2, 0);
        }
        gpu_render(100, 3, 1, turn * 10000000);
        gpu_render(101, 3, 2, turn * 10000000);
        look((1000 + 50 * turn) * MS);
    }

    ck_assert_int_eq(reading.value, 400);
}
END_TEST

START_TEST(other_devices_and_files_with_such_names_are_not_ours)
{
    static const char *const nodes[] = {
        "/dev/dri/renderD129",      "/dev/dri/renderD1280", "/dev/dri/card1", "/dev/dri/controlD64",
        "/home/dri/renderD128.txt", "/dev/dri/renderD",     "socket:[128]",   "anon_inode:/dri/renderD128"
    };

    for (uint32_t i = 0; i < 8; i++) {
        hold(100 + i, 3, nodes[i], 1 + i, 0);
    }
    look(1000 * MS);

    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_uint_eq(source_clients(graphics, &(struct source_client){ 0 }, 1), 0);
}
END_TEST

START_TEST(node_of_a_container_and_one_that_was_deleted_are_ours)
{
    struct source_client list[4];

    hold(100, 3, "/dri/renderD128", 1, 0);
    hold(101, 3, "/dev/dri/renderD128 (deleted)", 2, 0);
    look(1000 * MS);

    ck_assert_uint_eq(source_clients(graphics, list, 4), 2);
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

START_TEST(client_that_ends_does_nothing_and_goes_with_the_next_walk)
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
    ck_assert_int_eq(reading.state, READING_ABSENT);

    look(1300 * MS); /* a walk: client 2 is new */
    gpu_render(100, 3, 2, 75000000);
    look(1350 * MS);

    ck_assert_int_eq(reading.value, 500);
}
END_TEST

START_TEST(process_that_ends_between_listing_and_reading_is_no_blindness)
{
    gpu_process(100, "app\n");
    gpu_open(100, 3, NODE);
    look(1000 * MS);

    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_uint_eq(reading.blind_permille, 0);
}
END_TEST

START_TEST(process_that_may_not_be_looked_into_is_a_blind_share)
{
    hold(100, 3, NODE, 1, 0);
    tree_errno("/proc/200/fd", EACCES);
    tree_errno("/proc/201/fd", EPERM);
    look(1000 * MS);
    look(1050 * MS);

    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_uint_eq(reading.blind_permille, 500); /* 2 of 4, with process 1 */
}
END_TEST

START_TEST(kernel_threads_are_no_blind_share)
{
    tree_errno("/proc/200/fd", EACCES);
    tree_write("/proc/200/stat", "200 (kworker/0:1) x) S 2 0 0 0 -1 69238880 0 0\n");
    tree_errno("/proc/201/fd", EACCES);
    tree_write("/proc/201/stat", "201 (sshd) S 1 201 201 0 -1 4194560 0 0\n");
    look(1000 * MS);

    ck_assert_uint_eq(reading.blind_permille, 500); /* sshd of sshd and init */
}
END_TEST

START_TEST(nobody_to_be_looked_into_is_forbidden_and_all_blind)
{
    tree_delete("/proc/1");
    tree_errno("/proc/1/fd", EACCES);
    look(1000 * MS);

    ck_assert_int_eq(reading.state, READING_FORBIDDEN);
    ck_assert_uint_eq(reading.blind_permille, 1000);
    ck_assert_ptr_nonnull(strstr(reading.why, "CAP_SYS_PTRACE"));
}
END_TEST

START_TEST(processes_that_do_not_show_are_blindness_too)
{
    tree_delete("/proc/1");
    hold(100, 3, NODE, 1, 0);
    look(1000 * MS);
    look(1050 * MS);

    ck_assert_uint_eq(reading.blind_permille, 1000);
}
END_TEST

START_TEST(descriptor_that_may_not_be_read_is_a_blind_share)
{
    hold(100, 3, NODE, 1, 0);
    hold(101, 3, NODE, 2, 0);
    tree_errno("/proc/101/fdinfo/3", EACCES);
    look(1000 * MS);
    look(1050 * MS);

    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_uint_eq(reading.blind_permille, 500);
}
END_TEST

START_TEST(tree_without_processes_says_so)
{
    tree_delete("/proc");
    look(1000 * MS);
    ck_assert_int_eq(reading.state, READING_ABSENT);

    tree_folder("/proc");
    look(3000 * MS);
    ck_assert_int_eq(reading.state, READING_ABSENT);
    ck_assert_ptr_nonnull(strstr(reading.why, "no processes"));
}
END_TEST

/* A file of @n bytes in all that ends with the client's id. */
static void write_long(uint32_t pid, size_t n)
{
    static char text[FDINFO_TEST_BYTES];
    char path[64];
    size_t at;

    memset(text, 'x', sizeof(text));
    for (at = 79; at < n; at += 80) {
        text[at] = '\n';
    }
    memcpy(text, "drm-client-id: 1\ndrm-engine-render: 0 ns\n", 41);
    snprintf(path, sizeof(path), "/proc/%u/fdinfo/3", pid);
    tree_write_bytes(path, text, n);
}

START_TEST(file_of_64_kilobytes_is_read_and_a_longer_one_is_blindness)
{
    hold(100, 3, NODE, 1, 0);
    write_long(100, 65536);
    look(1000 * MS);
    look(1050 * MS);
    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_uint_eq(reading.blind_permille, 0);

    write_long(100, 65537);
    look(3000 * MS);

    ck_assert_uint_eq(reading.blind_permille, 1000);
}
END_TEST

START_TEST(driver_that_tells_nothing_is_absent_and_not_idle)
{
    gpu_process(100, "app\n");
    gpu_open(100, 3, NODE);
    gpu_say(100, 3, "%s", "");
    look(1000 * MS);

    ck_assert_int_eq(reading.state, READING_ABSENT);
    ck_assert_ptr_nonnull(strstr(reading.why, "tells nothing"));
}
END_TEST

START_TEST(driver_that_tells_memory_only_is_absent)
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

START_TEST(device_that_is_told_to_stay_on_is_no_proof_of_work)
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

START_TEST(walk_over_very_many_is_spread_over_turns)
{
    struct source_client list[4];

    for (uint32_t pid = 100; pid < 800; pid++) {
        gpu_process(pid, "app\n");
    }
    hold(5, 3, NODE, 1, 0);
    hold(900, 3, NODE, 2, 0);
    look(1000 * MS);
    look(1050 * MS);
    look(1100 * MS);

    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_uint_eq(source_clients(graphics, list, 4), 2);
}
END_TEST

static bool count_turns(void *context, uint32_t budget)
{
    struct proc_tally tally;
    struct proc *proc = context;

    return proc_go_on(proc, budget, NULL, NULL, &tally);
}

START_TEST(budget_bounds_a_turn_and_every_process_is_looked_into_once)
{
    const uint32_t minor = 128;
    struct proc_tally tally;
    struct proc *proc;
    uint32_t n_turns = 1;

    for (uint32_t pid = 100; pid < 149; pid++) {
        gpu_process(pid, "app\n");
    }
    ck_assert_int_eq(proc_create(&proc, &tree_root, &minor, 1), 0);
    ck_assert_int_eq(proc_begin(proc), 0);

    while (!count_turns(proc, 20)) { /* a folder and a link are 5 */
        n_turns++;
    }

    ck_assert_uint_ge(n_turns, 12);
    ck_assert_uint_le(n_turns, 13);
    ck_assert(proc_go_on(proc, 1, NULL, NULL, &tally));
    ck_assert_uint_eq(tally.n_looked, 50);
    ck_assert(!tally.is_hidden);
    proc_destroy(proc);
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

static uint32_t count_descriptors(void)
{
    const struct dirent *entry;
    uint32_t n = 0;
    DIR *dir = opendir("/proc/self/fd");

    ck_assert_ptr_nonnull(dir);
    while ((entry = readdir(dir))) {
        n++;
    }
    closedir(dir);
    return n;
}

START_TEST(descriptors_are_kept_on_the_machine_and_all_closed)
{
    struct root machine = tree_root;
    const uint32_t n_before = count_descriptors();
    struct source *on_machine;
    struct source *twin;

    machine.is_machine = true;
    hold(100, 3, NODE, 1, 0);
    hold(101, 3, NODE, 2, 0);
    ck_assert_int_eq(fdinfo_open(&on_machine, &twin, &machine, device), 0);
    source_read(on_machine, 1000 * MS, &reading);
    source_read(on_machine, 1050 * MS, &reading);
    ck_assert_uint_eq(count_descriptors(), n_before + 3); /* and /proc */
    gpu_render(100, 3, 1, 50000000);
    source_read(on_machine, 1300 * MS, &reading);
    ck_assert_int_eq(reading.value, 200);

    tree_delete("/proc/101");
    source_read(on_machine, 3000 * MS, &reading);
    ck_assert_uint_eq(count_descriptors(), n_before + 2);
    source_destroy(twin);
    source_destroy(on_machine);
    ck_assert_uint_eq(count_descriptors(), n_before);
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

static void add_worth(TCase *tcase)
{
    tcase_add_test(tcase, process_that_may_not_be_looked_into_is_a_blind_share);
    tcase_add_test(tcase, kernel_threads_are_no_blind_share);
    tcase_add_test(tcase, nobody_to_be_looked_into_is_forbidden_and_all_blind);
    tcase_add_test(tcase, processes_that_do_not_show_are_blindness_too);
    tcase_add_test(tcase, descriptor_that_may_not_be_read_is_a_blind_share);
    tcase_add_test(tcase, tree_without_processes_says_so);
    tcase_add_test(tcase, file_of_64_kilobytes_is_read_and_a_longer_one_is_blindness);
    tcase_add_test(tcase, driver_that_tells_nothing_is_absent_and_not_idle);
    tcase_add_test(tcase, driver_that_tells_memory_only_is_absent);
    tcase_add_test(tcase, unplugged_device_whose_files_lose_their_keys_is_not_idle);
    tcase_add_test(tcase, cycles_of_an_unknown_clock_are_absent_and_with_devfreq_s_clock_a_share);
    tcase_add_test(tcase, counters_at_zero_on_a_busy_device_are_unknown_and_not_idle);
    tcase_add_test(tcase, counters_at_zero_on_a_sleeping_device_are_idle);
    tcase_add_test(tcase, device_that_is_told_to_stay_on_is_no_proof_of_work);
    tcase_add_test(tcase, busy_percentage_is_proof_of_work_too);
    tcase_add_test(tcase, walk_over_very_many_is_spread_over_turns);
    tcase_add_test(tcase, budget_bounds_a_turn_and_every_process_is_looked_into_once);
    tcase_add_test(tcase, known_clients_are_read_without_allocating);
    tcase_add_test(tcase, descriptors_are_kept_on_the_machine_and_all_closed);
    tcase_add_test(tcase, want_of_memory_in_opening_is_a_fault);
}

int main(void)
{
    Suite *suite = suite_create("fdinfo");
    TCase *tcase = tcase_create("fdinfo");
    TCase *switches = tcase_create("switches");

    tcase_add_checked_fixture(tcase, make, end);
    tcase_add_test(tcase, device_that_nobody_has_open_is_idle);
    tcase_add_test(tcase, one_look_is_no_interval_and_two_are);
    tcase_add_test(tcase, compute_is_told_by_the_same_look);
    tcase_add_test(tcase, either_source_works_without_the_other);
    tcase_add_test(tcase, client_on_three_descriptors_of_two_processes_counts_once);
    tcase_add_test(tcase, card_and_render_node_are_one_device);
    tcase_add_test(tcase, other_devices_and_files_with_such_names_are_not_ours);
    tcase_add_test(tcase, node_of_a_container_and_one_that_was_deleted_are_ours);
    tcase_add_test(tcase, new_client_is_found_by_the_next_walk_or_when_asked);
    tcase_add_test(tcase, idle_client_is_read_every_250_ms_only);
    tcase_add_test(tcase, client_that_ends_does_nothing_and_goes_with_the_next_walk);
    tcase_add_test(tcase, client_whose_first_holder_closes_is_found_with_the_second);
    tcase_add_test(tcase, descriptor_that_became_another_client_is_not_mistaken);
    tcase_add_test(tcase, process_that_ends_between_listing_and_reading_is_no_blindness);
    add_worth(tcase);
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(switches, NULL, end);
    tcase_add_test(switches, switch_that_is_off_is_named);
    suite_add_tcase(suite, switches);
    return unit_run(suite);
}
