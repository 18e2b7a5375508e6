/* Which devices a machine has, and what each could be asked, best first. */
#include "failed_alloc.h"
#include "gpu.h"
#include "load/load.h"

static struct gpu devices[GPUS_MAX];
static struct list sources;

static void make(void)
{
    tree_make();
    list_init(&sources);
}

static void clear(void)
{
    struct list *link;

    while ((link = list_first(&sources))) {
        list_remove(link);
        source_destroy(container_of(link, struct source, link));
    }
}

static void end(void)
{
    clear();
    tree_remove();
}

/* "fdinfo:graphics-load drm-sched:..." of what was found. */
static const char *kinds(const struct gpu *device)
{
    static char text[512];
    const struct list *link;
    uint32_t rank = 0;

    text[0] = '\0';
    ck_assert_int_eq(load_find(&sources, &tree_root, device), 0);
    list_for_each (link, &sources) {
        const struct source *source = container_of(link, struct source, link);
        const size_t n = strlen(text);

        if (source->quantity == READING_COMPUTE_LOAD) {
            continue;
        }
        snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "", source->table->kind);
        ck_assert_str_ne(source->why, "");
        ck_assert_str_ne(source->name, "");
        ck_assert_str_ne(source->id, "");
        if (source->quantity == READING_GRAPHICS_LOAD) {
            ck_assert_uint_ge(source->rank, rank);
            rank = source->rank;
        }
    }
    return text;
}

static void platform(const char *name, const char *driver, uint32_t minor, int card)
{
    char path[128];
    char node[24];

    snprintf(path, sizeof(path), "/sys/devices/platform/%s", name);
    gpu_driver(path, driver, "platform");
    snprintf(node, sizeof(node), "renderD%u", minor);
    gpu_node(node, path);
    if (card >= 0) {
        snprintf(node, sizeof(node), "card%d", card);
        gpu_node(node, path);
    }
}

START_TEST(empty_machine_has_no_devices)
{
    ck_assert_uint_eq(gpu_list(&tree_root, devices, GPUS_MAX), 0);

    tree_folder("/sys/class/drm");
    tree_write("/sys/class/drm/version", "drm 1.1.0 20060810\n");
    ck_assert_uint_eq(gpu_list(&tree_root, devices, GPUS_MAX), 0);
}
END_TEST

START_TEST(card_and_render_node_of_one_device_are_one)
{
    platform("fd00000.gpu", "powervr", 128, 0);
    ck_assert_uint_eq(gpu_list(&tree_root, devices, GPUS_MAX), 1);

    ck_assert_uint_eq(devices[0].minor, 128);
    ck_assert_uint_eq(devices[0].card, 0);
    ck_assert_str_eq(devices[0].node, "renderD128");
    ck_assert_str_eq(devices[0].driver, "powervr");
    ck_assert_str_eq(devices[0].name, "fd00000.gpu");
    ck_assert_str_eq(devices[0].path, "/sys/devices/platform/fd00000.gpu");
    ck_assert(!devices[0].is_pci);
    ck_assert(!devices[0].has_display);
}
END_TEST

START_TEST(display_without_render_node_is_a_device_by_its_card)
{
    gpu_driver("/sys/devices/platform/display", "tidss", "platform");
    gpu_node("card1", "/sys/devices/platform/display");
    tree_folder("/sys/class/drm/card1-HDMI-A-1");
    platform("fd00000.gpu", "powervr", 128, 0);
    ck_assert_uint_eq(gpu_list(&tree_root, devices, GPUS_MAX), 2);

    ck_assert_uint_eq(devices[0].minor, 1);
    ck_assert_uint_eq(devices[0].card, 1);
    ck_assert_str_eq(devices[0].node, "card1");
    ck_assert(devices[0].has_display);
    ck_assert_uint_eq(devices[1].minor, 128);
    ck_assert(!devices[1].has_display);
}
END_TEST

START_TEST(drivers_go_by_the_names_that_drm_gives_them)
{
    platform("a.gpu", "pvrsrvkm", 128, -1);
    platform("b.gpu", "msm-mdss", 129, -1);
    platform("c.gpu", "vc4-drm", 130, -1);
    tree_folder("/sys/devices/platform/vgem");
    gpu_node("renderD131", "/sys/devices/platform/vgem");
    ck_assert_uint_eq(gpu_list(&tree_root, devices, GPUS_MAX), 4);

    ck_assert_str_eq(devices[0].driver, "pvr");
    ck_assert_str_eq(devices[1].driver, "msm");
    ck_assert_str_eq(devices[2].driver, "vc4");
    ck_assert_str_eq(devices[3].driver, "vgem");
}
END_TEST

