/* Messages of the kernel's device events, whole, foreign and broken. */
#include "base/clean.h"
#include "netlink/uevent.h"
#include "unit.h"
#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

#define BYTES(text) (text), sizeof(text) /* with its last zero */

static struct uevent event;

START_TEST(device_that_comes_is_read)
{
    ck_assert_int_eq(uevent_parse(BYTES("add@/devices/platform/fd00000.gpu/drm/renderD128\0ACTION=add\0"
                                        "DEVPATH=/devices/platform/fd00000.gpu/drm/renderD128\0SUBSYSTEM=drm\0"
                                        "MAJOR=226\0MINOR=128\0DEVNAME=dri/renderD128\0SEQNUM=4711"),
                                  &event),
                     UEVENT_OK);

    ck_assert_int_eq(event.action, UEVENT_ADD);
    ck_assert_int_eq(event.subsystem, UEVENT_DRM);
    ck_assert_int_eq(event.minor, 128);
    ck_assert_str_eq(event.name, "dri/renderD128");
    ck_assert_str_eq(event.path, "/devices/platform/fd00000.gpu/drm/renderD128");
    ck_assert(!event.is_wedged);
}
END_TEST

START_TEST(wedged_device_lists_its_recovery_methods)
{
    ck_assert_int_eq(uevent_parse(BYTES("change@/devices/x/drm/card0\0SUBSYSTEM=drm\0WEDGED=rebind,bus-reset\0MINOR=0"),
                                  &event),
                     UEVENT_OK);

    ck_assert(event.is_wedged);
    ck_assert_str_eq(event.wedged, "rebind,bus-reset");
}
END_TEST

START_TEST(plugged_screen_is_no_new_device)
{
    ck_assert_int_eq(uevent_parse(BYTES("change@/devices/x/drm/card0\0SUBSYSTEM=drm\0HOTPLUG=1"), &event), UEVENT_OK);
    ck_assert(event.is_hotplug);
    ck_assert_int_eq(event.minor, -1);
}
END_TEST

START_TEST(each_subsystem_of_ours_is_known)
{
    for (int i = 0; i < UEVENT_SUBSYSTEM_COUNT; i++) {
        char bytes[64];
        int n = snprintf(bytes, sizeof(bytes), "remove@/x%cSUBSYSTEM=%s", 0,
                         uevent_subsystem_name((enum uevent_subsystem)i));

        ck_assert_int_eq(uevent_parse(bytes, (size_t)n + 1, &event), UEVENT_OK);
        ck_assert_int_eq((int)event.subsystem, i);
        ck_assert_int_eq(event.action, UEVENT_REMOVE);
    }
}
END_TEST

START_TEST(unknown_subsystems_and_actions_are_other)
{
    ck_assert_int_eq(uevent_parse(BYTES("add@/x\0SUBSYSTEM=usb"), &event), UEVENT_OTHER);
    ck_assert_int_eq(uevent_parse(BYTES("add@/x\0SUBSYSTEM=drm_dp_aux_dev"), &event), UEVENT_OTHER);
    ck_assert_int_eq(uevent_parse(BYTES("add@/x"), &event), UEVENT_OTHER);
    ck_assert_int_eq(uevent_parse(BYTES("explode@/x\0SUBSYSTEM=drm"), &event), UEVENT_OTHER);
}
END_TEST

START_TEST(malformed_message_is_bad_and_changes_nothing)
{
    static const struct {
        const char *bytes;
        size_t n;
    } rows[] = {
        { BYTES("") },
        { "add@/x", 6 }, /* no zero */
        { BYTES("libudev\0SUBSYSTEM=drm") },
        { BYTES("@/x\0SUBSYSTEM=drm") },
        { BYTES("add@\0SUBSYSTEM=drm") },
        { BYTES("add@x\0SUBSYSTEM=drm") },
        { "add@/x\0SUBSYSTEM=drm", 20 }, /* the last text is cut */
        { BYTES("add@/x\0SUBSYSTEM=drm\0MINOR=") },
        { BYTES("add@/x\0SUBSYSTEM=drm\0MINOR=-1") },
        { BYTES("add@/x\0SUBSYSTEM=drm\0MINOR=4294967296") },
        { BYTES("add@/x\0SUBSYSTEM=drm\0MINOR=99999999999999") },
        { BYTES("add@/x\0SUBSYSTEM=drm\0MINOR=1x") },
    };

    event.minor = 7;
    for (size_t i = 0; i < COUNTOF(rows); i++) {
        ck_assert_msg(uevent_parse(rows[i].bytes, rows[i].n, &event) == UEVENT_BAD, "row %zu", i);
    }
    ck_assert_int_eq(event.minor, 7);
}
END_TEST

START_TEST(value_that_is_too_long_is_bad)
{
    char bytes[600];
    int n = snprintf(bytes, sizeof(bytes), "add@/%0300d%cSUBSYSTEM=drm", 0, 0);

    ck_assert_int_eq(uevent_parse(bytes, (size_t)n + 1, &event), UEVENT_BAD);
    n = snprintf(bytes, sizeof(bytes), "add@/x%cSUBSYSTEM=drm%cDEVNAME=%070d", 0, 0, 0);
    ck_assert_int_eq(uevent_parse(bytes, (size_t)n + 1, &event), UEVENT_BAD);
}
END_TEST

static void never(void *owner, const struct uevent *one)
{
    ck_abort_msg("somebody else than the kernel is believed");
}

START_TEST(message_of_another_process_is_not_believed)
{
    static const char bytes[] = "add@/x\0SUBSYSTEM=drm";
    struct sockaddr_nl to = { .nl_family = AF_NETLINK };
    socklen_t n_to = sizeof(to);
    bool lost;
    int fd = -1;
    int r = uevent_open(&fd);
    int other = socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT);

    if (r || other < 0) {
        fprintf(stderr, "left out: no device events in this sandbox (%d)\n", r);
        return;
    }
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&to, &n_to), 0);
    to.nl_groups = 0;
    if (sendto(other, bytes, sizeof(bytes), 0, (struct sockaddr *)&to, sizeof(to)) < 0) {
        ck_assert_int_eq(errno, EPERM); /* the kernel refuses it itself */
    }

    ck_assert_int_eq(uevent_read(fd, never, NULL, &lost), 0);

    ck_assert(!lost);
    close(other);
    close(fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("uevent");
    TCase *tcase = tcase_create("uevent");

    tcase_add_test(tcase, device_that_comes_is_read);
    tcase_add_test(tcase, wedged_device_lists_its_recovery_methods);
    tcase_add_test(tcase, plugged_screen_is_no_new_device);
    tcase_add_test(tcase, each_subsystem_of_ours_is_known);
    tcase_add_test(tcase, unknown_subsystems_and_actions_are_other);
    tcase_add_test(tcase, malformed_message_is_bad_and_changes_nothing);
    tcase_add_test(tcase, value_that_is_too_long_is_bad);
    tcase_add_test(tcase, message_of_another_process_is_not_believed);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
