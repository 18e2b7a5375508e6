#include "load/runtime_pm.h"
#include "base/clean.h"
#include "base/err.h"
#include "sysfs/label.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The kernel counts milliseconds: shorter intervals are dominated by rounding. */
#define INTERVAL_MIN_MS 20u

struct pm_source {
    struct source source;
    struct gpu device;
    struct runtime_pm before;
    bool has_before;
};

static int read_counter(const struct root *root, const struct gpu *device, const char *name, uint64_t *ret_ms)
{
    char path[sizeof(device->path) + 40];
    int64_t number;
    int r;

    snprintf(path, sizeof(path), "%s/power/%s", device->path, name);
    r = root_read_number(root, path, &number);
    if (r) {
        return r;
    }
    if (number < 0) {
        return -EPROTO;
    }
    *ret_ms = (uint64_t)number;
    return 0;
}

int runtime_pm_read(const struct root *root, const struct gpu *device, struct runtime_pm *ret_times)
{
    char path[sizeof(device->path) + 40];
    struct runtime_pm times;
    char word[24];
    int r;

    r = read_counter(root, device, "runtime_active_time", &times.active_ms);
    if (!r) {
        r = read_counter(root, device, "runtime_suspended_time", &times.suspended_ms);
    }
    if (r) {
        return r;
    }
    snprintf(path, sizeof(path), "%s/power/runtime_status", device->path);
    if (root_read_word(root, path, word, sizeof(word)) == 0 && strcmp(word, "unsupported") == 0) {
        return -ENODATA;
    }
    snprintf(path, sizeof(path), "%s/power/control", device->path);
    times.can_sleep = root_read_word(root, path, word, sizeof(word)) != 0 || strcmp(word, "on") != 0;
    *ret_times = times;
    return 0;
}

bool runtime_pm_share(const struct runtime_pm *before, const struct runtime_pm *after, uint32_t *ret_permille)
{
    uint64_t active;
    uint64_t all;

    if (after->active_ms < before->active_ms || after->suspended_ms < before->suspended_ms) {
        return false;
    }
    active = after->active_ms - before->active_ms;
    all = active + after->suspended_ms - before->suspended_ms;
    if (all == 0) {
        return false;
    }
    *ret_permille = (uint32_t)((double)active * 1000 / (double)all);
    return true;
}

static void read_pm(struct source *source, uint64_t now_us, struct reading *ret_reading)
{
    struct pm_source *pm = container_of(source, struct pm_source, source);
    const struct runtime_pm before = pm->before;
    const bool had_before = pm->has_before;
    struct runtime_pm now;
    uint32_t permille;
    int r = runtime_pm_read(source->root, &pm->device, &now);

    pm->has_before = !r && now.can_sleep;
    if (r) {
        reading_fail(ret_reading, r, &source->last);
        return;
    }
    if (had_before && now.can_sleep && source->last.at_us != 0 &&
        now.active_ms + now.suspended_ms - before.active_ms - before.suspended_ms < INTERVAL_MIN_MS) {
        *ret_reading = source->last; /* with its own time */
        return;
    }
    pm->before = now;
    if (!now.can_sleep) {
        reading_not(ret_reading, READING_ABSENT, now_us, "the device may not sleep (power/control is \"on\")");
    } else if (!had_before) {
        reading_early(ret_reading, "no interval yet: this was the first reading");
    } else if (!runtime_pm_share(&before, &now, &permille)) {
        reading_not(ret_reading, READING_ABSENT, now_us, "the power counters stand still or ran back");
    } else {
        source_give(source, 0, permille, now_us, ret_reading);
    }
}

static const struct source_table table = { .kind = "runtime-pm", .read = read_pm };

int runtime_pm_open(struct source **ret_source, const struct root *root, const struct gpu *device)
{
    struct source *source;
    char path[sizeof(device->path) + 40];

    snprintf(path, sizeof(path), "%s/power/runtime_active_time", device->path);
    if (!root_has(root, path)) {
        return -ENOENT;
    }
    source = load_source_create(sizeof(struct pm_source), &table, READING_GRAPHICS_LOAD, LOAD_RANK_POWER, root, device);
    if (!source) {
        return err_new(-ENOMEM);
    }
    container_of(source, struct pm_source, source)->device = *device;
    label_set(source->name, "power %s", device->node);
    label_set(source->path, "%s/power", device->path);
    label_set(source->why, "time under power: an upper bound, including our own load%s",
              device->has_display ? ", and the display's" : "");
    source->is_mixed = true;
    source->is_bound = true;
    *ret_source = source;
    return 0;
}
