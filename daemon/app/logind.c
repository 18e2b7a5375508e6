/*
 * Logind: the system bus as a handle of the loop, and the three messages that matter
 */
#include "app/logind.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#define NAME      "org.freedesktop.login1"
#define PATH      "/org/freedesktop/login1"
#define INTERFACE "org.freedesktop.login1.Manager"
#define HANDLES   2u

struct logind {
    sd_bus *bus; /* owned */
    uv_poll_t poll;
    uv_timer_t timer; /* timeouts of calls */
    unsigned n_handles;
    int lock; /* descriptor, -1: none */
    const struct logind_sink *sink;
    void *owner;
    bool is_lost;
    bool is_closing;
};

static void arm(struct logind *logind);

/* ---- life */

static void on_closed(uv_handle_t *handle)
{
    struct logind *logind = handle->data;

    if (--logind->n_handles == 0) {
        sd_bus_unref(logind->bus);
        mem_free(logind);
    }
}

static void stop_listening(struct logind *logind)
{
    if (!uv_is_closing((uv_handle_t *)&logind->poll)) {
        uv_close((uv_handle_t *)&logind->poll, on_closed);
        uv_close((uv_handle_t *)&logind->timer, on_closed);
    }
}

static void lose(struct logind *logind, int error)
{
    if (logind->is_lost) {
        return;
    }
    logind->is_lost = true;
    logind_release(logind);
    uv_poll_stop(&logind->poll);
    uv_timer_stop(&logind->timer);
    log_warn("app", "lost the system bus (%s): sleep of the machine is no longer announced", strerrordesc_np(-error));
    logind->sink->on_lost(logind->owner);
}

void logind_close(struct logind *logind)
{
    if (!logind || logind->is_closing) {
        return;
    }
    logind->is_closing = true;
    logind->is_lost = true;
    logind_release(logind);
    sd_bus_close(logind->bus);
    stop_listening(logind);
}

/* ---- the bus in the loop */

static void process(struct logind *logind)
{
    int r = 1;

    while (r > 0 && !logind->is_lost) {
        r = sd_bus_process(logind->bus, NULL);
    }
    if (r < 0) {
        lose(logind, r);
    } else {
        arm(logind);
    }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    process(poll->data);
}

static void on_timer(uv_timer_t *timer)
{
    process(timer->data);
}

/* Waits for the events and the timeout that the bus wants. */
static void arm(struct logind *logind)
{
    int events;
    int wanted = 0;
    uint64_t until_us;

    if (logind->is_lost) {
        return;
    }
    events = sd_bus_get_events(logind->bus);
    if (events < 0) {
        lose(logind, events);
        return;
    }
    wanted |= events & POLLIN ? UV_READABLE : 0;
    wanted |= events & POLLOUT ? UV_WRITABLE : 0;
    uv_poll_start(&logind->poll, wanted | UV_DISCONNECT, on_poll);
    if (sd_bus_get_timeout(logind->bus, &until_us) >= 0 && until_us != UINT64_MAX) {
        uint64_t now_us = clock_mono_us();

        uv_update_time(logind->timer.loop);
        uv_timer_start(&logind->timer, on_timer, until_us > now_us ? (until_us - now_us) / 1000 + 1 : 0, 0);
    } else {
        uv_timer_stop(&logind->timer);
    }
}

/* ---- messages */

static int on_lock(sd_bus_message *message, void *owner, sd_bus_error *unused)
{
    struct logind *logind = owner;
    int fd;

    (void)unused;
    if (sd_bus_message_is_method_error(message, NULL)) {
        log_info("app", "sleep of the machine is not announced: %s", sd_bus_message_get_error(message)->message);
        return 0;
    }
    if (sd_bus_message_read(message, "h", &fd) < 0) {
        return 0;
    }
    logind_release(logind);
    logind->lock = fcntl(fd, F_DUPFD_CLOEXEC, 3); /* that of the message is closed with it */
    if (logind->lock >= 0) {
        logind->sink->on_locked(logind->owner);
    }
    return 0;
}

static int on_prepare(sd_bus_message *message, void *owner, sd_bus_error *unused)
{
    struct logind *logind = owner;
    int going;

    (void)unused;
    if (sd_bus_message_read(message, "b", &going) >= 0) {
        logind->sink->on_sleep(logind->owner, going != 0);
    }
    return 0;
}

/* Handles a restart of logind, which forgets our lock. */
static int on_owner(sd_bus_message *message, void *owner, sd_bus_error *unused)
{
    struct logind *logind = owner;
    const char *name;
    const char *before;
    const char *after;

    (void)unused;
    if (sd_bus_message_read(message, "sss", &name, &before, &after) < 0 || strcmp(name, NAME) != 0) {
        return 0;
    }
    if (*after) {
        logind_lock(logind);
    } else {
        logind_release(logind);
        logind->sink->on_lost(logind->owner);
    }
    return 0;
}

void logind_lock(struct logind *logind)
{
    int r;

    if (!logind || logind->is_lost) {
        return;
    }
    r = sd_bus_call_method_async(logind->bus, NULL, NAME, PATH, INTERFACE, "Inhibit", on_lock, logind, "ssss", "sleep",
                                 "sottod", "language models stop first", "delay");
    if (r < 0) {
        log_warn("app", "sleep of the machine is not announced: %s", strerrordesc_np(-r));
    }
    arm(logind);
}

void logind_release(struct logind *logind)
{
    if (logind && logind->lock >= 0) {
        close(logind->lock);
        logind->lock = -1;
    }
}

/* ---- opening */

static int listen_to(struct logind *logind)
{
    int r = sd_bus_match_signal_async(logind->bus, NULL, NAME, PATH, INTERFACE, "PrepareForSleep", on_prepare, NULL,
                                      logind);

    if (r < 0) {
        return r;
    }
    return sd_bus_match_signal_async(logind->bus, NULL, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                     "org.freedesktop.DBus", "NameOwnerChanged", on_owner, NULL, logind);
}

int logind_open(struct logind **ret_logind, uv_loop_t *loop, const struct logind_sink *sink, void *owner)
{
    cleanup(mem_freep) struct logind *logind = mem_calloc(MEM_MISC, 1, sizeof(*logind));
    int r;

    *ret_logind = NULL;
    if (!logind) {
        return err_new(-ENOMEM);
    }
    r = sd_bus_open_system(&logind->bus);
    if (r < 0) {
        log_info("app", "sleep of the machine is not announced: no system bus (%s)", strerrordesc_np(-r));
        return 0;
    }
    logind->sink = sink;
    logind->owner = owner;
    logind->lock = -1;
    r = listen_to(logind);
    if (r >= 0) {
        r = uv_poll_init(loop, &logind->poll, sd_bus_get_fd(logind->bus));
    }
    if (r < 0) {
        log_warn("app", "sleep of the machine is not announced: %s", strerrordesc_np(-r));
        sd_bus_unref(logind->bus);
        return 0;
    }
    uv_timer_init(loop, &logind->timer);
    logind->poll.data = logind;
    logind->timer.data = logind;
    logind->n_handles = HANDLES;
    logind_lock(logind);
    *ret_logind = steal(&logind);
    return 0;
}
