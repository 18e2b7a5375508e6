/*
 * Generic netlink messages: a netlink header, a family header, attributes with a header of 4 bytes and padded values.
 * Integers are in host byte order: they come from this kernel. Build hosts' headers name fewer events than later
 * kernels send, so unknown numbers are expected.
 */
#include "netlink/genl.h"
#include "base/clean.h"
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/thermal.h>
#include <stdio.h>
#include <string.h>

static const enum thermal_event_kind kinds[] = {
    [THERMAL_GENL_EVENT_TZ_CREATE] = THERMAL_ZONE_CREATED,
    [THERMAL_GENL_EVENT_TZ_DELETE] = THERMAL_ZONE_DELETED,
    [THERMAL_GENL_EVENT_TZ_DISABLE] = THERMAL_ZONE_DISABLED,
    [THERMAL_GENL_EVENT_TZ_ENABLE] = THERMAL_ZONE_ENABLED,
    [THERMAL_GENL_EVENT_TZ_TRIP_UP] = THERMAL_TRIP_UP,
    [THERMAL_GENL_EVENT_TZ_TRIP_DOWN] = THERMAL_TRIP_DOWN,
    [THERMAL_GENL_EVENT_TZ_TRIP_CHANGE] = THERMAL_TRIP_CHANGED,
    [THERMAL_GENL_EVENT_TZ_TRIP_ADD] = THERMAL_TRIP_ADDED,
    [THERMAL_GENL_EVENT_TZ_TRIP_DELETE] = THERMAL_TRIP_DELETED,
    [THERMAL_GENL_EVENT_CDEV_ADD] = THERMAL_COOLING_ADDED,
    [THERMAL_GENL_EVENT_CDEV_DELETE] = THERMAL_COOLING_DELETED,
    [THERMAL_GENL_EVENT_CDEV_STATE_UPDATE] = THERMAL_COOLING_STATE,
    [THERMAL_GENL_EVENT_TZ_GOV_CHANGE] = THERMAL_GOVERNOR_CHANGED,
};

static const char *const names[] = {
    [THERMAL_OTHER] = "other",
    [THERMAL_ZONE_CREATED] = "zone-created",
    [THERMAL_ZONE_DELETED] = "zone-deleted",
    [THERMAL_ZONE_DISABLED] = "zone-disabled",
    [THERMAL_ZONE_ENABLED] = "zone-enabled",
    [THERMAL_TRIP_UP] = "trip-up",
    [THERMAL_TRIP_DOWN] = "trip-down",
    [THERMAL_TRIP_CHANGED] = "trip-changed",
    [THERMAL_TRIP_ADDED] = "trip-added",
    [THERMAL_TRIP_DELETED] = "trip-deleted",
    [THERMAL_COOLING_ADDED] = "cooling-added",
    [THERMAL_COOLING_DELETED] = "cooling-deleted",
    [THERMAL_COOLING_STATE] = "cooling-state",
    [THERMAL_GOVERNOR_CHANGED] = "governor-changed",
    [THERMAL_SAMPLED] = "sampled",
};

/* The bytes that were not parsed yet. */
struct span {
    const uint8_t *bytes;
    size_t n;
};

/* Skips @n bytes and their padding to a multiple of four. */
static void skip(struct span *span, size_t n)
{
    const size_t padded = (n + 3) & ~(size_t)3;
    const size_t step = padded < span->n ? padded : span->n;

    span->bytes += step;
    span->n -= step;
}

/* Takes the next message off @span. False: no complete one is left. */
static bool take_message(struct span *span, struct nlmsghdr *ret_head, struct span *ret_body)
{
    if (span->n < sizeof(*ret_head)) {
        return false;
    }
    memcpy(ret_head, span->bytes, sizeof(*ret_head));
    if (ret_head->nlmsg_len < sizeof(*ret_head) || ret_head->nlmsg_len > span->n) {
        return false;
    }
    ret_body->bytes = span->bytes + sizeof(*ret_head);
    ret_body->n = ret_head->nlmsg_len - sizeof(*ret_head);
    skip(span, ret_head->nlmsg_len);
    return true;
}

/* Takes the next attribute off @span. False: no complete one is left. */
static bool take_attribute(struct span *span, uint16_t *ret_type, struct span *ret_value)
{
    struct nlattr head;

    if (span->n < sizeof(head)) {
        return false;
    }
    memcpy(&head, span->bytes, sizeof(head));
    if (head.nla_len < sizeof(head) || head.nla_len > span->n) {
        return false;
    }
    *ret_type = (uint16_t)(head.nla_type & NLA_TYPE_MASK);
    ret_value->bytes = span->bytes + sizeof(head);
    ret_value->n = head.nla_len - sizeof(head);
    skip(span, head.nla_len);
    return true;
}

/* Takes the family's header off @body. */
static bool take_family_head(struct span *body, struct genlmsghdr *ret_head)
{
    if (body->n < sizeof(*ret_head)) {
        return false;
    }
    memcpy(ret_head, body->bytes, sizeof(*ret_head));
    skip(body, sizeof(*ret_head));
    return true;
}

static int32_t number_of(const struct span *value, int32_t otherwise)
{
    int32_t number = otherwise;

    if (value->n == sizeof(number)) {
        memcpy(&number, value->bytes, sizeof(number));
    }
    return number;
}

/* Copies the text in @value, which may lack its terminating zero, cut to @cap. */
static void copy_text(const struct span *value, char *text, size_t cap)
{
    size_t n = strnlen((const char *)value->bytes, value->n);

    n = n < cap ? n : cap - 1;
    memcpy(text, value->bytes, n);
    text[n] = '\0';
}

