/* Available memory, not free memory; and never more than the control groups leave. */
#include "inventory/scan.h"
#include "memory/memory.h"

#define V2 "/sys/fs/cgroup"
#define V1 "/sys/fs/cgroup/memory"

static struct memory memory;

static void meminfo(uint32_t free_mb, uint32_t available_mb)
{
    char text[256];

    snprintf(text, sizeof(text),
             "MemTotal:        8000000 kB\nMemFree:         %u kB\nMemAvailable:    %u kB\nCached:    100 kB\n",
             free_mb * 1024, available_mb * 1024);
    tree_write("/proc/meminfo", text);
}

/* Adds a group of version 2 below the mount. */
static void group(const char *path, const char *max, const char *high, const char *current)
{
    char file[256];

    snprintf(file, sizeof(file), V2 "%s/memory.max", path);
    tree_write(file, max);
    snprintf(file, sizeof(file), V2 "%s/memory.high", path);
    tree_write(file, high);
    snprintf(file, sizeof(file), V2 "%s/memory.current", path);
    tree_write(file, current);
}

static void read_memory(void)
{
    ck_assert_int_eq(memory_read(&tree_root, 0, &memory), 0);
}

START_TEST(available_counts_where_free_is_less)
{
    meminfo(200, 3000);

    read_memory();

    ck_assert_uint_eq(memory.available_kb, 3000 * 1024);
    ck_assert_uint_eq(memory.total_kb, 8000000);
    ck_assert_uint_eq(memory.group_limit_kb, MEMORY_NO_LIMIT);
}
END_TEST

START_TEST(available_counts_where_free_is_more)
{
    meminfo(3000, 200);

    read_memory();

    ck_assert_uint_eq(memory.available_kb, 200 * 1024);
}
END_TEST

START_TEST(group_limit_below_both_bounds)
{
    meminfo(200, 3000);
    tree_write("/proc/self/cgroup", "0::/system.slice/sottod.service\n");
    group("/system.slice/sottod.service", "104857600\n", "max\n", "41943040\n");

    read_memory();

    ck_assert_uint_eq(memory.group_limit_kb, 100 * 1024);
    ck_assert_uint_eq(memory.available_kb, 60 * 1024);
    ck_assert_str_eq(memory.group, V2 "/system.slice/sottod.service");
}
END_TEST

START_TEST(limit_of_a_group_above_bounds)
{
    meminfo(200, 3000);
    tree_write("/proc/self/cgroup", "0::/a/b/c\n");
    group("/a", "104857600\n", "max\n", "94371840\n");
    group("/a/b", "max\n", "max\n", "1000\n");
    group("/a/b/c", "209715200\n", "max\n", "1000\n");

    read_memory();

    ck_assert_uint_eq(memory.available_kb, 10 * 1024);
    ck_assert_str_eq(memory.group, V2 "/a");
}
END_TEST

static const struct {
    const char *max;
    const char *high;
    const char *current;
    const char *stat;
    uint64_t available_mb;
} limit_rows[] = {
    { "1073741824\n", "104857600\n", "0\n", "", 100 }, /* memory.high bounds as memory.max does */
    { "max\n", "1000\n", "104857600\n", "", 0 },       /* over its limit */
    { "104857600\n", "max\n", "104857600\n",           /* pages that are dropped first are added back */
      "anon 1000\nfile 73400320\ninactive_file 62914560\nactive_file 10485760\n", 60 },
};

START_TEST(group_leaves_its_limits_less_its_usage)
{
    meminfo(200, 3000);
    tree_write("/proc/self/cgroup", "0::/a\n");
    group("/a", limit_rows[_i].max, limit_rows[_i].high, limit_rows[_i].current);
    tree_write(V2 "/a/memory.stat", limit_rows[_i].stat);

    read_memory();

    ck_assert_uint_eq(memory.available_kb, limit_rows[_i].available_mb * 1024);
}
END_TEST

