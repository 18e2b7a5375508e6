#include "sensor/desk.h"
#include "base/log.h"
#include "sensor/sampler.h"
#include <errno.h>
#include <fcntl.h>
#include <sotto/sense.pb-c.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void desk_init(struct desk *desk, uid_t uid)
{
    memset(desk, 0, sizeof(*desk));
    desk->uid = uid;
    wire_init(&desk->wire, MEM_WIRE);
    for (uint32_t i = 0; i < DESK_SEATS; i++) {
        desk->seats[i].fd = -1;
    }
}

void desk_finish(struct desk *desk)
{
    for (uint32_t i = 0; i < DESK_SEATS; i++) {
        desk_leave(desk, i);
    }
    wire_finish(&desk->wire);
}

void desk_leave(struct desk *desk, uint32_t i)
{
    struct seat *seat = &desk->seats[i];

    if (seat->fd < 0) {
        return;
    }
    close(seat->fd);
    seat->fd = -1;
    buf_finish(&seat->in);
    buf_finish(&seat->out);
    desk->n--;
}

static bool may_sit(struct desk *desk, int fd)
{
    struct ucred peer;
    socklen_t n = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n)) {
        return false;
    }
    if (peer.uid == 0 || peer.uid == geteuid() || peer.uid == desk->uid) {
        if (peer.uid == desk->uid || desk->uid == (uid_t)-1) {
            desk->served_pid = peer.pid > 0 ? (uint32_t)peer.pid : 0;
        }
        return true;
    }
    log_warn("sensor", "user %u may not know what is read here", (unsigned)peer.uid);
    return false;
}

void desk_seat(struct desk *desk, int fd)
{
    uint32_t i = 0;

    while (i < DESK_SEATS && desk->seats[i].fd >= 0) {
        i++;
    }
    if (i == DESK_SEATS || !may_sit(desk, fd) || fcntl(fd, F_SETFL, O_NONBLOCK)) {
        close(fd);
        return;
    }
    desk->seats[i] = (struct seat){ .fd = fd, .is_fresh = true, .rate_ms = SAMPLER_IDLE_MS };
    buf_init(&desk->seats[i].in, MEM_WIRE, DESK_TO_MAX + FRAME_HEAD_BYTES);
    buf_init(&desk->seats[i].out, MEM_WIRE, DESK_OUT_MAX);
    desk->n++;
}

/* Frames in @seat->in. False: bytes that are none. */
static bool take_frames(struct desk *desk, struct seat *seat)
{
    while (seat->in.n > 0) {
        const Sotto__Sense__ToSense *order;
        ProtobufCMessage *message;
        struct frame frame;
        size_t used;
        int r = frame_take(buf_data(&seat->in), seat->in.n, DESK_TO_MAX, &frame, &used);

        if (r == FRAME_MORE) {
            return true;
        }
        if (r != FRAME_OK || wire_unpack(&desk->wire, &sotto__sense__to_sense__descriptor, &frame, &message)) {
            return false;
        }
        order = (const Sotto__Sense__ToSense *)message;
        if (order->body_case != SOTTO__SENSE__TO_SENSE__BODY_RATE) {
            return false;
        }
        seat->rate_ms = order->rate->period_ms;
        buf_eat(&seat->in, used);
    }
    return true;
}

bool desk_hear(struct desk *desk, uint32_t i)
{
    struct seat *seat = &desk->seats[i];
    uint8_t bytes[1024];
    ssize_t n = recv(seat->fd, bytes, sizeof(bytes), 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return true;
    }
    if (n > 0 && buf_append(&seat->in, bytes, (size_t)n) == 0 && take_frames(desk, seat)) {
        return true;
    }
    if (n > 0) {
        log_warn("sensor", "what a client says makes no sense: it is sent away");
    }
    desk_leave(desk, i);
    return false;
}

bool desk_send(struct desk *desk, uint32_t i)
{
    struct seat *seat = &desk->seats[i];

    while (seat->out.n > 0) {
        ssize_t n = send(seat->fd, buf_data(&seat->out), seat->out.n, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            return true;
        }
        if (n <= 0) {
            desk_leave(desk, i);
            return false;
        }
        buf_eat(&seat->out, (size_t)n);
    }
    return true;
}

void desk_tell(struct desk *desk, uint32_t i, const void *frames, size_t n)
{
    if (buf_append(&desk->seats[i].out, frames, n)) {
        log_warn("sensor", "a client does not take what it is told: it is sent away");
        desk_leave(desk, i);
        return;
    }
    desk_send(desk, i);
}

uint32_t desk_rate_ms(const struct desk *desk)
{
    uint32_t rate_ms = 0;

    for (uint32_t i = 0; i < DESK_SEATS; i++) {
        const struct seat *seat = &desk->seats[i];

        if (seat->fd >= 0 && (rate_ms == 0 || seat->rate_ms < rate_ms)) {
            rate_ms = seat->rate_ms ? seat->rate_ms : SAMPLER_FASTEST_MS;
        }
    }
    return rate_ms;
}