START_TEST(more_devices_than_asked_for_are_left_out)
{
    for (uint32_t i = 0; i < 4; i++) {
        char name[16];

        snprintf(name, sizeof(name), "g%u", i);
        platform(name, "v3d", 128 + i, -1);
    }

    ck_assert_uint_eq(gpu_list(&tree_root, devices, 3), 3);
}
END_TEST

START_TEST(node_of_a_missing_device_is_ignored)
{
    tree_folder("/sys/class/drm/renderD128");
    tree_link("/sys/class/drm/renderD128/device", "../../../devices/gone");
    gpu_node("renderD129", "/sys/devices/platform/x");

    ck_assert_uint_le(gpu_list(&tree_root, devices, GPUS_MAX), 2);
}
END_TEST

START_TEST(mainline_powervr_has_trace_events_and_power_and_a_note)
{
    platform("fd00000.gpu", "powervr", 128, 0);
    tree_write("/sys/devices/platform/fd00000.gpu/power/runtime_active_time", "1\n");
    gpu_list(&tree_root, devices, 1);

    ck_assert_str_eq(kinds(&devices[0]), "drm-sched runtime-pm");
    ck_assert_ptr_nonnull(strstr(load_note(&devices[0]), "delay of our own submissions"));
}
END_TEST

START_TEST(vendor_powervr_has_its_status_first)
{
    platform("fd00000.gpu", "pvrsrvkm", 128, 0);
    tree_write("/sys/class/devfreq/fd00000.gpu/cur_freq", "1\n");
    gpu_list(&tree_root, devices, 1);

    ck_assert_str_eq(kinds(&devices[0]), "pvr-status fdinfo clock");
    ck_assert_ptr_null(load_note(&devices[0]));
}
END_TEST

START_TEST(rockchip_with_panthor_has_clients_load_clock_and_guess)
{
    platform("fb000000.gpu", "panthor", 128, 0);
    tree_write("/sys/class/devfreq/fb000000.gpu/cur_freq", "1\n");
    tree_write("/sys/class/devfreq/fb000000.gpu/load", "1@1Hz\n");
    tree_write("/sys/class/devfreq/fb000000.gpu/trans_stat", "\n");
    tree_write("/sys/devices/platform/fb000000.gpu/power/runtime_active_time", "1\n");
    gpu_list(&tree_root, devices, 1);

    ck_assert_str_eq(kinds(&devices[0]), "fdinfo drm-sched devfreq runtime-pm trans-stat clock");
}
END_TEST

START_TEST(amd_has_clients_and_a_percentage)
{
    gpu_driver("/sys/devices/pci0000:00/0000:03:00.0", "amdgpu", "pci");
    gpu_node("renderD128", "/sys/devices/pci0000:00/0000:03:00.0");
    gpu_node("card0", "/sys/devices/pci0000:00/0000:03:00.0");
    tree_folder("/sys/class/drm/card0-DP-1");
    tree_write("/sys/devices/pci0000:00/0000:03:00.0/gpu_busy_percent", "1\n");
    gpu_list(&tree_root, devices, 1);

    ck_assert(devices[0].is_pci);
    ck_assert(devices[0].has_display);
    ck_assert_str_eq(devices[0].name, "0000:03:00.0");
    ck_assert_str_eq(kinds(&devices[0]), "fdinfo busy-percent");
}
END_TEST

START_TEST(clock_and_power_of_msm_are_those_of_the_gpu_and_not_of_its_display)
{
    const struct list *link;

    platform("ae00000.display-subsystem", "msm-mdss", 128, 0);
    tree_folder("/sys/class/drm/card0-DSI-1");
    tree_write("/sys/devices/platform/ae00000.display-subsystem/power/runtime_active_time", "1\n");
    tree_write("/sys/devices/platform/3d00000.gpu/power/runtime_active_time", "1\n");
    tree_write("/sys/class/devfreq/3d00000.gpu/cur_freq", "1\n");
    tree_link("/sys/class/devfreq/3d00000.gpu/device", "../../../devices/platform/3d00000.gpu");
    gpu_list(&tree_root, devices, 1);

    ck_assert_str_eq(kinds(&devices[0]), "fdinfo runtime-pm clock");
    list_for_each (link, &sources) {
        const struct source *source = container_of(link, struct source, link);

        if (strcmp(source->table->kind, "runtime-pm") == 0) {
            ck_assert_str_eq(source->path, "/sys/devices/platform/3d00000.gpu/power");
        }
    }
}
END_TEST