START_TEST(group_that_cannot_be_read_bounds_nothing)
{
    meminfo(200, 3000);
    tree_write("/proc/self/cgroup", "0::/a\n");
    group("/a", "104857600\n", "max\n", "0\n");
    tree_errno(V2 "/a/memory.max", EACCES);

    read_memory();

    ck_assert_uint_eq(memory.available_kb, 3000 * 1024);
}
END_TEST

START_TEST(version_1_is_read_up_its_tree)
{
    meminfo(200, 3000);
    tree_write("/proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/box/inner\n0::/\n");
    tree_fill(V1, "box/memory.limit_in_bytes", "104857600\n", "box/memory.usage_in_bytes", "62914560\n",
              "box/memory.stat", "inactive_file 5\ntotal_inactive_file 10485760\n", "box/inner/memory.limit_in_bytes",
              "9223372036854771712\n", "box/inner/memory.usage_in_bytes", "1000\n", NULL);

    read_memory();

    ck_assert_uint_eq(memory.available_kb, 50 * 1024);
    ck_assert_str_eq(memory.group, V1 "/box");
}
END_TEST

START_TEST(both_versions_beside_each_other_both_bound)
{
    meminfo(200, 3000);
    tree_write("/proc/self/cgroup", "4:memory:/box\n0::/a\n");
    tree_write(V1 "/box/memory.limit_in_bytes", "104857600\n");
    tree_write(V1 "/box/memory.usage_in_bytes", "0\n");
    tree_write(V2 "/unified/a/memory.max", "52428800\n");
    tree_write(V2 "/unified/a/memory.current", "0\n");

    read_memory();

    ck_assert_uint_eq(memory.available_kb, 50 * 1024);
}
END_TEST

START_TEST(groups_of_another_process_may_be_read)
{
    meminfo(200, 3000);
    tree_write("/proc/self/cgroup", "0::/self\n");
    tree_write("/proc/77/cgroup", "0::/other\n");
    group("/self", "1000\n", "max\n", "0\n");
    group("/other", "104857600\n", "max\n", "0\n");

    ck_assert_int_eq(memory_read(&tree_root, 77, &memory), 0);

    ck_assert_uint_eq(memory.available_kb, 100 * 1024);
}
END_TEST

START_TEST(missing_memavailable_is_not_guessed)
{
    tree_write("/proc/meminfo", "MemTotal: 8000000 kB\nMemFree: 1000000 kB\n");
    ck_assert_int_eq(memory_read(&tree_root, 0, &memory), -EPROTO);
    tree_write("/proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 9000000 kB\n");
    ck_assert_int_eq(memory_read(&tree_root, 0, &memory), -EPROTO);
    tree_write("/proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: lots\n");
    ck_assert_int_eq(memory_read(&tree_root, 0, &memory), -EPROTO);
    tree_delete("/proc/meminfo");
    ck_assert_int_eq(memory_read(&tree_root, 0, &memory), -ENOENT);
}
END_TEST

START_TEST(key_is_found_whole_and_at_the_beginning_of_a_line)
{
    uint64_t number;

    ck_assert(memory_find("xinactive_file 1\ninactive_file_x 2\ninactive_file 3\n", "inactive_file", &number));
    ck_assert_uint_eq(number, 3);
    ck_assert(!memory_find("a 1\nb", "b", &number));
    ck_assert(!memory_find("b -1\n", "b", &number));
    ck_assert(!memory_find("", "b", &number));
}
END_TEST

START_TEST(limit_is_a_number_or_none)
{
    static const char *const bad[] = { "", "maximum", "-1", "99999999999999999999" };
    uint64_t bytes;

    ck_assert(memory_parse_limit("max", &bytes));
    ck_assert_uint_eq(bytes, MEMORY_NO_LIMIT);
    ck_assert(memory_parse_limit("9223372036854771712\n", &bytes));
    ck_assert_uint_eq(bytes, MEMORY_NO_LIMIT);
    ck_assert(memory_parse_limit("0\n", &bytes));
    ck_assert_uint_eq(bytes, 0);
    for (size_t i = 0; i < COUNTOF(bad); i++) {
        ck_assert(!memory_parse_limit(bad[i], &bytes));
    }
}
END_TEST

