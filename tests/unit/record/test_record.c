/* A recorded machine reads as the machine does, and holds nothing private. */
#include "inventory/scan.h"
#include "memory/memory.h"
#include "record/record.h"

#define SECRET "kitchen-4711"

static char into[80];
static struct record record;
static struct diag diag = DIAG_INIT;
static struct root copy = { .fd = -1 };
static char text[70000];

static void make(void)
{
    tree_make();
    snprintf(into, sizeof(into), "%s.copy", tree_path);
}

static void drop(void)
{
    root_close(&copy);
    inventory_clear(&scan_sources);
    if (access(into, F_OK) == 0) {
        ck_assert_int_eq(nftw(into, tree_unlink, 16, FTW_DEPTH | FTW_PHYS), 0);
    }
    tree_remove();
}

static void record_tree(void)
{
    diag_clear(&diag);
    ck_assert_msg(record_machine(&tree_root, into, &record, &diag) == RECORD_OK, "%s", diag.text);
    ck_assert_int_eq(root_open(&copy, into), 0);
}

static const char *word(const char *path)
{
    ck_assert_msg(root_read_word(&copy, path, text, sizeof(text)) == 0, "%s", path);
    return text;
}

/* Adds a zone as the kernel does: a link into the devices. */
static void real_zone(int number, const char *type, const char *temp)
{
    char path[128];
    char target[128];

    snprintf(path, sizeof(path), "/sys/devices/virtual/thermal/thermal_zone%d/type", number);
    tree_write(path, type);
    snprintf(path, sizeof(path), "/sys/devices/virtual/thermal/thermal_zone%d/temp", number);
    tree_write(path, temp);
    snprintf(path, sizeof(path), "/sys/class/thermal/thermal_zone%d", number);
    snprintf(target, sizeof(target), "../../devices/virtual/thermal/thermal_zone%d", number);
    tree_link(path, target);
}

/* Adds a DRM device and a process that uses it. */
static void gpu(void)
{
    tree_write("/sys/devices/platform/fd00000.gpu/drm/renderD128/dev", "226:128\n");
    tree_write("/sys/devices/platform/fd00000.gpu/power/runtime_active_time", "1000\n");
    tree_write("/sys/devices/platform/fd00000.gpu/serial", SECRET);
    tree_link("/sys/devices/platform/fd00000.gpu/drm/renderD128/device", "../../../fd00000.gpu");
    tree_folder("/sys/bus/platform/drivers/panfrost");
    tree_link("/sys/devices/platform/fd00000.gpu/driver", "../../../bus/platform/drivers/panfrost");
    tree_link("/sys/class/drm/renderD128", "../../devices/platform/fd00000.gpu/drm/renderD128");
    tree_link("/sys/dev/char/226:128", "../../devices/platform/fd00000.gpu/drm/renderD128");
    tree_fill("/proc/77", "comm", "weston\n", "cmdline", SECRET, "environ", SECRET, NULL);
    tree_link("/proc/77/fd/3", "/home/" SECRET);
    tree_link("/proc/77/fd/9", "/dev/dri/renderD128");
    tree_write("/proc/77/fdinfo/3", "pos: 0\n");
    tree_write("/proc/77/fdinfo/9", "pos:\t0\ndrm-driver:\tpanfrost\ndrm-client-id:\t5\ndrm-client-name:\t" SECRET
                                    "\ndrm-engine-fragment:\t1000 ns\n");
}

START_TEST(recorded_zone_reads_as_the_zone_does)
{
    real_zone(3, "gpu-thermal\n", "61000\n");
    tree_write("/sys/devices/virtual/thermal/thermal_zone3/trip_point_0_type", "passive\n");
    tree_write("/sys/devices/virtual/thermal/thermal_zone3/trip_point_0_temp", "85000\n");
    record_tree();

    ck_assert_str_eq(word("/sys/class/thermal/thermal_zone3/temp"), "61000");
    policy_init(&scan_policy);
    ck_assert_int_eq(inventory_scan(&copy, &scan_policy, &scan_sources), 0);
    scan_expect(scan_find(READING_TEMPERATURE, "zone gpu-thermal"), READING_OK, 61000);
    ck_assert_int_eq(scan_find(READING_TEMPERATURE, "zone gpu-thermal")->passive_mc, 85000);
}
END_TEST

START_TEST(file_that_cannot_be_read_is_a_fault_in_the_copy_too)
{
    real_zone(3, "gpu-thermal\n", "61000\n");
    tree_errno("/sys/devices/virtual/thermal/thermal_zone3/temp", EIO);
    tree_write("/sys/devices/virtual/powercap/intel-rapl:0/name", "package-0\n");
    tree_errno("/sys/devices/virtual/powercap/intel-rapl:0/energy_uj", EACCES);
    tree_link("/sys/class/powercap/intel-rapl:0", "../../devices/virtual/powercap/intel-rapl:0");
    record_tree();

    ck_assert_uint_eq(record.n_faults, 2);
    policy_init(&scan_policy);
    ck_assert_int_eq(inventory_scan(&copy, &scan_policy, &scan_sources), 0);
    scan_expect(scan_find(READING_TEMPERATURE, "zone gpu-thermal"), READING_STALE, 0);
    scan_expect(scan_find(READING_ENERGY, "powercap package-0"), READING_FORBIDDEN, 0);
}
END_TEST

