#include "sensor/sensor.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "sensor/encoder.h"
#include "sensor/kernel_events.h"
#include "sensor/peers.h"
#include "sensor/suspend_time.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* The kernel announces most changes of sources; for the others, a scan once a minute is enough. */
#define SCAN_US UINT64_C(60000000)

/* Delay of a scan after an event, since others follow at once; and the minimum between two scans. */
#define SCAN_SOON_US UINT64_C(200000)
#define SCAN_REST_US UINT64_C(1000000)

/* Minimum between two wakeups by a kernel that reports a trip again and again. */
#define HURRY_REST_US UINT64_C(50000)

/* A sample waits this long for the last reading of its round. */
#define LINGER_US UINT64_C(5000)

/* A sample is sent at least this often; a little later than the next round, which usually has news. */
#define BEAT_US UINT64_C(1500000)

#define NEVER UINT64_MAX

struct sensor {
    const struct sensor_config *config;
    struct readers readers;
    struct finder finder;
    struct sampler sampler;
    struct peers peers;
    struct kernel_events events;
    struct encoder encoder;
    struct scan_result scan_result; /* of the last scan */
    struct buf out;
    int notify_fd;
    int signals;
    bool has_scan;              /* since a peer connected */
    bool was_awake;             /* a peer was connected in the last iteration */
    bool is_event;              /* the news was caused by an event */
    uint64_t scan_us;           /* when to scan again */
    uint64_t scan_requested_us; /* when the last scan was requested */
    uint64_t hurry_us;          /* last event that caused readings */
    uint64_t new_us;            /* since when there is unreported news; 0: there is none */
    uint64_t sent_us;
    struct suspend_time suspend;
    bool is_ending;
};

enum poll_index { POLL_SIGNALS, POLL_NOTIFY, POLL_LISTEN, POLL_THERMAL, POLL_UEVENT, POLL_PEERS };

/* ---- sending */

static void send_to(struct sensor *sensor, uint32_t i)
{
    peers_send(&sensor->peers, i, buf_data(&sensor->out), sensor->out.n);
}

static void send_to_all(struct sensor *sensor)
{
    for (uint32_t i = 0; i < PEERS_MAX; i++) {
        if (sensor->peers.all[i].fd >= 0 && !sensor->peers.all[i].is_fresh) {
            send_to(sensor, i);
        }
    }
}

static void clear_out(struct sensor *sensor)
{
    buf_eat(&sensor->out, sensor->out.n);
}

static int write_inventory(struct sensor *sensor)
{
    return encoder_inventory(&sensor->encoder, &sensor->sampler, sensor->config->is_limited, &sensor->out);
}

static int write_sample(struct sensor *sensor, enum encoder_scope scope, bool is_event, uint64_t now_us)
{
    uint64_t took_us = sensor->new_us ? now_us - sensor->new_us : 0;

    return encoder_sample(&sensor->encoder, &sensor->sampler, scope, is_event, now_us, (uint32_t)took_us, &sensor->out);
}

/* Sends the inventory and all readings to peers that have just connected. */
static void send_to_new(struct sensor *sensor, uint64_t now_us)
{
    for (uint32_t i = 0; i < PEERS_MAX; i++) {
        struct sense_peer *peer = &sensor->peers.all[i];

        if (peer->fd < 0 || !peer->is_fresh) {
            continue;
        }
        if (write_inventory(sensor) == 0 && write_sample(sensor, ENCODER_ALL, false, now_us) == 0) {
            peer->is_fresh = false;
            send_to(sensor, i);
        }
        clear_out(sensor);
    }
}

static void mark_reported(struct sensor *sensor)
{
    struct list *link;

    list_for_each (link, &sensor->sampler.channels) {
        container_of(link, struct channel, link)->is_new = false;
    }
    sensor->new_us = 0;
    sensor->is_event = false;
}

/*
 * Returns when the next sample is due: at once if there is news and the round is complete, after LINGER_US if it is
 * not, and BEAT_US after the last one in any case.
 */
static uint64_t sample_due_us(const struct sensor *sensor)
{
    uint64_t next_us = sensor->sent_us + BEAT_US;
    uint64_t news_us = NEVER;

    if (!sensor->has_scan) {
        return NEVER; /* the inventory comes first */
    }
    if (sensor->new_us) {
        news_us = sampler_is_pending(&sensor->sampler) ? sensor->new_us + LINGER_US : sensor->new_us;
    }
    return news_us < next_us ? news_us : next_us;
}

static void send_due(struct sensor *sensor, uint64_t now_us)
{
    if (!sensor->has_scan) {
        return;
    }
    if (sensor->sampler.has_changed) {
        if (write_inventory(sensor) == 0) {
            send_to_all(sensor);
        }
        clear_out(sensor);
        sensor->sampler.has_changed = false;
    }
    send_to_new(sensor, now_us);
    if (sample_due_us(sensor) <= now_us) {
        if (write_sample(sensor, ENCODER_NEW, sensor->is_event, now_us) == 0) {
            send_to_all(sensor);
        }
        clear_out(sensor);
        mark_reported(sensor);
        sensor->sent_us = now_us;
    }
}

