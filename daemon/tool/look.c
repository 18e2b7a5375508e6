/*
 * One finder and the readers of sotto-sense, driven by a loop of a few lines.
 */
#include "tool/look.h"

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

/* Waits for the bell until @until_us. */
static void wait_for_bell(struct look *look, uint64_t until_us)
{
    struct pollfd bell = { .fd = look->bell, .events = POLLIN };
    uint64_t now_us = clock_mono_us();
    eventfd_t n;

    if (now_us < until_us && poll(&bell, 1, (int)((until_us - now_us) / 1000) + 1) == 1) {
        eventfd_read(look->bell, &n);
    }
}

/* True once the first scan is there. */
static bool find(struct look *look)
{
    uint64_t end_us = clock_mono_us() + FIND_MS * UINT64_C(1000);

    finder_ask(&look->finder);
    while (!finder_take(&look->finder, &look->finding)) {
        if (clock_mono_us() >= end_us) {
            return false;
        }
        wait_for_bell(look, end_us);
    }
    return true;
}

static int begin(struct look *look, struct diag *diag)
{
    int r;

    look->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (look->bell < 0) {
        return err_new(-errno);
    }
    r = readers_open(&look->readers, look->bell);
    if (r) {
        return err_up(r);
    }
    sampler_init(&look->sampler, &look->readers);
    r = finder_open(&look->finder, &machine_table, &look->machine, look->bell);
    if (r) {
        return err_up(r);
    }
    if (!find(look)) {
        diag_set(diag, "looking for sensors took more than %u s: a driver does not answer", FIND_MS / 1000);
        return err_new(-ETIMEDOUT);
    }
    return sampler_found(&look->sampler, &look->finding, clock_mono_us());
}

bool look_open(struct look *look, const char *root, struct diag *diag)
{
    const struct machine_wishes wishes = { 0 };
    int r;

    if (!machine_open(&look->machine, root, &wishes, diag)) {
        return false;
    }
    r = begin(look, diag);
    if (r) {
        diag_set(diag, "the sensors can't be read: %s", strerrordesc_np(-r));
    }
    return r == 0;
}

void look_read(struct look *look, uint32_t for_ms)
{
    uint64_t now_us = clock_mono_us();
    uint64_t end_us = now_us + for_ms * UINT64_C(1000);

    sampler_rate(&look->sampler, PERIOD_MS, now_us);
    while (now_us < end_us) {
        uint64_t next_us = sampler_turn(&look->sampler, now_us);

        wait_for_bell(look, next_us < end_us ? next_us : end_us);
        now_us = clock_mono_us();
        sampler_collect(&look->sampler, now_us);
    }
}

bool look_close(struct look *look)
{
    if (!readers_close(&look->readers) || !finder_close(&look->finder, true)) {
        return false;
    }
    sampler_finish(&look->sampler);
    machine_close(&look->machine);
    close(look->bell);
    return true;
}

/* ---- words */

uint64_t look_age_ms(const struct gauge *gauge)
{
    uint64_t now_us = clock_mono_us();

    return now_us > gauge->now.at_us ? (now_us - gauge->now.at_us) / 1000 : 0;
}

const char *look_state(const struct gauge *gauge)
{
    return gauge->found.rank == SOURCE_PASSED_OVER ? "passed over" : reading_state_name(gauge->now.state);
}

static bool has_value(const struct gauge *gauge)
{
    return gauge->was_read && gauge->found.rank != SOURCE_PASSED_OVER &&
           (gauge->now.state == READING_OK ||
            (gauge->was_ok && (gauge->now.state == READING_STALE || gauge->now.state == READING_IMPLAUSIBLE)));
}

const char *look_value(const struct gauge *gauge, char *text, size_t cap)
{
    double value = (double)gauge->now.value;

    text[0] = '\0';
    if (!has_value(gauge)) {
        return text;
    }
    switch (gauge->found.quantity) {
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
        snprintf(text, cap, "%.0f of %" PRId64, value, gauge->found.most);
        break;
    case READING_QUANTITY_COUNT:
        break;
    }
    return text;
}
