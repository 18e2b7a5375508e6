/* Thermal messages from bytes, and the real family where the kernel has it. */
#include "base/clean.h"
#include "netlink/genl.h"
#include "netlink/netlink.h"
#include "unit.h"
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/thermal.h>
#include <poll.h>
#include <string.h>

#define FAMILY 0x1c

static uint8_t bytes[1024];
static size_t n_bytes;
static size_t begin;
static struct thermal_event events[8];
static uint32_t n_events;

static void put(const void *from, size_t n)
{
    memcpy(bytes + n_bytes, from, n);
    n_bytes += (n + 3) & ~(size_t)3;
}

static void put_head(uint16_t type, uint8_t command)
{
    struct nlmsghdr head = { .nlmsg_type = type };
    struct genlmsghdr own = { .cmd = command, .version = 1 };

    begin = n_bytes;
    put(&head, sizeof(head));
    put(&own, sizeof(own));
}

static void put_attribute(uint16_t type, const void *value, size_t n)
{
    struct nlattr head = { .nla_len = (uint16_t)(sizeof(head) + n), .nla_type = type };

    put(&head, sizeof(head));
    put(value, n);
}

static void put_number(uint16_t type, int32_t number)
{
    put_attribute(type, &number, sizeof(number));
}

static void put_end(void)
{
    struct nlmsghdr head;

    memcpy(&head, bytes + begin, sizeof(head));
    head.nlmsg_len = (uint32_t)(n_bytes - begin);
    memcpy(bytes + begin, &head, sizeof(head));
}

static void on_event(void *owner, const struct thermal_event *event)
{
    ck_assert_uint_lt(n_events, COUNTOF(events));
    events[n_events++] = *event;
}

static uint32_t parse(bool is_sampling)
{
    n_events = 0;
    return genl_parse_events(bytes, n_bytes, FAMILY, is_sampling, on_event, NULL);
}

START_TEST(crossed_trip_is_read)
{
    put_head(FAMILY, THERMAL_GENL_EVENT_TZ_TRIP_UP);
    put_number(THERMAL_GENL_ATTR_TZ_ID, 3);
    put_number(THERMAL_GENL_ATTR_TZ_TRIP_ID, 1);
    put_number(THERMAL_GENL_ATTR_TZ_TEMP, 85125);
    put_end();

    ck_assert_uint_eq(parse(false), 1);

    ck_assert_int_eq(events[0].kind, THERMAL_TRIP_UP);
    ck_assert_int_eq(events[0].zone, 3);
    ck_assert_int_eq(events[0].trip, 1);
    ck_assert_int_eq(events[0].temp_mc, 85125);
    ck_assert_int_eq(events[0].cooling, -1);
}
END_TEST

START_TEST(several_messages_in_one_datagram_are_all_read)
{
    put_head(FAMILY, THERMAL_GENL_EVENT_CDEV_STATE_UPDATE);
    put_number(THERMAL_GENL_ATTR_CDEV_ID, 7);
    put_number(THERMAL_GENL_ATTR_CDEV_CUR_STATE, 2);
    put_end();
    put_head(FAMILY + 1, THERMAL_GENL_EVENT_TZ_TRIP_UP); /* another family */
    put_end();
    put_head(FAMILY, THERMAL_GENL_EVENT_TZ_CREATE);
    put_number(THERMAL_GENL_ATTR_TZ_ID, 4);
    put_attribute(THERMAL_GENL_ATTR_TZ_NAME, "gpu-thermal", 12);
    put_end();

    ck_assert_uint_eq(parse(false), 2);

    ck_assert_int_eq(events[0].kind, THERMAL_COOLING_STATE);
    ck_assert_int_eq(events[0].cooling, 7);
    ck_assert_int_eq(events[0].state, 2);
    ck_assert_int_eq(events[1].kind, THERMAL_ZONE_CREATED);
    ck_assert_str_eq(events[1].name, "gpu-thermal");
}
END_TEST

START_TEST(event_of_a_later_kernel_is_another)
{
    put_head(FAMILY, 18); /* threshold passed, rising: Linux 7.2 */
    put_number(THERMAL_GENL_ATTR_TZ_ID, 0);
    put_number(4711, 5); /* an attribute that nobody knows */
    put_end();

    ck_assert_uint_eq(parse(false), 1);
    ck_assert_int_eq(events[0].kind, THERMAL_OTHER);
    ck_assert_int_eq(events[0].zone, 0);
}
END_TEST

