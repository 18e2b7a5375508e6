/*
 * Probe: the finder and the readers of sotto-sense, driven by a short loop
 */
#include "tool/probe.h"

#include "base/clock.h"
#include "base/err.h"
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#define FIND_MS   5000u
#define PERIOD_MS 100u

/* Waits for a wakeup until @until_us. */
static void wait_for_wakeup(struct probe *probe, uint64_t until_us)
{
    struct pollfd notify_fd = { .fd = probe->notify_fd, .events = POLLIN };
    uint64_t now_us = clock_mono_us();
    eventfd_t n;

    if (now_us < until_us && poll(&notify_fd, 1, (int)((until_us - now_us) / 1000) + 1) == 1) {
        eventfd_read(probe->notify_fd, &n);
    }
}

/* Waits for the first scan; returns false if it takes too long. */
static bool find(struct probe *probe)
{
    uint64_t end_us = clock_mono_us() + FIND_MS * UINT64_C(1000);

    finder_request(&probe->finder);
    while (!finder_take(&probe->finder, &probe->scan_result)) {
        if (clock_mono_us() >= end_us) {
            return false;
        }
        wait_for_wakeup(probe, end_us);
    }
    return true;
}

static int begin(struct probe *probe, struct diag *diag)
{
    int r;

    probe->notify_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (probe->notify_fd < 0) {
        return err_new(-errno);
    }
    r = readers_open(&probe->readers, probe->notify_fd);
    if (r) {
        return err_up(r);
    }
    sampler_init(&probe->sampler, &probe->readers);
    r = finder_open(&probe->finder, &discovery_table, &probe->discovery, probe->notify_fd);
    if (r) {
        return err_up(r);
    }
    if (!find(probe)) {
        diag_set(diag, "finding sensors took more than %u s: a driver does not answer", FIND_MS / 1000);
        return err_new(-ETIMEDOUT);
    }
    return sampler_take_scan(&probe->sampler, &probe->scan_result, clock_mono_us());
}

bool probe_open(struct probe *probe, const char *root, struct diag *diag)
{
    const struct discovery_setup setup = { 0 };
    int r;

    if (!discovery_open(&probe->discovery, root, &setup, diag)) {
        return false;
    }
    r = begin(probe, diag);
    if (r) {
        diag_set(diag, "can't read the sensors: %s", strerrordesc_np(-r));
    }
    return r == 0;
}

void probe_read(struct probe *probe, uint32_t for_ms)
{
    uint64_t now_us = clock_mono_us();
    uint64_t end_us = now_us + for_ms * UINT64_C(1000);

    sampler_set_rate(&probe->sampler, PERIOD_MS, now_us);
    while (now_us < end_us) {
        uint64_t next_us = sampler_step(&probe->sampler, now_us);

        wait_for_wakeup(probe, next_us < end_us ? next_us : end_us);
        now_us = clock_mono_us();
        sampler_collect(&probe->sampler, now_us);
    }
}

bool probe_close(struct probe *probe)
{
    if (!readers_close(&probe->readers) || !finder_close(&probe->finder, true)) {
        return false;
    }
    sampler_finish(&probe->sampler);
    discovery_close(&probe->discovery);
    close(probe->notify_fd);
    return true;
}

/* ---- text for people */

uint64_t probe_age_ms(const struct channel *channel)
{
    uint64_t now_us = clock_mono_us();

    return now_us > channel->now.at_us ? (now_us - channel->now.at_us) / 1000 : 0;
}

const char *probe_state(const struct channel *channel)
{
    return channel->facts.rank == SOURCE_PASSED_OVER ? "passed over" : reading_state_name(channel->now.state);
}

static bool has_value(const struct channel *channel)
{
    return channel->was_read && channel->facts.rank != SOURCE_PASSED_OVER &&
           (channel->now.state == READING_OK ||
            (channel->was_ok && (channel->now.state == READING_STALE || channel->now.state == READING_IMPLAUSIBLE)));
}

const char *probe_value(const struct channel *channel, char *text, size_t cap)
{
    double value = (double)channel->now.value;

    text[0] = '\0';
    if (!has_value(channel)) {
        return text;
    }
    switch (channel->facts.quantity) {
    case READING_GRAPHICS_LOAD:
    case READING_COMPUTE_LOAD:
    case READING_MEMORY_PRESSURE:
        snprintf(text, cap, "%.1f %%", value / 10);
        break;
    case READING_TEMPERATURE:
        snprintf(text, cap, "%.1f C", value / 1000);
        break;
    case READING_POWER:
        snprintf(text, cap, "%.2f W", value / 1000);
        break;
    case READING_ENERGY:
        snprintf(text, cap, "%.2f J", value / 1e6);
        break;
    case READING_CLOCK:
        snprintf(text, cap, "%.0f MHz", value / 1000);
        break;
    case READING_MEMORY_AVAILABLE:
        snprintf(text, cap, "%.0f MiB", value / 1024);
        break;
    case READING_THROTTLE:
        snprintf(text, cap, "%.0f of %" PRId64, value, channel->facts.most);
        break;
    case READING_QUANTITY_COUNT:
        break;
    }
    return text;
}
