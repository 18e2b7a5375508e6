/* A message is a header line and a list of texts; of two values of one key, the last counts. */
#include "netlink/uevent.h"
#include "base/clean.h"
#include "base/err.h"
#include <assert.h>
#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The kernel's own maximum is 2 KiB of texts and a path. */
#define DATAGRAM_BYTES 8192

#define DATAGRAMS_MAX 64

/* The kernel's multicast group; udev's own messages go to another one. */
#define KERNEL_GROUP 1u

static const char *const subsystems[] = {
    [UEVENT_DRM] = "drm",           [UEVENT_THERMAL] = "thermal", [UEVENT_HWMON] = "hwmon",
    [UEVENT_POWERCAP] = "powercap", [UEVENT_DEVFREQ] = "devfreq",
};

static const char *const actions[] = {
    [UEVENT_ADD] = "add",       [UEVENT_REMOVE] = "remove", [UEVENT_CHANGE] = "change", [UEVENT_BIND] = "bind",
    [UEVENT_UNBIND] = "unbind", [UEVENT_MOVE] = "move",     [UEVENT_ONLINE] = "online", [UEVENT_OFFLINE] = "offline",
};

/* Returns the index of the @n bytes at @word in @table, or -1. */
static int find_word(const char *const *table, size_t n_table, const char *word, size_t n)
{
    for (size_t i = 0; i < n_table; i++) {
        if (strlen(table[i]) == n && memcmp(table[i], word, n) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static bool copy_value(char *to, size_t cap, const char *value, size_t n)
{
    if (n >= cap) {
        return false;
    }
    memcpy(to, value, n);
    to[n] = '\0';
    return true;
}

static bool parse_minor(const char *value, size_t n, int32_t *ret_minor)
{
    char text[12];
    char *end;
    unsigned long number;

    if (n == 0 || !copy_value(text, sizeof(text), value, n) || text[0] < '0' || text[0] > '9') {
        return false;
    }
    number = strtoul(text, &end, 10);
    if (*end || number > INT32_MAX) {
        return false;
    }
    *ret_minor = (int32_t)number;
    return true;
}

/* Parses "add@/devices/platform/gpu". False: malformed. */
static bool take_head(const char *text, size_t n, struct uevent *event, int *ret_action)
{
    const char *at = memchr(text, '@', n);
    size_t n_path;

    if (!at || at == text) {
        return false;
    }
    n_path = n - (size_t)(at - text) - 1;
    if (n_path == 0 || at[1] != '/' || !copy_value(event->path, sizeof(event->path), at + 1, n_path)) {
        return false;
    }
    *ret_action = find_word(actions, COUNTOF(actions), text, (size_t)(at - text));
    return true;
}

/* Returns true if the @n bytes at @text are @key and '='; *ret_value is what follows. */
static bool is_key(const char *text, size_t n, const char *key, const char **ret_value, size_t *ret_n)
{
    const size_t n_key = strlen(key);

    if (n <= n_key || memcmp(text, key, n_key) != 0 || text[n_key] != '=') {
        return false;
    }
    *ret_value = text + n_key + 1;
    *ret_n = n - n_key - 1;
    return true;
}

/* Takes one KEY=VALUE. False: a value that we use is malformed. */
static bool take_pair(const char *text, size_t n, struct uevent *event, int *subsystem)
{
    const char *value;
    size_t n_value;

    if (is_key(text, n, "SUBSYSTEM", &value, &n_value)) {
        *subsystem = find_word(subsystems, COUNTOF(subsystems), value, n_value);
    } else if (is_key(text, n, "DEVNAME", &value, &n_value)) {
        return copy_value(event->name, sizeof(event->name), value, n_value);
    } else if (is_key(text, n, "MINOR", &value, &n_value)) {
        return parse_minor(value, n_value, &event->minor);
    } else if (is_key(text, n, "HOTPLUG", &value, &n_value)) {
        event->is_hotplug = n_value == 1 && value[0] == '1';
    } else if (is_key(text, n, "WEDGED", &value, &n_value)) {
        event->is_wedged = true;
        return copy_value(event->wedged, sizeof(event->wedged), value, n_value);
    }
    return true;
}

enum uevent_outcome uevent_parse(const void *bytes, size_t n, struct uevent *ret_uevent)
{
    const char *text = bytes;
    struct uevent event = { .minor = -1 };
    int action = -1;
    int subsystem = -1;
    size_t n_text = strnlen(text, n);

    if (n_text == n || !take_head(text, n_text, &event, &action)) {
        return UEVENT_BAD;
    }
    for (size_t at = n_text + 1; at < n; at += n_text + 1) {
        n_text = strnlen(text + at, n - at);
        if (at + n_text == n || !take_pair(text + at, n_text, &event, &subsystem)) {
            return UEVENT_BAD;
        }
    }
    if (action < 0 || subsystem < 0) {
        return UEVENT_OTHER;
    }
    event.action = (enum uevent_action)action;
    event.subsystem = (enum uevent_subsystem)subsystem;
    *ret_uevent = event;
    return UEVENT_OK;
}

int uevent_open(int *ret_fd)
{
    cleanup(fd_closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
    const struct sockaddr_nl group = { .nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP };

    if (fd < 0) {
        return -errno;
    }
    if (bind(fd, (const struct sockaddr *)&group, sizeof(group)) < 0) {
        return -errno;
    }
    *ret_fd = fd_steal(&fd);
    return 0;
}

int uevent_read(int fd, uevent_fn fn, void *owner, bool *ret_lost)
{
    *ret_lost = false;
    for (int i = 0; i < DATAGRAMS_MAX; i++) {
        char bytes[DATAGRAM_BYTES];
        struct sockaddr_nl from = { 0 };
        socklen_t n_from = sizeof(from);
        struct uevent event;
        ssize_t n = recvfrom(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&from, &n_from);

        if (n < 0 && errno == ENOBUFS) {
            *ret_lost = true;
            continue;
        }
        if (n < 0) {
            return errno == EAGAIN || errno == EINTR ? 0 : err_new(-errno);
        }
        if (from.nl_pid == 0 && uevent_parse(bytes, (size_t)n, &event) == UEVENT_OK) {
            fn(owner, &event);
        }
    }
    return 0;
}

const char *uevent_subsystem_name(enum uevent_subsystem subsystem)
{
    assert(subsystem < UEVENT_SUBSYSTEM_COUNT);
    return subsystems[subsystem];
}