/* ---- events */

static void on_thermal(void *owner, bool changes_sources)
{
    struct sensor *sensor = owner;
    uint64_t now_us = clock_mono_us();

    if (changes_sources && sensor->scan_us > now_us + SCAN_SOON_US) {
        sensor->scan_us = now_us + SCAN_SOON_US;
    }
    if (now_us - sensor->hurry_us >= HURRY_REST_US) {
        sensor->hurry_us = now_us;
        sensor->is_event = true;
        sampler_hurry(&sensor->sampler, now_us);
    }
}

static void on_device(void *owner)
{
    struct sensor *sensor = owner;
    uint64_t soon_us = clock_mono_us() + SCAN_SOON_US;

    sensor->scan_us = sensor->scan_us < soon_us ? sensor->scan_us : soon_us;
}

static const struct kernel_events_sink kernel_events_sink = { .on_thermal = on_thermal, .on_device = on_device };

static void drain(int fd)
{
    uint64_t number;

    while (read(fd, &number, sizeof(number)) == sizeof(number)) {
    }
}

static void on_notify(struct sensor *sensor, uint64_t now_us)
{
    drain(sensor->notify_fd);
    if (finder_take(&sensor->finder, &sensor->scan_result)) {
        if (sampler_take_scan(&sensor->sampler, &sensor->scan_result, now_us)) {
            log_warn("sensor", "no memory for all sensors");
        }
        sensor->has_scan = true;
    }
    if (sampler_collect(&sensor->sampler, now_us) && !sensor->new_us) {
        sensor->new_us = now_us;
    }
}

/* Adds a peer. If it is the daemon, its control groups bound the memory. */
static void peer(struct sensor *sensor, int fd)
{
    const struct sensor_config *config = sensor->config;

    peers_add(&sensor->peers, fd);
    if (sensor->peers.served_pid && config->finder->serve) {
        config->finder->serve(config->owner, sensor->peers.served_pid);
    }
}

static void on_connect(struct sensor *sensor)
{
    int fd = accept4(sensor->config->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0) {
        peer(sensor, fd);
    }
}

static void on_peers(struct sensor *sensor, const struct pollfd *fds)
{
    for (uint32_t i = 0; i < PEERS_MAX; i++) {
        if (fds[i].revents & POLLOUT && !peers_flush(&sensor->peers, i)) {
            continue;
        }
        if (fds[i].revents & (POLLIN | POLLHUP | POLLERR)) {
            peers_receive(&sensor->peers, i);
        }
    }
}

static void on_signal(struct sensor *sensor)
{
    struct signalfd_siginfo info;

    if (read(sensor->signals, &info, sizeof(info)) == sizeof(info)) {
        sensor->is_ending = true;
    }
}

/* ---- the loop */

static uint64_t scan_due_us(const struct sensor *sensor)
{
    uint64_t rested_us = sensor->scan_requested_us + SCAN_REST_US;

    return sensor->scan_us > rested_us ? sensor->scan_us : rested_us;
}

static void scan_if_due(struct sensor *sensor, uint64_t now_us)
{
    if (now_us >= scan_due_us(sensor)) {
        sensor->scan_requested_us = now_us;
        sensor->scan_us = now_us + SCAN_US;
        finder_request(&sensor->finder);
    }
}

/* Starts again after a time without peers: readings may be hours old. */
static void wake(struct sensor *sensor, uint64_t now_us)
{
    sensor->was_awake = true;
    sensor->sent_us = now_us;
    sensor->scan_us = now_us;
    sensor->scan_requested_us = 0;
    sensor->has_scan = false;
    sampler_wake(&sensor->sampler, now_us);
}

/* Notices that the machine was suspended: readings from before are outdated, whatever their time. */
static void notice_sleep(struct sensor *sensor, uint64_t now_us)
{
    if (suspend_time_check(&sensor->suspend, now_us, clock_boot_us()) > 0) {
        sensor->is_event = true;
        sensor->scan_us = now_us;
        sampler_wake(&sensor->sampler, now_us);
    }
}

/* Does everything that is due. Returns the time of the next call; NEVER: it waits for a peer. */
static uint64_t step(struct sensor *sensor, uint64_t now_us)
{
    uint32_t rate_ms = peers_rate_ms(&sensor->peers);
    uint64_t next_us;
    uint64_t other_us;

    if (rate_ms == 0) {
        sensor->was_awake = false;
        sensor->is_ending = sensor->is_ending || sensor->config->client_fd >= 0;
        return NEVER;
    }
    notice_sleep(sensor, now_us);
    if (!sensor->was_awake) {
        wake(sensor, now_us);
    }
    sampler_set_rate(&sensor->sampler, rate_ms > sensor->config->least_ms ? rate_ms : sensor->config->least_ms, now_us);
    scan_if_due(sensor, now_us);
    send_due(sensor, now_us);
    next_us = sampler_step(&sensor->sampler, now_us);
    other_us = sample_due_us(sensor);
    next_us = other_us < next_us ? other_us : next_us;
    other_us = scan_due_us(sensor);
    return other_us < next_us ? other_us : next_us;
}

