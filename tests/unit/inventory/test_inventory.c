/* All sources of a machine: found once, kept for good, in their order and within a bound. */
#include "failed_alloc.h"
#include "scan.h"
#include <pthread.h>
#include <stdatomic.h>

#define READ_TOGETHER 4

static void machine(void)
{
    scan_zone(0, "cpu-thermal\n", "40000\n");
    scan_zone(1, "gpu-thermal\n", "50000\n");
    tree_write("/sys/class/thermal/cooling_device0/type", "Processor\n");
    tree_write("/sys/class/thermal/cooling_device0/cur_state", "0\n");
    tree_write("/sys/class/thermal/cooling_device1/type", "devfreq-fd00000.gpu\n");
    tree_write("/sys/class/thermal/cooling_device1/cur_state", "0\n");
    tree_write("/sys/class/hwmon/hwmon0/name", "ina226\n");
    tree_write("/sys/class/hwmon/hwmon0/power1_input", "1000000\n");
    tree_write("/sys/class/powercap/intel-rapl:0/name", "package-0\n");
    tree_write("/sys/class/powercap/intel-rapl:0/energy_uj", "1\n");
    tree_write("/proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
    tree_write("/proc/meminfo", "MemTotal: 100 kB\nMemAvailable: 50 kB\n");
}

START_TEST(empty_machine_has_no_sources)
{
    scan_tree();

    ck_assert_uint_eq(scan_count(), 0);
}
END_TEST

START_TEST(sources_are_sorted_by_quantity_and_rank)
{
    struct list *link;
    struct source *last = NULL;

    machine();
    scan_tree();

    ck_assert_uint_ge(scan_count(), 9);
    list_for_each (link, &scan_sources) {
        struct source *source = container_of(link, struct source, link);

        ck_assert(!last || last->quantity < source->quantity ||
                  (last->quantity == source->quantity && last->rank <= source->rank));
        ck_assert_str_ne(source->name, "");
        ck_assert_str_ne(source->id, "");
        ck_assert_str_ne(source->path, "");
        ck_assert_str_ne(source->why, "");
        last = source;
    }
}
END_TEST

START_TEST(second_scan_keeps_each_source)
{
    struct source *before[64];
    struct list *link;
    uint32_t n = 0;

    machine();
    scan_tree();
    list_for_each (link, &scan_sources) {
        before[n++] = container_of(link, struct source, link);
    }
    scan_tree();

    ck_assert_uint_eq(scan_count(), n);
    n = 0;
    list_for_each (link, &scan_sources) {
        ck_assert_ptr_eq(container_of(link, struct source, link), before[n]);
        n++;
    }
}
END_TEST

static void add_device(const char *name, unsigned minor, const char *driver)
{
    char folder[96];
    char path[192];
    char link[192];

    snprintf(folder, sizeof(folder), "/sys/devices/platform/%s", name);
    snprintf(path, sizeof(path), "%s/drm/renderD%u", folder, minor);
    tree_folder(path);
    snprintf(path, sizeof(path), "/sys/class/drm/renderD%u", minor);
    snprintf(link, sizeof(link), "../../devices/platform/%s/drm/renderD%u", name, minor);
    tree_link(path, link);
    snprintf(path, sizeof(path), "%s/drm/renderD%u/device", folder, minor);
    snprintf(link, sizeof(link), "../../../%s", name);
    tree_link(path, link);
    snprintf(path, sizeof(path), "%s/driver", folder);
    snprintf(link, sizeof(link), "../../../bus/platform/drivers/%s", driver);
    tree_link(path, link);
}

static bool is_aside(const char *name)
{
    return source_rank(scan_find(READING_GRAPHICS_LOAD, name)) == SOURCE_PASSED_OVER;
}

START_TEST(load_of_the_named_device_counts)
{
    add_device("one.gpu", 128, "panfrost");
    add_device("two.gpu", 129, "panthor");
    scan_tree();
    ck_assert(!is_aside("fdinfo renderD128"));
    ck_assert(is_aside("fdinfo renderD129"));

    scan_policy.node = "renderD129";
    scan_tree();

    ck_assert(is_aside("fdinfo renderD128"));
    ck_assert(!is_aside("fdinfo renderD129"));
    scan_policy.node = "renderD130";
    scan_tree();
    scan_policy.node = NULL;
    ck_assert(is_aside("fdinfo renderD128"));
    ck_assert(is_aside("fdinfo renderD129"));
}
END_TEST

START_TEST(the_device_with_a_connected_screen_is_ours)
{
    add_device("one.gpu", 128, "panfrost");
    tree_link("/sys/class/drm/card0/device", "../../../devices/platform/one.gpu");
    tree_write("/sys/class/drm/card0-HDMI-A-1/status", "disconnected\n");
    add_device("two.gpu", 129, "panthor");
    tree_link("/sys/class/drm/card1/device", "../../../devices/platform/two.gpu");
    tree_write("/sys/class/drm/card1-DSI-1/status", "connected\n");
    scan_tree();

    ck_assert(is_aside("fdinfo renderD128"));
    ck_assert(!is_aside("fdinfo renderD129"));
}
END_TEST

START_TEST(vgem_is_not_ours)
{
    add_device("vgem", 128, "vgem");
    add_device("two.gpu", 129, "panthor");
    scan_tree();

    ck_assert(!is_aside("fdinfo renderD129"));
}
END_TEST

START_TEST(another_device_becomes_ours_when_ours_is_gone)
{
    add_device("one.gpu", 128, "panfrost");
    add_device("two.gpu", 129, "panthor");
    scan_tree();
    ck_assert(is_aside("fdinfo renderD129"));

    tree_delete("/sys/class/drm/renderD128");
    tree_delete("/sys/devices/platform/one.gpu");
    scan_tree();

    ck_assert(is_aside("fdinfo renderD128"));
    ck_assert(!is_aside("fdinfo renderD129"));
}
END_TEST

START_TEST(load_of_the_only_device_still_counts_when_it_is_gone)
{
    add_device("one.gpu", 128, "panfrost");
    scan_tree();

    tree_delete("/sys/class/drm/renderD128");
    tree_delete("/sys/devices/platform/one.gpu");
    scan_tree();

    ck_assert(!is_aside("fdinfo renderD128"));
}
END_TEST

START_TEST(load_of_a_device_is_found_once)
{
    uint32_t n;

    tree_folder("/sys/devices/platform/fd00000.gpu/drm/renderD128");
    tree_link("/sys/class/drm/renderD128", "../../devices/platform/fd00000.gpu/drm/renderD128");
    tree_link("/sys/devices/platform/fd00000.gpu/drm/renderD128/device", "../../../fd00000.gpu");
    tree_link("/sys/devices/platform/fd00000.gpu/driver", "../../../bus/platform/drivers/panfrost");
    scan_tree();
    n = scan_count();
    ck_assert_uint_gt(n, 0);
    scan_find(READING_GRAPHICS_LOAD, "fdinfo renderD128");

    scan_tree();

    ck_assert_uint_eq(scan_count(), n);
}
END_TEST

START_TEST(source_that_comes_later_is_added)
{
    machine();
    scan_tree();
    ck_assert_ptr_null(scan_look(READING_TEMPERATURE, "zone soc-thermal"));

    scan_zone(2, "soc-thermal\n", "45000\n");
    scan_tree();

    scan_expect(scan_find(READING_TEMPERATURE, "zone soc-thermal"), READING_OK, 45000);
}
END_TEST

START_TEST(cooling_device_of_the_gpu_reports_throttling)
{
    machine();
    scan_tree();

    ck_assert_ptr_null(scan_look(READING_THROTTLE, "cooling Processor"));
    scan_expect(scan_find(READING_THROTTLE, "cooling devfreq-fd00000.gpu"), READING_OK, 0);
    tree_write("/sys/class/thermal/cooling_device1/cur_state", "3\n");
    scan_expect(scan_find(READING_THROTTLE, "cooling devfreq-fd00000.gpu"), READING_OK, 3);
    tree_write("/sys/class/thermal/cooling_device1/cur_state", "-3\n");
    scan_expect(scan_find(READING_THROTTLE, "cooling devfreq-fd00000.gpu"), READING_IMPLAUSIBLE, 3);
    tree_delete("/sys/class/thermal/cooling_device1");
    scan_expect(scan_find(READING_THROTTLE, "cooling devfreq-fd00000.gpu"), READING_ABSENT, 0);
}
END_TEST

START_TEST(least_useful_sources_are_left_out_beyond_the_bound)
{
    for (int i = 0; i < 200; i++) {
        char path[64];

        snprintf(path, sizeof(path), "/sys/class/hwmon/hwmon%d/name", i);
        tree_write(path, "nvme\n");
        snprintf(path, sizeof(path), "/sys/class/hwmon/hwmon%d/temp1_input", i);
        tree_write(path, "40000\n");
        snprintf(path, sizeof(path), "/sys/class/hwmon/hwmon%d/temp2_input", i);
        tree_write(path, "40000\n");
    }
    machine();
    scan_tree();

    ck_assert_uint_eq(scan_count(), INVENTORY_SOURCES_MAX);
    scan_find(READING_TEMPERATURE, "zone gpu-thermal");
    scan_find(READING_MEMORY_AVAILABLE, "memory");
    scan_find(READING_POWER, "powercap package-0");
    scan_tree();
    ck_assert_uint_eq(scan_count(), INVENTORY_SOURCES_MAX);
}
END_TEST

START_TEST(thousands_of_one_quantity_do_not_crowd_out_the_others)
{
    for (int i = 0; i < 600; i++) {
        char path[64];

        snprintf(path, sizeof(path), "/sys/class/hwmon/hwmon%d/name", i);
        tree_write(path, "amdgpu\n"); /* of the highest rank in its quantities */
        snprintf(path, sizeof(path), "/sys/class/hwmon/hwmon%d/power1_input", i);
        tree_write(path, "1000\n");
    }
    machine();
    add_device("one.gpu", 128, "panfrost");
    scan_tree();

    ck_assert_uint_eq(scan_count(), INVENTORY_SOURCES_MAX);
    scan_find(READING_GRAPHICS_LOAD, "fdinfo renderD128");
    scan_find(READING_THROTTLE, "cooling devfreq-fd00000.gpu");
    scan_find(READING_TEMPERATURE, "zone cpu-thermal");
    scan_find(READING_MEMORY_AVAILABLE, "memory");
}
END_TEST

static atomic_bool is_over;

/* Reads all sources of @data, READ_TOGETHER of them, until told to stop. */
static void *read_on(void *data)
{
    struct source *const *sources = data;
    struct reading reading;
    uint64_t now_us = 1000000;

    while (!atomic_load(&is_over)) {
        for (int i = 0; i < READ_TOGETHER; i++) {
            source_read(sources[i], now_us++, &reading);
        }
    }
    return NULL;
}

START_TEST(sources_may_be_read_during_a_scan)
{
    struct source *sources[READ_TOGETHER];
    pthread_t thread;

    machine();
    scan_tree();
    sources[0] = scan_find(READING_TEMPERATURE, "zone gpu-thermal");
    sources[1] = scan_find(READING_POWER, "hwmon ina226/power1");
    sources[2] = scan_find(READING_THROTTLE, "cooling devfreq-fd00000.gpu");
    sources[3] = scan_find(READING_MEMORY_AVAILABLE, "memory");
    ck_assert_int_eq(pthread_create(&thread, NULL, read_on, sources), 0);

    for (int i = 0; i < 20; i++) {
        tree_write("/sys/class/thermal/thermal_zone1/mode", i & 1 ? "disabled\n" : "enabled\n");
        scan_tree();
    }

    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
}
END_TEST

START_TEST(this_machine_can_be_scanned)
{
    struct list sources = LIST_INIT(sources);
    struct root root;
    struct list *link;

    policy_init(&scan_policy);
    ck_assert_int_eq(root_open(&root, "/"), 0);
    ck_assert_int_eq(inventory_scan(&root, &scan_policy, &sources), 0);
    list_for_each (link, &sources) {
        scan_read(container_of(link, struct source, link));
    }
    inventory_clear(&sources);
    root_close(&root);
}
END_TEST

/* Scans and reads everything once. */
static int scan_once(void *data)
{
    struct list sources = LIST_INIT(sources);
    int r = inventory_scan(&tree_root, &scan_policy, &sources);

    inventory_clear(&sources);
    return r;
}

START_TEST(scan_without_memory_leaks_nothing)
{
    machine();
    policy_init(&scan_policy);

    for_each_failed_alloc(scan_once, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("inventory");
    TCase *tcase = tcase_create("inventory");

    tcase_add_checked_fixture(tcase, scan_make, scan_remove);
    tcase_add_test(tcase, empty_machine_has_no_sources);
    tcase_add_test(tcase, sources_are_sorted_by_quantity_and_rank);
    tcase_add_test(tcase, second_scan_keeps_each_source);
    tcase_add_test(tcase, load_of_the_named_device_counts);
    tcase_add_test(tcase, the_device_with_a_connected_screen_is_ours);
    tcase_add_test(tcase, vgem_is_not_ours);
    tcase_add_test(tcase, another_device_becomes_ours_when_ours_is_gone);
    tcase_add_test(tcase, load_of_the_only_device_still_counts_when_it_is_gone);
    tcase_add_test(tcase, load_of_a_device_is_found_once);
    tcase_add_test(tcase, source_that_comes_later_is_added);
    tcase_add_test(tcase, cooling_device_of_the_gpu_reports_throttling);
    tcase_add_test(tcase, least_useful_sources_are_left_out_beyond_the_bound);
    tcase_add_test(tcase, thousands_of_one_quantity_do_not_crowd_out_the_others);
    tcase_add_test(tcase, sources_may_be_read_during_a_scan);
    tcase_add_test(tcase, this_machine_can_be_scanned);
    tcase_add_test(tcase, scan_without_memory_leaks_nothing);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
