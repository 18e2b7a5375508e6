#include "sensor/peers.h"
#include "base/log.h"
#include "sensor/sampler.h"
#include <errno.h>
#include <fcntl.h>
#include <sotto/sense.pb-c.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void peers_init(struct peers *peers, uid_t uid)
{
    memset(peers, 0, sizeof(*peers));
    peers->uid = uid;
    wire_init(&peers->wire, MEM_WIRE);
    for (uint32_t i = 0; i < PEERS_MAX; i++) {
        peers->all[i].fd = -1;
    }
}

void peers_finish(struct peers *peers)
{
    for (uint32_t i = 0; i < PEERS_MAX; i++) {
        peers_drop(peers, i);
    }
    wire_finish(&peers->wire);
}

void peers_drop(struct peers *peers, uint32_t i)
{
    struct sense_peer *peer = &peers->all[i];

    if (peer->fd < 0) {
        return;
    }
    close(peer->fd);
    peer->fd = -1;
    buf_finish(&peer->in);
    buf_finish(&peer->out);
    peers->n--;
}

static bool may_connect(struct peers *peers, int fd)
{
    struct ucred peer;
    socklen_t n = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n)) {
        return false;
    }
    if (peer.uid == 0 || peer.uid == geteuid() || peer.uid == peers->uid) {
        if (peer.uid == peers->uid || peers->uid == (uid_t)-1) {
            peers->served_pid = peer.pid > 0 ? (uint32_t)peer.pid : 0;
        }
        return true;
    }
    log_warn("sensor", "user %u may not connect", (unsigned)peer.uid);
    return false;
}

void peers_add(struct peers *peers, int fd)
{
    uint32_t i = 0;

    while (i < PEERS_MAX && peers->all[i].fd >= 0) {
        i++;
    }
    if (i == PEERS_MAX || !may_connect(peers, fd) || fcntl(fd, F_SETFL, O_NONBLOCK)) {
        close(fd);
        return;
    }
    peers->all[i] = (struct sense_peer){ .fd = fd, .is_fresh = true, .rate_ms = SAMPLER_IDLE_MS };
    buf_init(&peers->all[i].in, MEM_WIRE, PEERS_IN_MAX + FRAME_HEAD_BYTES);
    buf_init(&peers->all[i].out, MEM_WIRE, PEERS_OUT_MAX);
    peers->n++;
}

/* Takes the frames in @peer->in. False: malformed bytes. */
static bool take_frames(struct peers *peers, struct sense_peer *peer)
{
    while (peer->in.n > 0) {
        const Sotto__Sense__ToSense *order;
        ProtobufCMessage *message;
        struct frame frame;
        size_t used;
        int r = frame_take(buf_data(&peer->in), peer->in.n, PEERS_IN_MAX, &frame, &used);

        if (r == FRAME_MORE) {
            return true;
        }
        if (r != FRAME_OK || wire_unpack(&peers->wire, &sotto__sense__to_sense__descriptor, &frame, &message)) {
            return false;
        }
        order = (const Sotto__Sense__ToSense *)message;
        if (order->body_case != SOTTO__SENSE__TO_SENSE__BODY_RATE) {
            return false;
        }
        peer->rate_ms = order->rate->period_ms;
        buf_eat(&peer->in, used);
    }
    return true;
}

bool peers_receive(struct peers *peers, uint32_t i)
{
    struct sense_peer *peer = &peers->all[i];
    uint8_t bytes[1024];
    ssize_t n = recv(peer->fd, bytes, sizeof(bytes), 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return true;
    }
    if (n > 0 && buf_append(&peer->in, bytes, (size_t)n) == 0 && take_frames(peers, peer)) {
        return true;
    }
    if (n > 0) {
        log_warn("sensor", "a client sent a malformed message: disconnected");
    }
    peers_drop(peers, i);
    return false;
}

bool peers_flush(struct peers *peers, uint32_t i)
{
    struct sense_peer *peer = &peers->all[i];

    while (peer->out.n > 0) {
        ssize_t n = send(peer->fd, buf_data(&peer->out), peer->out.n, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            return true;
        }
        if (n <= 0) {
            peers_drop(peers, i);
            return false;
        }
        buf_eat(&peer->out, (size_t)n);
    }
    return true;
}

void peers_send(struct peers *peers, uint32_t i, const void *frames, size_t n)
{
    if (buf_append(&peers->all[i].out, frames, n)) {
        log_warn("sensor", "a client does not read its messages: disconnected");
        peers_drop(peers, i);
        return;
    }
    peers_flush(peers, i);
}

uint32_t peers_rate_ms(const struct peers *peers)
{
    uint32_t rate_ms = 0;

    for (uint32_t i = 0; i < PEERS_MAX; i++) {
        const struct sense_peer *peer = &peers->all[i];

        if (peer->fd >= 0 && (rate_ms == 0 || peer->rate_ms < rate_ms)) {
            rate_ms = peer->rate_ms ? peer->rate_ms : SAMPLER_FASTEST_MS;
        }
    }
    return rate_ms;
}