START_TEST(adreno_without_drm_is_a_device_of_its_own)
{
    tree_write("/sys/class/kgsl/kgsl-3d0/gpubusy", "0 0\n");
    ck_assert_uint_eq(gpu_list(&tree_root, devices, GPUS_MAX), 1);

    ck_assert_uint_eq(devices[0].minor, GPU_NO_MINOR);
    ck_assert_str_eq(devices[0].node, "kgsl-3d0");
    ck_assert_str_eq(kinds(&devices[0]), "busy-percent");
}
END_TEST

START_TEST(ids_of_two_devices_are_different)
{
    struct source *first;

    platform("a.gpu", "v3d", 128, -1);
    platform("b.gpu", "v3d", 129, -1);
    gpu_list(&tree_root, devices, 2);
    ck_assert_int_eq(load_find(&sources, &tree_root, &devices[0]), 0);
    ck_assert_int_eq(load_find(&sources, &tree_root, &devices[1]), 0);
    first = container_of(list_first(&sources), struct source, link);

    ck_assert_ptr_eq(source_find(&sources, "fdinfo", first->id), first);
    ck_assert_ptr_nonnull(source_find(&sources, "fdinfo", "graphics-load /sys/devices/platform/b.gpu"));
    ck_assert_ptr_nonnull(source_find(&sources, "fdinfo", "compute-load /sys/devices/platform/b.gpu"));
}
END_TEST

START_TEST(device_with_sources_is_known_and_its_clients_are_looked_for)
{
    struct source_client list[4];
    struct reading reading;
    struct source *fdinfo;

    platform("a.gpu", "v3d", 128, -1);
    platform("b.gpu", "v3d", 129, -1);
    gpu_process(1, "init\n");
    gpu_list(&tree_root, devices, 2);
    ck_assert(!load_refresh(&sources, &devices[0]));
    ck_assert_int_eq(load_find(&sources, &tree_root, &devices[0]), 0);
    fdinfo = source_find(&sources, "fdinfo", "graphics-load /sys/devices/platform/a.gpu");
    source_read(fdinfo, 1000000, &reading);
    gpu_process(100, "app\n");
    gpu_open(100, 3, "/dev/dri/renderD128");
    gpu_render(100, 3, 1, 0);

    ck_assert(load_refresh(&sources, &devices[0]));
    ck_assert(!load_refresh(&sources, &devices[1]));
    source_read(fdinfo, 1300000, &reading);
    ck_assert_uint_eq(source_clients(fdinfo, list, 4), 1);
}
END_TEST

static int find_once(void *data)
{
    int r = load_find(&sources, &tree_root, &devices[0]);

    ck_assert(!r || list_is_empty(&sources));
    clear();
    return r;
}

START_TEST(want_of_memory_leaves_nothing_behind)
{
    platform("fb000000.gpu", "panthor", 128, 0);
    tree_write("/sys/class/devfreq/fb000000.gpu/cur_freq", "1\n");
    tree_write("/sys/class/devfreq/fb000000.gpu/load", "1@1Hz\n");
    tree_write("/sys/class/devfreq/fb000000.gpu/trans_stat", "\n");
    tree_write("/sys/devices/platform/fb000000.gpu/power/runtime_active_time", "1\n");
    tree_write("/sys/devices/platform/fb000000.gpu/gpu_busy_percent", "1\n");
    gpu_list(&tree_root, devices, 1);

    for_each_failed_alloc(find_once, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("load");
    TCase *tcase = tcase_create("load");

    tcase_add_checked_fixture(tcase, make, end);
    tcase_add_test(tcase, empty_machine_has_no_devices);
    tcase_add_test(tcase, card_and_render_node_of_one_device_are_one);
    tcase_add_test(tcase, display_without_render_node_is_a_device_by_its_card);
    tcase_add_test(tcase, drivers_go_by_the_names_that_drm_gives_them);
    tcase_add_test(tcase, more_devices_than_asked_for_are_left_out);
    tcase_add_test(tcase, node_of_a_missing_device_is_ignored);
    tcase_add_test(tcase, mainline_powervr_has_trace_events_and_power_and_a_note);
    tcase_add_test(tcase, vendor_powervr_has_its_status_first);
    tcase_add_test(tcase, rockchip_with_panthor_has_clients_load_clock_and_guess);
    tcase_add_test(tcase, amd_has_clients_and_a_percentage);
    tcase_add_test(tcase, clock_and_power_of_msm_are_those_of_the_gpu_and_not_of_its_display);
    tcase_add_test(tcase, adreno_without_drm_is_a_device_of_its_own);
    tcase_add_test(tcase, ids_of_two_devices_are_different);
    tcase_add_test(tcase, device_with_sources_is_known_and_its_clients_are_looked_for);
    tcase_add_test(tcase, want_of_memory_leaves_nothing_behind);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
