/*
 * Device: what is found on a machine, and by what name.
 */
#include "board.h"
#include "drm/pvr.h"

static struct device devices[DEVICES_MAX];
static uint32_t n;

static void find(const struct root *root)
{
    ck_assert_int_eq(device_find_all(root, devices, &n), 0);
}

static void teardown(void)
{
    fakedrm_use(NULL);
    tree_remove();
}

START_TEST(a_machine_with_nothing_has_no_device)
{
    struct root *root = board_make();

    find(root);
    ck_assert_uint_eq(n, 0);
    tree_delete("/sys/class/drm");
    find(root);
    ck_assert_uint_eq(n, 0);
}
END_TEST

START_TEST(a_powervr_names_its_driver_its_core_and_its_chip)
{
    struct root *root = board_make();

    board_platform("renderD128", 128, "fd00000.gpu", "powervr", "ti,am62-gpu");
    find(root);
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(devices[0].driver, "powervr");
    ck_assert_int_eq(devices[0].version[1], 2);
    ck_assert_int_eq(devices[0].bus, DEVICE_ON_PLATFORM);
    ck_assert_str_eq(devices[0].bus_name, "fd00000.gpu");
    ck_assert_int_eq(devices[0].render.access, NODE_OPENS);
    ck_assert(devices[0].has_core);
    ck_assert_uint_eq(devices[0].core.branch, 33);
    ck_assert_uint_eq(devices[0].core.config, 3);
    ck_assert_uint_eq(devices[0].core.local_bytes, 16384);
    ck_assert_uint_eq(devices[0].core.n_quirks, 3);
    ck_assert_uint_eq(devices[0].core.quirks[1], 63227);
    ck_assert_str_eq(devices[0].name, "TI AM62 (PowerVR AXE-1-16M)");
    ck_assert_uint_eq(devices[0].features, DEVICE_IMPORTS | DEVICE_EXPORTS | DEVICE_SYNCOBJ | DEVICE_TIMELINE);
}
END_TEST

START_TEST(drivers_differ_in_what_they_have)
{
    struct root *root = board_make();

    board_platform("renderD128", 128, "fec00000.v3d", "v3d", "brcm,2711-v3d");
    board_platform("renderD129", 129, "vgem", "vgem", NULL);
    find(root);
    ck_assert_uint_eq(n, 2);
    ck_assert_uint_eq(devices[0].features, DEVICE_IMPORTS | DEVICE_EXPORTS | DEVICE_SYNCOBJ);
    ck_assert(!devices[0].has_core);
    ck_assert_uint_eq(devices[1].features, DEVICE_EXPORTS);
    ck_assert_int_eq(devices[1].bus, DEVICE_ON_VIRTUAL);
}
END_TEST

START_TEST(card_and_render_node_of_one_device_are_one_device)
{
    struct root *root = board_make();

    board_platform("renderD128", 128, "fd00000.gpu", "v3d", NULL);
    tree_write("/dev/dri/card1", "driver=v3d\nminor=1\n");
    tree_link("/sys/class/drm/card1/device", "../../../devices/platform/fd00000.gpu");
    tree_write("/sys/class/drm/card1-HDMI-A-1/status", "connected\n");
    tree_write("/sys/class/drm/card1-HDMI-A-2/status", "disconnected\n");
    find(root);
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(devices[0].card.path, "/dev/dri/card1");
    ck_assert_str_eq(devices[0].render.path, "/dev/dri/renderD128");
    ck_assert(devices[0].has_display);
}
END_TEST

START_TEST(a_display_with_nothing_plugged_in_is_no_display)
{
    struct root *root = board_make();

    tree_write("/dev/dri/card0", "driver=vgem\nminor=0\n");
    tree_link("/sys/class/drm/card0/device", "../../../devices/platform/4a00000.dss");
    tree_write("/sys/devices/platform/4a00000.dss/uevent", "DRIVER=tidss\nOF_COMPATIBLE_0=ti,am625-dss\n");
    tree_write("/sys/class/drm/card0-DPI-1/status", "disconnected\n");
    find(root);
    ck_assert_uint_eq(n, 1);
    ck_assert(devices[0].has_connectors);
    ck_assert(!devices[0].has_display);
    ck_assert_int_eq(devices[0].render.access, NODE_NONE);
}
END_TEST

START_TEST(a_node_that_may_not_be_opened_stays_in_the_list_with_its_reason)
{
    struct root *root = board_make();
    struct diag diag = DIAG_INIT;

    board_platform("renderD128", 128, "fd00000.gpu", "powervr", "ti,am62-gpu");
    tree_write("/dev/dri/renderD128", "driver=powervr\nminor=128\nopen=EACCES\n");
    find(root);
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(devices[0].render.access, NODE_FORBIDDEN);
    ck_assert_str_eq(devices[0].driver, "powervr"); /* sysfs knows it */
    node_explain(&devices[0].render, &diag);
    ck_assert_ptr_nonnull(strstr(diag.text, "/dev/dri/renderD128"));
    ck_assert_ptr_nonnull(strstr(diag.text, "group"));
}
END_TEST