static void take_event_attributes(struct span body, struct thermal_event *event)
{
    struct span value;
    uint16_t type;

    while (take_attribute(&body, &type, &value)) {
        switch (type) {
        case THERMAL_GENL_ATTR_TZ_ID:
            event->zone = number_of(&value, -1);
            break;
        case THERMAL_GENL_ATTR_TZ_TEMP:
        case THERMAL_GENL_ATTR_TZ_TRIP_TEMP:
            event->temp_mc = number_of(&value, INT32_MIN);
            break;
        case THERMAL_GENL_ATTR_TZ_TRIP_ID:
            event->trip = number_of(&value, -1);
            break;
        case THERMAL_GENL_ATTR_CDEV_ID:
            event->cooling = number_of(&value, -1);
            break;
        case THERMAL_GENL_ATTR_CDEV_CUR_STATE:
            event->state = number_of(&value, -1);
            break;
        case THERMAL_GENL_ATTR_TZ_NAME:
        case THERMAL_GENL_ATTR_CDEV_NAME:
        case THERMAL_GENL_ATTR_GOV_NAME:
            copy_text(&value, event->name, sizeof(event->name));
            break;
        default: /* the kernel's enum grows */
            break;
        }
    }
}

uint32_t genl_parse_events(const void *bytes, size_t n, uint16_t family, bool is_sampling, thermal_event_fn fn,
                           void *owner)
{
    struct span span = { .bytes = bytes, .n = n };
    struct span body;
    struct nlmsghdr head;
    uint32_t n_events = 0;

    while (take_message(&span, &head, &body)) {
        struct thermal_event event = { .zone = -1, .trip = -1, .cooling = -1, .state = -1, .temp_mc = INT32_MIN };
        struct genlmsghdr own;

        if (head.nlmsg_type != family || !take_family_head(&body, &own)) {
            continue;
        }
        event.kind = own.cmd < COUNTOF(kinds) ? kinds[own.cmd] : THERMAL_OTHER;
        if (is_sampling) {
            event.kind = own.cmd == THERMAL_GENL_SAMPLING_TEMP ? THERMAL_SAMPLED : THERMAL_OTHER;
        }
        take_event_attributes(body, &event);
        fn(owner, &event);
        n_events++;
    }
    return n_events;
}

/* Stores the number of one multicast group, if it is one of ours. */
static void take_group(struct span group, struct genl_family *family)
{
    char name[GENL_NAMSIZ] = "";
    struct span value;
    uint32_t id = 0;
    uint16_t type;

    while (take_attribute(&group, &type, &value)) {
        if (type == CTRL_ATTR_MCAST_GRP_NAME) {
            copy_text(&value, name, sizeof(name));
        } else if (type == CTRL_ATTR_MCAST_GRP_ID) {
            id = (uint32_t)number_of(&value, 0);
        }
    }
    if (strcmp(name, THERMAL_GENL_EVENT_GROUP_NAME) == 0) {
        family->event_group = id;
    } else if (strcmp(name, THERMAL_GENL_SAMPLING_GROUP_NAME) == 0) {
        family->sampling_group = id;
    }
}

static void take_family(struct span body, struct genl_family *family)
{
    struct span value;
    uint16_t type;

    while (take_attribute(&body, &type, &value)) {
        struct span group;
        uint16_t index;

        if (type == CTRL_ATTR_FAMILY_ID && value.n == sizeof(family->id)) {
            memcpy(&family->id, value.bytes, sizeof(family->id));
        }
        while (type == CTRL_ATTR_MCAST_GROUPS && take_attribute(&value, &index, &group)) {
            take_group(group, family);
        }
    }
}

int genl_parse_family(const void *bytes, size_t n, struct genl_family *ret_family)
{
    struct span span = { .bytes = bytes, .n = n };
    struct genl_family family = { 0 };
    struct nlmsghdr head;
    struct span body;

    while (take_message(&span, &head, &body)) {
        struct genlmsghdr own;
        int32_t fault;

        if (head.nlmsg_type == NLMSG_ERROR && body.n >= sizeof(fault)) {
            memcpy(&fault, body.bytes, sizeof(fault));
            return fault < 0 && fault > -4096 ? fault : -EPROTO;
        }
        if (head.nlmsg_type == GENL_ID_CTRL && take_family_head(&body, &own) && own.cmd == CTRL_CMD_NEWFAMILY) {
            take_family(body, &family);
        }
    }
    if (!family.id) {
        return -EPROTO;
    }
    *ret_family = family;
    return 0;
}

size_t genl_request(void *bytes, size_t cap)
{
    static const char name[] = THERMAL_GENL_FAMILY_NAME;
    struct {
        struct nlmsghdr head;
        struct genlmsghdr own;
        struct nlattr attribute;
        char name[sizeof(name)];
    } question = {
        .head = { .nlmsg_len = sizeof(question), .nlmsg_type = GENL_ID_CTRL, .nlmsg_flags = NLM_F_REQUEST },
        .own = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 },
        .attribute = { .nla_len = sizeof(struct nlattr) + sizeof(name), .nla_type = CTRL_ATTR_FAMILY_NAME },
        .name = THERMAL_GENL_FAMILY_NAME,
    };

    if (cap < sizeof(question)) {
        return 0;
    }
    memcpy(bytes, &question, sizeof(question));
    return sizeof(question);
}

const char *thermal_event_name(enum thermal_event_kind kind)
{
    return names[kind];
}