START_TEST(sample_differs_from_an_event_by_its_group)
{
    put_head(FAMILY, THERMAL_GENL_SAMPLING_TEMP);
    put_number(THERMAL_GENL_ATTR_TZ_ID, 2);
    put_number(THERMAL_GENL_ATTR_TZ_TEMP, -5000);
    put_end();

    ck_assert_uint_eq(parse(true), 1);
    ck_assert_int_eq(events[0].kind, THERMAL_SAMPLED);
    ck_assert_int_eq(events[0].temp_mc, -5000);
}
END_TEST

START_TEST(name_without_its_zero_or_too_long_is_cut)
{
    put_head(FAMILY, THERMAL_GENL_EVENT_TZ_CREATE);
    put_attribute(THERMAL_GENL_ATTR_TZ_NAME, "a-name-that-is-longer-than-a-name-of-a-zone-may-be", 50);
    put_end();

    ck_assert_uint_eq(parse(false), 1);
    ck_assert_str_eq(events[0].name, "a-name-that-is-longer-than-a-na");
}
END_TEST

START_TEST(number_of_a_wrong_size_is_no_number)
{
    put_head(FAMILY, THERMAL_GENL_EVENT_TZ_TRIP_UP);
    put_attribute(THERMAL_GENL_ATTR_TZ_ID, "\1\0", 2);
    put_end();

    ck_assert_uint_eq(parse(false), 1);
    ck_assert_int_eq(events[0].zone, -1);
}
END_TEST

START_TEST(datagram_cut_anywhere_gives_only_whole_messages)
{
    size_t n_whole;
    size_t n_all;

    put_head(FAMILY, THERMAL_GENL_EVENT_TZ_TRIP_UP);
    put_number(THERMAL_GENL_ATTR_TZ_ID, 3);
    put_end();
    n_whole = n_bytes;
    put_head(FAMILY, THERMAL_GENL_EVENT_TZ_TRIP_DOWN);
    put_number(THERMAL_GENL_ATTR_TZ_ID, 3);
    put_end();
    n_all = n_bytes;

    for (n_bytes = 0; n_bytes < n_all; n_bytes++) {
        ck_assert_uint_eq(parse(false), n_bytes >= n_whole);
    }
}
END_TEST

START_TEST(wrong_lengths_end_the_parsing)
{
    static const uint32_t lengths[] = { 0, 1, 15, 1000, UINT32_MAX };

    for (size_t i = 0; i < COUNTOF(lengths); i++) {
        n_bytes = 0;
        put_head(FAMILY, THERMAL_GENL_EVENT_TZ_TRIP_UP);
        put_number(THERMAL_GENL_ATTR_TZ_ID, 3);
        memcpy(bytes, &lengths[i], sizeof(lengths[i]));
        ck_assert_uint_eq(parse(false), 0);
    }
}
END_TEST

START_TEST(attribute_with_a_wrong_length_ends_only_its_message)
{
    static const uint16_t lengths[] = { 0, 3, 100, 65535 };

    for (size_t i = 0; i < COUNTOF(lengths); i++) {
        n_bytes = 0;
        put_head(FAMILY, THERMAL_GENL_EVENT_TZ_TRIP_UP);
        put_number(THERMAL_GENL_ATTR_TZ_ID, 3);
        put_end();
        memcpy(bytes + sizeof(struct nlmsghdr) + sizeof(struct genlmsghdr), &lengths[i], sizeof(lengths[i]));
        put_head(FAMILY, THERMAL_GENL_EVENT_TZ_TRIP_DOWN);
        put_end();
        ck_assert_uint_eq(parse(false), 2);
        ck_assert_int_eq(events[0].zone, -1);
        ck_assert_int_eq(events[1].kind, THERMAL_TRIP_DOWN);
    }
}
END_TEST

START_TEST(attribute_that_reaches_past_its_message_is_not_read)
{
    const uint16_t longer = sizeof(struct nlattr) + 8;

    put_head(FAMILY, THERMAL_GENL_EVENT_TZ_CREATE);
    put_attribute(THERMAL_GENL_ATTR_TZ_NAME, "gpux", 4);
    put_end();
    memcpy(bytes + sizeof(struct nlmsghdr) + sizeof(struct genlmsghdr), &longer, sizeof(longer));
    put_head(FAMILY, THERMAL_GENL_EVENT_TZ_DELETE);
    put_end();

    ck_assert_uint_eq(parse(false), 2);
    ck_assert_str_eq(events[0].name, "");
}
END_TEST

