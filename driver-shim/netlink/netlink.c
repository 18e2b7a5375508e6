/* The socket of the thermal family. Messages that did not come from the kernel's port are ignored. */
#include "netlink/netlink.h"
#include "base/clean.h"
#include "base/err.h"
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

/* The kernel's messages are a few hundred bytes; its own ceiling for one is 8 KiB at 4 KiB a page. */
#define DATAGRAM_BYTES 8192

/* Datagrams read at one time, before the loop's other work. */
#define DATAGRAMS_MAX 64

static int join(int fd, uint32_t group)
{
    return setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0 ? -errno : 0;
}

/* Asks the kernel for the family's numbers. The answer is in the socket as soon as the request was sent. */
static int resolve(int fd, struct genl_family *ret_family)
{
    const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    uint8_t bytes[DATAGRAM_BYTES];
    size_t n_question = genl_request(bytes, sizeof(bytes));
    ssize_t n = sendto(fd, bytes, n_question, 0, (const struct sockaddr *)&kernel, sizeof(kernel));

    if (n < 0) {
        return -errno;
    }
    n = recv(fd, bytes, sizeof(bytes), 0);
    if (n < 0) {
        return -errno;
    }
    return genl_parse_family(bytes, (size_t)n, ret_family);
}

int netlink_open(struct netlink *ret_netlink, bool with_samples)
{
    cleanup(fd_closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_GENERIC);
    const struct sockaddr_nl any = { .nl_family = AF_NETLINK };
    const int on = 1;
    struct genl_family family;
    int r;

    if (fd < 0) {
        return -errno;
    }
    if (bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0) {
        return -errno;
    }
    r = resolve(fd, &family);
    if (r) {
        return r;
    }
    if (!family.event_group) {
        return -ENOENT;
    }
    /* The group of a datagram is in its control message: command numbers begin at 0 in both. */
    if (setsockopt(fd, SOL_NETLINK, NETLINK_PKTINFO, &on, sizeof(on)) < 0) {
        return -errno;
    }
    r = join(fd, family.event_group);
    if (!r && with_samples && family.sampling_group) {
        r = join(fd, family.sampling_group);
    }
    if (r) {
        return r;
    }
    ret_netlink->fd = fd_steal(&fd);
    ret_netlink->family = family;
    return 0;
}

void netlink_close(struct netlink *netlink)
{
    if (netlink) {
        fd_closep(&netlink->fd);
    }
}

static uint32_t group_of(struct msghdr *message)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level == SOL_NETLINK && part->cmsg_type == NETLINK_PKTINFO) {
            struct nl_pktinfo info;

            memcpy(&info, CMSG_DATA(part), sizeof(info));
            return info.group;
        }
    }
    return 0;
}

int netlink_read(struct netlink *netlink, thermal_event_fn fn, void *owner)
{
    static const struct thermal_event lost = {
        .kind = THERMAL_OTHER, .zone = -1, .trip = -1, .cooling = -1, .state = -1, .temp_mc = INT32_MIN
    };

    for (int i = 0; i < DATAGRAMS_MAX; i++) {
        union {
            struct cmsghdr align;
            uint8_t bytes[CMSG_SPACE(sizeof(struct nl_pktinfo))];
        } control;
        uint8_t bytes[DATAGRAM_BYTES];
        struct sockaddr_nl from = { 0 };
        struct iovec part = { .iov_base = bytes, .iov_len = sizeof(bytes) };
        struct msghdr message = {
            .msg_name = &from,
            .msg_namelen = sizeof(from),
            .msg_iov = &part,
            .msg_iovlen = 1,
            .msg_control = &control,
            .msg_controllen = sizeof(control),
        };
        ssize_t n = recvmsg(netlink->fd, &message, 0);

        if (n < 0 && errno == ENOBUFS) {
            fn(owner, &lost);
            continue;
        }
        if (n < 0) {
            return errno == EAGAIN || errno == EINTR ? 0 : err_new(-errno);
        }
        if (from.nl_pid == 0) {
            const uint32_t group = group_of(&message);

            genl_parse_events(bytes, (size_t)n, netlink->family.id, group && group == netlink->family.sampling_group,
                              fn, owner);
        }
    }
    return 0;
}