static void list_fds(const struct sensor *sensor, struct pollfd *fds)
{
    fds[POLL_SIGNALS] = (struct pollfd){ .fd = sensor->signals, .events = POLLIN };
    fds[POLL_NOTIFY] = (struct pollfd){ .fd = sensor->notify_fd, .events = POLLIN };
    fds[POLL_LISTEN] = (struct pollfd){ .fd = sensor->config->listen_fd, .events = POLLIN };
    fds[POLL_THERMAL] = (struct pollfd){ .fd = sensor->events.thermal.fd, .events = POLLIN };
    fds[POLL_UEVENT] = (struct pollfd){ .fd = sensor->events.uevent_fd, .events = POLLIN };
    for (uint32_t i = 0; i < PEERS_MAX; i++) {
        const struct sense_peer *peer = &sensor->peers.all[i];

        fds[POLL_PEERS + i] = (struct pollfd){ .fd = peer->fd, .events = POLLIN };
        if (peer->fd >= 0 && peer->out.n > 0) {
            fds[POLL_PEERS + i].events |= POLLOUT;
        }
    }
}

static void wait_until(struct pollfd *fds, size_t n, uint64_t now_us, uint64_t next_us)
{
    uint64_t us = next_us > now_us ? next_us - now_us : 0;
    struct timespec timeout = { .tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000 };

    if (ppoll(fds, n, next_us == NEVER ? NULL : &timeout, NULL) <= 0) {
        for (size_t i = 0; i < n; i++) {
            fds[i].revents = 0;
        }
    }
}

static void run(struct sensor *sensor)
{
    struct pollfd fds[POLL_PEERS + PEERS_MAX];

    while (!sensor->is_ending) {
        uint64_t now_us = clock_mono_us();
        uint64_t next_us = step(sensor, now_us);

        if (sensor->is_ending) {
            break;
        }
        list_fds(sensor, fds);
        wait_until(fds, COUNTOF(fds), now_us, next_us);
        now_us = clock_mono_us();
        if (fds[POLL_SIGNALS].revents) {
            on_signal(sensor);
        }
        if (fds[POLL_THERMAL].revents || fds[POLL_UEVENT].revents) {
            kernel_events_read(&sensor->events, &kernel_events_sink, sensor);
        }
        if (fds[POLL_NOTIFY].revents) {
            on_notify(sensor, now_us);
        }
        on_peers(sensor, &fds[POLL_PEERS]);
        if (fds[POLL_LISTEN].revents) {
            on_connect(sensor);
        }
    }
}

/* ---- start and end */

static int open_signals(void)
{
    sigset_t set;

    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int open_all(struct sensor *sensor)
{
    int r;

    sensor->signals = open_signals();
    sensor->notify_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (sensor->signals < 0 || sensor->notify_fd < 0) {
        return err_new(-errno);
    }
    r = readers_open(&sensor->readers, sensor->notify_fd);
    if (r) {
        return err_up(r);
    }
    r = finder_open(&sensor->finder, sensor->config->finder, sensor->config->owner, sensor->notify_fd);
    if (r) {
        return err_up(r);
    }
    sampler_init(&sensor->sampler, &sensor->readers);
    sensor->sampler.least_ms = sensor->config->least_ms;
    peers_init(&sensor->peers, sensor->config->uid);
    kernel_events_open(&sensor->events, sensor->config->listens_to_kernel);
    encoder_init(&sensor->encoder);
    buf_init(&sensor->out, MEM_WIRE, PEERS_OUT_MAX);
    if (sensor->config->client_fd >= 0) {
        peer(sensor, sensor->config->client_fd);
    }
    return 0;
}

/* Returns true if all threads have ended and everything is freed. */
static bool close_all(struct sensor *sensor)
{
    bool is_free;

    peers_finish(&sensor->peers);
    kernel_events_close(&sensor->events);
    is_free = readers_close(&sensor->readers);
    if (!finder_close(&sensor->finder, is_free) || !is_free) {
        return false;
    }
    sampler_finish(&sensor->sampler);
    buf_finish(&sensor->out);
    close(sensor->notify_fd);
    close(sensor->signals);
    mem_free(sensor);
    return true;
}

int sensor_run(const struct sensor_config *config, bool *ret_is_free)
{
    struct sensor *sensor = mem_calloc(MEM_MISC, 1, sizeof(*sensor));
    int r;

    *ret_is_free = false;
    if (!sensor) {
        log_error("sensor", "no memory");
        return EXIT_FAILURE;
    }
    sensor->config = config;
    r = open_all(sensor);
    if (r) {
        log_error("sensor", "can't start: %s", strerrordesc_np(-r));
        return EXIT_FAILURE;
    }
    run(sensor);
    *ret_is_free = close_all(sensor);
    return EXIT_SUCCESS;
}