START_TEST(device_and_its_clients_are_in_the_copy)
{
    gpu();
    record_tree();

    ck_assert_str_eq(word("/sys/class/drm/renderD128/device/power/runtime_active_time"), "1000");
    ck_assert_int_eq(root_read_link(&copy, "/sys/class/drm/renderD128/device/driver", text, sizeof(text)), 0);
    ck_assert_str_eq(text, "../../../bus/platform/drivers/panfrost");
    ck_assert_str_eq(word("/sys/dev/char/226:128/dev"), "226:128");
    ck_assert_str_eq(word("/proc/77/comm"), "weston");
    ck_assert_int_eq(root_read_link(&copy, "/proc/77/fd/9", text, sizeof(text)), 0);
    ck_assert_str_eq(text, "/dev/dri/renderD128");
    ck_assert(root_has(&copy, "/proc/77/fdinfo/9"));
    ck_assert(!root_has(&copy, "/proc/77/fdinfo/3"));
}
END_TEST

START_TEST(process_that_may_not_be_looked_at_is_forbidden_in_the_copy_too)
{
    DIR *dir;

    tree_folder("/proc/78/fd");
    tree_errno("/proc/78/fd", EACCES);
    tree_write("/proc/2/stat", "2 (kthreadd) S 0 0 0 0 -1 2129984 0\n");
    tree_folder("/proc/2/fd");
    record_tree();

    ck_assert_int_eq(root_open_folder(&copy, "/proc/78/fd", &dir), -EACCES);
    ck_assert(!root_has(&copy, "/proc/2"));
}
END_TEST

static int look_for_secret(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    ssize_t n = 0;

    ck_assert_msg(!strstr(path, SECRET), "%s", path);
    if (kind == FTW_F) {
        int fd = open(path, O_RDONLY);

        n = read(fd, text, sizeof(text) - 1);
        close(fd);
    } else if (kind == FTW_SL || kind == FTW_SLN) {
        n = readlink(path, text, sizeof(text) - 1);
    }
    ck_assert_int_ge(n, 0);
    ck_assert_msg(!memmem(text, (size_t)n, SECRET, strlen(SECRET)), "%s tells", path);
    return 0;
}

START_TEST(nothing_private_is_copied)
{
    gpu();
    tree_write("/proc/79/comm", SECRET);
    tree_link("/proc/79/fd/0", "/home/" SECRET);
    tree_write("/proc/modules", "powervr 131072 2 - Live 0x" SECRET "\n");
    tree_write("/proc/self/cgroup", "4:memory:/docker/" SECRET "\n0::/user.slice/" SECRET "/x\n");
    tree_write("/sys/fs/cgroup/user.slice/" SECRET "/memory.max", "1000000\n");
    tree_write("/sys/devices/hid/power_supply/hid-" SECRET "/hwmon/hwmon0/name", "hid_" SECRET "\n");
    tree_link("/sys/class/hwmon/hwmon0", "../../devices/hid/power_supply/hid-" SECRET "/hwmon/hwmon0");
    tree_write("/sys/devices/platform/fd00000.gpu/drm/card0/card0-HDMI-A-1/edid", SECRET);
    tree_write("/sys/devices/platform/fd00000.gpu/drm/card0/card0-HDMI-A-1/status", "connected\n");
    tree_link("/sys/class/drm/card0-HDMI-A-1", "../../devices/platform/fd00000.gpu/drm/card0/card0-HDMI-A-1");
    tree_write("/sys/firmware/devicetree/base/serial-number", SECRET);
    tree_write("/sys/firmware/devicetree/base/model", "A board");
    record_tree();

    ck_assert_int_eq(nftw(into, look_for_secret, 16, FTW_PHYS), 0);
    ck_assert_str_eq(word("/proc/modules"), "powervr 0 0 - Live 0x0");
    ck_assert_str_eq(word("/sys/firmware/devicetree/base/model"), "A board");
    ck_assert_str_eq(word("/sys/class/drm/card0-HDMI-A-1/status"), "connected");
}
END_TEST

