#include "loop/alarm.h"
#include "base/err.h"
#include <assert.h>
#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static void on_time(uv_poll_t *poll, int status, int events)
{
    struct alarm *alarm = poll->data;
    uint64_t n;

    (void)events;
    if (status < 0 || read(alarm->fd, &n, sizeof(n)) != (ssize_t)sizeof(n)) {
        return; /* it was set again meanwhile */
    }
    alarm->at_us = 0;
    alarm->ring(alarm->owner);
}

int alarm_open(struct alarm *alarm)
{
    *alarm = (struct alarm){ .fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC) };
    return alarm->fd < 0 ? err_new(-errno) : 0;
}

void alarm_drop(struct alarm *alarm)
{
    if (alarm->fd >= 0) {
        close(alarm->fd);
        alarm->fd = -1;
    }
}

void alarm_start(struct alarm *alarm, uv_loop_t *loop, void (*ring)(void *owner), void *owner)
{
    int r = uv_poll_init(loop, &alarm->poll, alarm->fd);

    assert(r == 0); /* an open timerfd can be polled */
    (void)r;
    alarm->ring = ring;
    alarm->owner = owner;
    alarm->poll.data = alarm;
    uv_poll_start(&alarm->poll, UV_READABLE, on_time);
}

void alarm_set(struct alarm *alarm, uint64_t at_us)
{
    struct itimerspec at = { 0 };

    if (at_us == alarm->at_us) {
        return;
    }
    alarm->at_us = at_us;
    at.it_value.tv_sec = (time_t)(at_us / 1000000);
    at.it_value.tv_nsec = (long)(at_us % 1000000) * 1000;
    timerfd_settime(alarm->fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void on_closed(uv_handle_t *handle)
{
    struct alarm *alarm = handle->data;

    alarm_drop(alarm);
    alarm->closed(alarm->owner);
}

void alarm_close(struct alarm *alarm, void (*closed)(void *owner), void *owner)
{
    alarm->owner = owner;
    alarm->closed = closed;
    uv_close((uv_handle_t *)&alarm->poll, on_closed);
}
