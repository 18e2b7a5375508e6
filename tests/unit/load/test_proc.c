/* The walk over all processes: whose descriptors are found, and what may not be looked into. */
#include "load/proc.h"
#include "watch.h"

#define FILE_BYTES 65537u

START_TEST(other_devices_and_files_with_such_names_are_not_ours)
{
    static const char *const nodes[] = { "/dev/dri/renderD129", "/dev/dri/renderD1280",      "/dev/dri/card1",
                                         "/dev/dri/controlD64", "/home/dri/renderD128.txt",  "/dev/dri/renderD",
                                         "socket:[128]",        "anon_inode:/dri/renderD128" };

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

START_TEST(client_of_another_pci_slot_is_not_ours_under_any_node_name)
{
    struct gpu pci = *device;
    struct source_client list[4];
    struct source *on_pci;
    struct source *twin;

    pci.is_pci = true;
    snprintf(pci.name, sizeof(pci.name), "0000:03:00.0");
    hold(100, 3, NODE, 1, 0);
    hold(101, 3, NODE, 2, 0);
    gpu_say(100, 3, "drm-client-id: 1\ndrm-pdev: 0000:03:00.0\ndrm-engine-gfx: 0 ns\n");
    gpu_say(101, 3, "drm-client-id: 2\ndrm-pdev: 0000:04:00.0\ndrm-engine-gfx: 0 ns\n");
    ck_assert_int_eq(fdinfo_open(&on_pci, &twin, &tree_root, &pci), 0);
    source_read(on_pci, 1000 * MS, &reading);

    ck_assert_uint_eq(source_clients(on_pci, list, 4), 1);
    ck_assert_uint_eq(list[0].id, 1);
    source_destroy(on_pci);
    source_destroy(twin);
}
END_TEST

START_TEST(process_that_ends_between_listing_and_reading_is_not_blind)
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

START_TEST(no_readable_process_is_forbidden_and_all_blind)
{
    tree_delete("/proc/1");
    tree_errno("/proc/1/fd", EACCES);
    look(1000 * MS);

    ck_assert_int_eq(reading.state, READING_FORBIDDEN);
    ck_assert_uint_eq(reading.blind_permille, 1000);
    ck_assert_ptr_nonnull(strstr(reading.why, "CAP_SYS_PTRACE"));
}
END_TEST

START_TEST(hidden_processes_are_blind_too)
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

START_TEST(tree_without_processes_is_absent)
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
    static char text[FILE_BYTES];
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

START_TEST(file_of_64_kilobytes_is_read_and_a_longer_one_is_blind)
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

START_TEST(walk_over_very_many_is_spread_over_readings)
{
    struct source_client list[4];

    /* A link and a file are 9 of a budget of 4000. */
    for (uint32_t pid = 100; pid < 110; pid++) {
        gpu_process(pid, "app\n");
        for (uint32_t fd = 3; fd < 50; fd++) {
            gpu_open(pid, fd, NODE);
            gpu_render(pid, fd, 1, 0);
        }
    }
    look(1000 * MS);
    ck_assert_int_eq(reading.state, READING_STALE);
    ck_assert_ptr_nonnull(strstr(reading.why, "under way"));
    look(1050 * MS);
    look(1100 * MS);

    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_uint_eq(source_clients(graphics, list, 4), 1);
}
END_TEST

static bool count_turns(void *context, uint32_t budget)
{
    struct proc_counts counts;
    struct proc *proc = context;

    return proc_continue(proc, budget, NULL, NULL, &counts);
}

START_TEST(budget_bounds_a_call_and_every_process_is_looked_into_once)
{
    const uint32_t minor = 128;
    struct proc_counts counts;
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
    ck_assert(proc_continue(proc, 1, NULL, NULL, &counts));
    ck_assert_uint_eq(counts.n_visited, 50);
    ck_assert(!counts.is_hidden);
    proc_destroy(proc);
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

int main(void)
{
    Suite *suite = suite_create("proc");
    TCase *tcase = tcase_create("proc");

    tcase_add_checked_fixture(tcase, make, end);
    tcase_add_test(tcase, other_devices_and_files_with_such_names_are_not_ours);
    tcase_add_test(tcase, node_of_a_container_and_one_that_was_deleted_are_ours);
    tcase_add_test(tcase, card_and_render_node_are_one_device);
    tcase_add_test(tcase, client_of_another_pci_slot_is_not_ours_under_any_node_name);
    tcase_add_test(tcase, process_that_ends_between_listing_and_reading_is_not_blind);
    tcase_add_test(tcase, process_that_may_not_be_looked_into_is_a_blind_share);
    tcase_add_test(tcase, kernel_threads_are_no_blind_share);
    tcase_add_test(tcase, no_readable_process_is_forbidden_and_all_blind);
    tcase_add_test(tcase, hidden_processes_are_blind_too);
    tcase_add_test(tcase, descriptor_that_may_not_be_read_is_a_blind_share);
    tcase_add_test(tcase, tree_without_processes_is_absent);
    tcase_add_test(tcase, file_of_64_kilobytes_is_read_and_a_longer_one_is_blind);
    tcase_add_test(tcase, walk_over_very_many_is_spread_over_readings);
    tcase_add_test(tcase, budget_bounds_a_call_and_every_process_is_looked_into_once);
    tcase_add_test(tcase, descriptors_are_kept_on_the_machine_and_all_closed);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