START_TEST(limits_of_groups_hold_under_other_names)
{
    struct memory before;
    struct memory after;

    tree_write("/proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\n");
    tree_write("/proc/self/cgroup", "4:memory:/box\n0::/user.slice/app\n");
    tree_write("/sys/fs/cgroup/user.slice/memory.max", "104857600\n");
    tree_write("/sys/fs/cgroup/user.slice/memory.current", "52428800\n");
    tree_write("/sys/fs/cgroup/user.slice/app/memory.max", "max\n");
    tree_write("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "209715200\n");
    tree_write("/sys/fs/cgroup/memory/box/memory.usage_in_bytes", "100\n");
    record_tree();

    ck_assert_int_eq(memory_read(&tree_root, 0, &before), 0);
    ck_assert_int_eq(memory_read(&copy, 0, &after), 0);
    ck_assert_uint_eq(before.available_kb, 50 * 1024);
    ck_assert_uint_eq(after.available_kb, before.available_kb);
    ck_assert_str_eq(after.group, "/sys/fs/cgroup/1");
}
END_TEST

START_TEST(copy_of_a_copy_is_the_same)
{
    struct record second;
    char again[120];

    real_zone(3, "gpu-thermal\n", "61000\n");
    tree_errno("/sys/devices/virtual/thermal/thermal_zone3/temp", EIO);
    gpu();
    record_tree();
    snprintf(again, sizeof(again), "%s/again", tree_path);

    ck_assert_int_eq(record_machine(&copy, again, &second, &diag), RECORD_OK);

    ck_assert_uint_eq(second.n_files, record.n_files);
    ck_assert_uint_eq(second.n_faults, record.n_faults);
}
END_TEST

START_TEST(folder_that_is_not_empty_is_refused)
{
    char file[120];

    ck_assert_int_eq(mkdir(into, 0700), 0);
    snprintf(file, sizeof(file), "%s/mine", into);
    close(open(file, O_WRONLY | O_CREAT, 0600));

    ck_assert_int_eq(record_machine(&tree_root, into, &record, &diag), RECORD_REFUSED);

    ck_assert_ptr_nonnull(strstr(diag.text, "not empty"));
}
END_TEST

START_TEST(file_link_and_missing_folder_are_refused)
{
    char name[160];

    snprintf(name, sizeof(name), "%s/none/copy", tree_path);
    ck_assert_int_eq(record_machine(&tree_root, name, &record, &diag), RECORD_REFUSED);
    tree_write("/file", "");
    snprintf(name, sizeof(name), "%s/file", tree_path);
    ck_assert_int_eq(record_machine(&tree_root, name, &record, &diag), RECORD_REFUSED);
    tree_folder("/empty");
    tree_link("/link", "empty");
    snprintf(name, sizeof(name), "%s/link", tree_path);
    ck_assert_int_eq(record_machine(&tree_root, name, &record, &diag), RECORD_REFUSED);
}
END_TEST

START_TEST(empty_folder_is_taken)
{
    ck_assert_int_eq(mkdir(into, 0700), 0);
    real_zone(3, "gpu-thermal\n", "61000\n");

    record_tree();

    ck_assert_uint_gt(record.n_files, 0);
}
END_TEST

START_TEST(size_is_bounded)
{
    memset(text, 'x', 60000);
    text[60000] = '\0';
    for (int i = 0; i < 80; i++) {
        char path[64];

        snprintf(path, sizeof(path), "/sys/class/devfreq/d%d/trans_stat", i);
        tree_write(path, text);
    }
    record_tree();

    ck_assert(record.is_cut);
    ck_assert_uint_le(record.n_bytes, RECORD_BYTES_MAX);
    ck_assert_uint_gt(record.n_bytes, RECORD_BYTES_MAX - 70000);
}
END_TEST

START_TEST(this_machine_can_be_recorded)
{
    struct root machine;

    ck_assert_int_eq(root_open(&machine, "/"), 0);
    ck_assert_msg(record_machine(&machine, into, &record, &diag) == RECORD_OK, "%s", diag.text);
    root_close(&machine);
    ck_assert_int_eq(root_open(&copy, into), 0);

    ck_assert_uint_gt(record.n_files, 0);
    ck_assert(root_has(&copy, "/proc/meminfo"));
    ck_assert(!root_has(&copy, "/proc/self/cmdline"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("record");
    TCase *tcase = tcase_create("record");

    tcase_add_checked_fixture(tcase, make, drop);
    tcase_add_test(tcase, recorded_zone_reads_as_the_zone_does);
    tcase_add_test(tcase, file_that_cannot_be_read_is_a_fault_in_the_copy_too);
    tcase_add_test(tcase, device_and_its_clients_are_in_the_copy);
    tcase_add_test(tcase, process_that_may_not_be_looked_at_is_forbidden_in_the_copy_too);
    tcase_add_test(tcase, nothing_private_is_copied);
    tcase_add_test(tcase, limits_of_groups_hold_under_other_names);
    tcase_add_test(tcase, copy_of_a_copy_is_the_same);
    tcase_add_test(tcase, folder_that_is_not_empty_is_refused);
    tcase_add_test(tcase, file_link_and_missing_folder_are_refused);
    tcase_add_test(tcase, empty_folder_is_taken);
    tcase_add_test(tcase, size_is_bounded);
    tcase_add_test(tcase, this_machine_can_be_recorded);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