/* The answer of the kernel's controller, as Linux gives it for this family. */
static void put_family(void)
{
    static const char *const groups[] = { "sampling", "event" };
    const uint16_t id = FAMILY;
    uint8_t list[128];
    size_t n = 0;

    put_head(GENL_ID_CTRL, CTRL_CMD_NEWFAMILY);
    put_attribute(CTRL_ATTR_FAMILY_NAME, "thermal", 8);
    put_attribute(CTRL_ATTR_FAMILY_ID, &id, sizeof(id));
    for (size_t i = 0; i < COUNTOF(groups); i++) {
        const size_t n_name = (strlen(groups[i]) + 1 + 3) & ~(size_t)3;
        const struct nlattr group = { .nla_len = (uint16_t)(4 + 8 + 4 + n_name),
                                      .nla_type = (uint16_t)((i + 1) | NLA_F_NESTED) };
        const struct nlattr number = { .nla_len = 8, .nla_type = CTRL_ATTR_MCAST_GRP_ID };
        const struct nlattr name = { .nla_len = (uint16_t)(4 + strlen(groups[i]) + 1),
                                     .nla_type = CTRL_ATTR_MCAST_GRP_NAME };
        const uint32_t value = (uint32_t)(5 + i);

        memcpy(list + n, &group, 4);
        memcpy(list + n + 4, &number, 4);
        memcpy(list + n + 8, &value, 4);
        memcpy(list + n + 12, &name, 4);
        memset(list + n + 16, 0, n_name);
        memcpy(list + n + 16, groups[i], strlen(groups[i]));
        n += group.nla_len;
    }
    put_attribute(CTRL_ATTR_MCAST_GROUPS | NLA_F_NESTED, list, n);
    put_end();
}

START_TEST(family_is_resolved_with_its_groups)
{
    struct genl_family family;

    put_family();

    ck_assert_int_eq(genl_parse_family(bytes, n_bytes, &family), 0);
    ck_assert_uint_eq(family.id, FAMILY);
    ck_assert_uint_eq(family.sampling_group, 5);
    ck_assert_uint_eq(family.event_group, 6);
}
END_TEST

START_TEST(kernel_without_the_family_is_enoent)
{
    struct genl_family family = { .id = 77 };
    const struct nlmsghdr head = { .nlmsg_len = 36, .nlmsg_type = NLMSG_ERROR };
    const int32_t fault = -ENOENT;

    put(&head, sizeof(head));
    put(&fault, sizeof(fault));
    put(&head, sizeof(head)); /* the question comes back */

    ck_assert_int_eq(genl_parse_family(bytes, n_bytes, &family), -ENOENT);
    ck_assert_int_eq(genl_parse_family(bytes, 4, &family), -EPROTO);
    ck_assert_uint_eq(family.id, 77);
}
END_TEST

START_TEST(request_needs_its_room)
{
    uint8_t question[64];

    ck_assert_uint_gt(genl_request(question, sizeof(question)), 0);
    ck_assert_uint_eq(genl_request(question, 8), 0);
}
END_TEST

START_TEST(this_kernel_answers)
{
    struct netlink netlink = { .fd = -1 };
    int r = netlink_open(&netlink, true);

    if (r) {
        ck_assert(r == -ENOENT || r == -EPERM || r == -EAFNOSUPPORT || r == -EPROTONOSUPPORT);
        fprintf(stderr, "left out: no thermal family here (%d)\n", r);
        return;
    }
    ck_assert_uint_ge(netlink.family.id, GENL_MIN_ID);
    ck_assert_int_eq(netlink_read(&netlink, on_event, NULL), 0);
    netlink_close(&netlink);
    ck_assert_int_eq(netlink.fd, -1);
}
END_TEST

START_TEST(each_kind_has_a_name)
{
    for (int i = 0; i < THERMAL_EVENT_KIND_COUNT; i++) {
        ck_assert_str_ne(thermal_event_name((enum thermal_event_kind)i), "");
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("genl");
    TCase *tcase = tcase_create("genl");

    tcase_add_test(tcase, crossed_trip_is_read);
    tcase_add_test(tcase, several_messages_in_one_datagram_are_all_read);
    tcase_add_test(tcase, event_of_a_later_kernel_is_another);
    tcase_add_test(tcase, sample_differs_from_an_event_by_its_group);
    tcase_add_test(tcase, name_without_its_zero_or_too_long_is_cut);
    tcase_add_test(tcase, number_of_a_wrong_size_is_no_number);
    tcase_add_test(tcase, datagram_cut_anywhere_gives_only_whole_messages);
    tcase_add_test(tcase, wrong_lengths_end_the_parsing);
    tcase_add_test(tcase, attribute_with_a_wrong_length_ends_only_its_message);
    tcase_add_test(tcase, attribute_that_reaches_past_its_message_is_not_read);
    tcase_add_test(tcase, family_is_resolved_with_its_groups);
    tcase_add_test(tcase, kernel_without_the_family_is_enoent);
    tcase_add_test(tcase, request_needs_its_room);
    tcase_add_test(tcase, this_kernel_answers);
    tcase_add_test(tcase, each_kind_has_a_name);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
