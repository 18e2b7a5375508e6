#include "sensor/discovery.h"
#include "base/err.h"
#include "base/mem.h"
#include "inventory/inventory.h"
#include "sysfs/gpu.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Multipliers range from a thousandth (voltages in microvolts) to a million (whole degrees). */
#define SCALE_LEAST 0.001
#define SCALE_MOST  1e6

/* First this many of each quantity are reported, then more of any: all of them together stay below the maximum. */
#define DISCOVERY_EACH (FINDER_SOURCES_MAX / READING_QUANTITY_COUNT)

/* ---- policy from the command line */

static bool put_zones(struct discovery *discovery, const char *const *zones, size_t n_zones, struct diag *diag)
{
    size_t room = COUNTOF(discovery->heat) - 1;
    size_t n = 0;

    if (n_zones > DISCOVERY_ZONES_MAX) {
        diag_set(diag, "--zone: at most %u patterns are allowed", DISCOVERY_ZONES_MAX);
        return false;
    }
    for (size_t i = 0; i < n_zones; i++) {
        discovery->heat[n++] = zones[i];
    }
    for (size_t i = 0; discovery->policy.heat.patterns[i] && n < room; i++) {
        discovery->heat[n++] = discovery->policy.heat.patterns[i];
    }
    discovery->heat[n] = NULL;
    discovery->policy.heat.patterns = discovery->heat;
    return true;
}

/* Takes "batt*=1000". The pattern, up to the last '=', is copied; the copy lives as long as the process. */
static bool put_scale(struct discovery *discovery, const char *text, struct diag *diag)
{
    const char *equals = strrchr(text, '=');
    char *pattern;
    char *end;
    double factor;

    if (!equals || equals == text || !equals[1]) {
        diag_set(diag, "--scale %s: must be PATTERN=FACTOR", text);
        return false;
    }
    factor = strtod(equals + 1, &end);
    if (*end || !isfinite(factor) || factor < SCALE_LEAST || factor > SCALE_MOST) {
        diag_set(diag, "--scale %s: the factor is a number from %g to %g", text, SCALE_LEAST, SCALE_MOST);
        return false;
    }
    if (discovery->policy.n_scales == POLICY_SCALES_MAX) {
        diag_set(diag, "--scale: at most %u are allowed", POLICY_SCALES_MAX);
        return false;
    }
    pattern = mem_strndup(MEM_MISC, text, (size_t)(equals - text));
    if (!pattern) {
        diag_set(diag, "no memory");
        return false;
    }
    discovery->policy.scales[discovery->policy.n_scales++] =
        (struct policy_scale){ .pattern = pattern, .permille = (int32_t)lround(factor * 1000) };
    return true;
}

static bool put_device(struct discovery *discovery, const char *device, struct diag *diag)
{
    bool is_render;
    uint32_t minor;

    if (device[0] != '/' && !gpu_parse_node(device, &is_render, &minor)) {
        diag_set(diag, "--device %.200s: must be a DRM node, as renderD128 or /dev/dri/renderD128", device);
        return false;
    }
    discovery->device = device;
    return true;
}

/*
 * Resolves the device's name at each scan, since it may be a link that stays when numbers change ("/dev/dri/by-
 * path/..."). A dangling link names no device: then no GPU counts, and its load is unknown.
 */
static void find_node(struct discovery *discovery)
{
    char real[PATH_MAX];
    const char *name = discovery->device;

    if (!name) {
        return;
    }
    if (name[0] == '/') {
        name = root_real_path(&discovery->root, name, real, sizeof(real)) == 0 ? real : name;
        name = root_base_name(name);
    }
    snprintf(discovery->node, sizeof(discovery->node), "%s", name);
    discovery->policy.node = discovery->node;
}

static bool put_setup(struct discovery *discovery, const struct discovery_setup *setup, struct diag *diag)
{
    if (!put_zones(discovery, setup->zones, setup->n_zones, diag)) {
        return false;
    }
    for (size_t i = 0; i < setup->n_scales; i++) {
        if (!put_scale(discovery, setup->scales[i], diag)) {
            return false;
        }
    }
    return !setup->device || put_device(discovery, setup->device, diag);
}