START_TEST(a_node_missing_from_dev_differs_from_a_missing_device)
{
    struct root *root = board_make();
    struct diag diag = DIAG_INIT;

    board_platform("renderD128", 128, "fd00000.gpu", "powervr", "ti,am62-gpu");
    tree_delete("/dev/dri/renderD128");
    find(root);
    ck_assert_int_eq(devices[0].render.access, NODE_GONE);
    node_explain(&devices[0].render, &diag);
    ck_assert_ptr_nonnull(strstr(diag.text, "PrivateDevices=no"));
}
END_TEST

START_TEST(a_node_with_another_number_is_refused)
{
    struct root *root = board_make();

    board_platform("renderD128", 128, "fd00000.gpu", "powervr", NULL);
    tree_write("/dev/dri/renderD128", "driver=powervr\nminor=129\n");
    find(root);
    ck_assert_int_eq(devices[0].render.access, NODE_BROKEN);
    ck_assert_int_eq(devices[0].render.fault, -ENODEV);
}
END_TEST

START_TEST(a_recorded_machine_is_read_without_opening_anything)
{
    struct root *root = board_make();

    tree_write("/sys/class/drm/renderD128/device/uevent",
               "DRIVER=i915\nPCI_ID=8086:9A49\nPCI_SLOT_NAME=0000:00:02.0\n");
    tree_write("/sys/class/drm/card0/device/uevent", "DRIVER=i915\nPCI_ID=8086:9A49\nPCI_SLOT_NAME=0000:00:02.0\n");
    root->is_machine = false;
    find(root);
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(devices[0].bus, DEVICE_ON_PCI);
    ck_assert_int_eq(devices[0].render.access, NODE_UNTRIED);
    ck_assert_str_eq(devices[0].bus_name, "0000:00:02.0");
    ck_assert_str_eq(devices[0].name, "Intel GPU (8086:9a49)");
}
END_TEST

START_TEST(every_call_on_a_lost_device_fails_with_enodev)
{
    struct root *root = board_make();
    struct pvr_core core;
    int fd;

    board_platform("renderD128", 128, "fd00000.gpu", "powervr", NULL);
    find(root);
    ck_assert_int_eq(node_open(&devices[0].render, &fd), 0);
    ck_assert(!device_is_lost(fd));
    tree_write("/dev/dri/renderD128", "driver=powervr\nminor=128\nlost=1\n");
    ck_assert(device_is_lost(fd));
    ck_assert_int_eq(pvr_query_core(fd, &core), -ENODEV);
    close(fd);
}
END_TEST

START_TEST(invalid_names_are_made_valid_text)
{
    struct root *root = board_make();

    tree_folder("/sys/class/drm/renderD128");
    tree_link("/sys/class/drm/renderD128/device", "../../../devices/platform/fd\x1b[1m");
    tree_folder("/sys/devices/platform/fd\x1b[1m");
    tree_link("/sys/devices/platform/fd\x1b[1m/driver", "../../../bus/platform/drivers/a\nb\x1b[31m");
    root->is_machine = false;
    find(root);
    ck_assert_uint_eq(n, 1);
    ck_assert_ptr_null(strpbrk(devices[0].driver, "\n\x1b"));
    ck_assert_ptr_null(strpbrk(devices[0].name, "\n\x1b"));
    ck_assert_ptr_null(strpbrk(devices[0].bus_name, "\n\x1b"));
    ck_assert_str_eq(devices[0].driver, "a\uFFFDb\uFFFD[31m");
}
END_TEST

START_TEST(devices_beyond_the_maximum_are_left_out)
{
    struct root *root = board_make();

    for (unsigned i = 0; i < DEVICES_MAX + 4; i++) {
        char name[32];
        char device[32];

        snprintf(name, sizeof(name), "renderD%u", 128 + i);
        snprintf(device, sizeof(device), "gpu%u", i);
        board_platform(name, 128 + i, device, "v3d", NULL);
    }
    find(root);
    ck_assert_uint_eq(n, DEVICES_MAX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, NULL, teardown);
    tcase_add_test(facts, a_machine_with_nothing_has_no_device);
    tcase_add_test(facts, a_powervr_names_its_driver_its_core_and_its_chip);
    tcase_add_test(facts, drivers_differ_in_what_they_have);
    tcase_add_test(facts, card_and_render_node_of_one_device_are_one_device);
    tcase_add_test(facts, a_display_with_nothing_plugged_in_is_no_display);
    tcase_add_test(facts, a_node_that_may_not_be_opened_stays_in_the_list_with_its_reason);
    tcase_add_test(facts, a_node_missing_from_dev_differs_from_a_missing_device);
    tcase_add_test(facts, a_node_with_another_number_is_refused);
    tcase_add_test(facts, a_recorded_machine_is_read_without_opening_anything);
    tcase_add_test(facts, every_call_on_a_lost_device_fails_with_enodev);
    tcase_add_test(facts, invalid_names_are_made_valid_text);
    tcase_add_test(facts, devices_beyond_the_maximum_are_left_out);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