START_TEST(group_of_a_process_is_found_by_its_controller)
{
    const char *text = "10::/wrong\n4:cpu,memory,blkio:/with:colon\n3:memoryx:/no\n0::/v2\n";
    char path[64];

    ck_assert(memory_find_group(text, "memory", path, sizeof(path)));
    ck_assert_str_eq(path, "/with:colon");
    ck_assert(memory_find_group(text, "", path, sizeof(path)));
    ck_assert_str_eq(path, "/v2");
    ck_assert(!memory_find_group(text, "pids", path, sizeof(path)));
    ck_assert(!memory_find_group(text, "memory", path, 5));
    ck_assert(!memory_find_group("nothing", "memory", path, sizeof(path)));
}
END_TEST

START_TEST(source_follows_the_process_that_the_policy_names)
{
    struct source *source;

    meminfo(200, 3000);
    tree_write("/proc/self/cgroup", "0::/self\n");
    tree_write("/proc/77/cgroup", "0::/other\n");
    group("/self", "52428800\n", "max\n", "0\n");
    group("/other", "104857600\n", "max\n", "0\n");
    scan_tree();
    source = scan_find(READING_MEMORY_AVAILABLE, "memory");

    scan_expect(source, READING_OK, 50 * 1024);
    scan_policy.daemon_pid = 77;
    scan_expect(source, READING_OK, 100 * 1024);
    scan_policy.daemon_pid = POLICY_NO_PROCESS;
    scan_expect(source, READING_OK, 3000 * 1024);
    scan_policy.daemon_pid = 78; /* it has ended */
    scan_expect(source, READING_OK, 3000 * 1024);
}
END_TEST

START_TEST(memory_is_a_source)
{
    meminfo(200, 3000);
    scan_tree();

    scan_expect(scan_find(READING_MEMORY_AVAILABLE, "memory"), READING_OK, 3000 * 1024);
    tree_errno("/proc/meminfo", EIO);
    scan_expect(scan_find(READING_MEMORY_AVAILABLE, "memory"), READING_STALE, 3000 * 1024);
}
END_TEST

START_TEST(this_machine_has_memory)
{
    struct root machine;

    ck_assert_int_eq(root_open(&machine, "/"), 0);
    ck_assert_int_eq(memory_read(&machine, 0, &memory), 0);
    ck_assert_uint_gt(memory.available_kb, 0);
    ck_assert_uint_le(memory.available_kb, memory.total_kb);
    root_close(&machine);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory");
    TCase *tcase = tcase_create("memory");

    tcase_add_checked_fixture(tcase, scan_make, scan_remove);
    tcase_add_test(tcase, available_counts_where_free_is_less);
    tcase_add_test(tcase, available_counts_where_free_is_more);
    tcase_add_test(tcase, group_limit_below_both_bounds);
    tcase_add_test(tcase, limit_of_a_group_above_bounds);
    tcase_add_loop_test(tcase, group_leaves_its_limits_less_its_usage, 0, (int)COUNTOF(limit_rows));
    tcase_add_test(tcase, group_that_cannot_be_read_bounds_nothing);
    tcase_add_test(tcase, version_1_is_read_up_its_tree);
    tcase_add_test(tcase, both_versions_beside_each_other_both_bound);
    tcase_add_test(tcase, groups_of_another_process_may_be_read);
    tcase_add_test(tcase, missing_memavailable_is_not_guessed);
    tcase_add_test(tcase, key_is_found_whole_and_at_the_beginning_of_a_line);
    tcase_add_test(tcase, limit_is_a_number_or_none);
    tcase_add_test(tcase, group_of_a_process_is_found_by_its_controller);
    tcase_add_test(tcase, source_follows_the_process_that_the_policy_names);
    tcase_add_test(tcase, memory_is_a_source);
    tcase_add_test(tcase, this_machine_has_memory);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