bool discovery_open(struct discovery *discovery, const char *path, const struct discovery_setup *setup,
                    struct diag *diag)
{
    int r;

    memset(discovery, 0, sizeof(*discovery));
    list_init(&discovery->sources);
    policy_init(&discovery->policy);
    r = root_open(&discovery->root, path);
    if (r) {
        diag_set(diag, "--root %s: %s", path, strerrordesc_np(-r));
        return false;
    }
    if (discovery->root.is_machine) {
        /* Our own unit has a small limit, which is not the daemon's. */
        discovery->policy.daemon_pid = POLICY_NO_PROCESS;
    }
    if (!put_setup(discovery, setup, diag)) {
        discovery_close(discovery);
        return false;
    }
    return true;
}

static void free_text(const char *text)
{
    char *own;

    memcpy(&own, &text, sizeof(own));
    mem_free(own);
}

void discovery_close(struct discovery *discovery)
{
    for (uint32_t i = 0; i < discovery->policy.n_scales; i++) {
        free_text(discovery->policy.scales[i].pattern);
    }
    discovery->policy.n_scales = 0;
    root_close(&discovery->root);
}

/* ---- the scan */

static void add_devices(const struct gpu *devices, uint32_t n, uint32_t ours, struct scan_result *scan_result)
{
    for (uint32_t i = 0; i < n && scan_result->n_devices < FINDER_DEVICES_MAX; i++) {
        struct device_facts *to = &scan_result->devices[scan_result->n_devices];

        if (devices[i].minor == GPU_NO_MINOR) {
            continue; /* no DRM node: nothing to look for */
        }
        to->minor = devices[i].minor;
        to->has_display = devices[i].has_display;
        to->is_ours = i == ours;
        snprintf(to->driver, sizeof(to->driver), "%s", devices[i].driver);
        scan_result->n_devices++;
    }
}

/*
 * Reports the sources in three passes: @each wanted source of each quantity, the other wanted ones, and those passed
 * over; so if there are too many, the least useful are left out.
 */
static void add_sources(const struct list *sources, uint32_t each, struct scan_result *scan_result)
{
    for (int pass = 0; pass < 3; pass++) {
        uint32_t n_of[READING_QUANTITY_COUNT] = { 0 };
        const struct list *link;

        list_for_each (link, sources) {
            struct source *source = container_of(link, struct source, link);
            const bool is_wanted = source_rank(source) != SOURCE_PASSED_OVER;

            n_of[source->quantity] += is_wanted;
            if (pass == (!is_wanted ? 2 : n_of[source->quantity] <= each ? 0 : 1)) {
                scan_result_add(scan_result, source);
            }
        }
    }
}

static uint32_t count_wanted(const struct list *sources)
{
    const struct list *link;
    uint32_t n = 0;

    list_for_each (link, sources) {
        n += source_rank(container_of(link, struct source, link)) != SOURCE_PASSED_OVER;
    }
    return n;
}

static int scan(void *owner, struct scan_result *scan_result)
{
    struct discovery *discovery = owner;
    struct gpu devices[GPUS_MAX];
    uint32_t n = gpu_list(&discovery->root, devices, GPUS_MAX);
    bool is_crowded;
    int r;

    find_node(discovery);
    r = inventory_scan(&discovery->root, &discovery->policy, &discovery->sources);
    add_devices(devices, n, inventory_ours(&discovery->policy, devices, n), scan_result);
    is_crowded = count_wanted(&discovery->sources) > FINDER_SOURCES_MAX;
    add_sources(&discovery->sources, is_crowded ? DISCOVERY_EACH : UINT32_MAX, scan_result);
    return r ? err_up(r) : 0;
}

static void clear(void *owner)
{
    struct discovery *discovery = owner;

    inventory_clear(&discovery->sources);
}

/* A recorded tree contains no process but its own. */
static void serve(void *owner, uint32_t pid)
{
    struct discovery *discovery = owner;

    if (discovery->root.is_machine) {
        discovery->policy.daemon_pid = pid;
    }
}

const struct finder_table discovery_table = { .scan = scan, .clear = clear, .serve = serve };
