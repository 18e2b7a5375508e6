#include "sensor/machine.h"
#include "base/err.h"
#include "base/mem.h"
#include "sense/inventory.h"
#include "sense/load.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Patterns that multiply may do so by a thousandth to a million: voltages in microvolts, whole degrees. */
#define SCALE_LEAST 0.001
#define SCALE_MOST  1e6

/* ---- policy from the command line */

static bool put_zones(struct machine *machine, const char *const *zones, size_t n_zones, struct diag *diag)
{
    size_t room = COUNTOF(machine->heat) - 1;
    size_t n = 0;

    if (n_zones > MACHINE_ZONES_MAX) {
        diag_set(diag, "--zone: at most %u patterns are allowed", MACHINE_ZONES_MAX);
        return false;
    }
    for (size_t i = 0; i < n_zones; i++) {
        machine->heat[n++] = zones[i];
    }
    for (size_t i = 0; machine->policy.heat.patterns[i] && n < room; i++) {
        machine->heat[n++] = machine->policy.heat.patterns[i];
    }
    machine->heat[n] = NULL;
    machine->policy.heat.patterns = machine->heat;
    return true;
}

/* "batt*=1000". The pattern is what stands before the last sign, in a copy that lives as long as the process. */
static bool put_scale(struct machine *machine, const char *text, struct diag *diag)
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
    if (machine->policy.n_scales == POLICY_SCALES_MAX) {
        diag_set(diag, "--scale: at most %u are allowed", POLICY_SCALES_MAX);
        return false;
    }
    pattern = mem_strndup(MEM_MISC, text, (size_t)(equals - text));
    if (!pattern) {
        diag_set(diag, "no memory");
        return false;
    }
    machine->policy.scales[machine->policy.n_scales++] =
        (struct policy_scale){ .pattern = pattern, .permille = (int32_t)lround(factor * 1000) };
    return true;
}

bool machine_open(struct machine *machine, const char *path, const char *const *zones, size_t n_zones,
                  const char *const *scales, size_t n_scales, struct diag *diag)
{
    int r;

    memset(machine, 0, sizeof(*machine));
    list_init(&machine->sources);
    policy_init(&machine->policy);
    r = root_open(&machine->root, path);
    if (r) {
        diag_set(diag, "--root %s: %s", path, strerrordesc_np(-r));
        return false;
    }
    if (machine->root.is_machine) {
        /* Our own unit has a small limit, which is not the daemon's. */
        machine->policy.daemon_pid = POLICY_NO_PROCESS;
    }
    if (!put_zones(machine, zones, n_zones, diag)) {
        machine_close(machine);
        return false;
    }
    for (size_t i = 0; i < n_scales; i++) {
        if (!put_scale(machine, scales[i], diag)) {
            machine_close(machine);
            return false;
        }
    }
    return true;
}

static void free_text(const char *text)
{
    char *own;

    memcpy(&own, &text, sizeof(own));
    mem_free(own);
}

void machine_close(struct machine *machine)
{
    for (uint32_t i = 0; i < machine->policy.n_scales; i++) {
        free_text(machine->policy.scales[i].pattern);
    }
    machine->policy.n_scales = 0;
    root_close(&machine->root);
}

/* ---- the scan */

/* A device that draws: 3 drives the display as well, 2 can compute, 1 only shows what others have drawn. */
static int worth(const struct load_device *device)
{
    bool is_render = strncmp(device->node, "render", 6) == 0;

    return is_render && device->has_display ? 3 : is_render ? 2 : 1;
}

/* The device whose load counts: on many chips the one that draws and the one that shows are two. */
static const struct load_device *choose_device(const struct load_device *devices, uint32_t n)
{
    const struct load_device *best = NULL;

    for (uint32_t i = 0; i < n; i++) {
        if (!best || worth(&devices[i]) > worth(best)) {
            best = &devices[i];
        }
    }
    return best;
}

/* A source of a load ends its id with the path of its device. */
static bool is_of(const struct source *source, const struct load_device *device)
{
    size_t n = strlen(device->path);
    size_t n_id = strlen(source->id);

    return n_id > n && source->id[n_id - n - 1] == ' ' && strcmp(source->id + n_id - n, device->path) == 0;
}

/* Load and clock of a device that is not ours: read, and never in use. */
static bool is_aside(const struct source *source, const struct load_device *devices, uint32_t n)
{
    const struct load_device *ours = choose_device(devices, n);

    for (uint32_t i = 0; i < n; i++) {
        if (&devices[i] != ours && is_of(source, &devices[i])) {
            return true;
        }
    }
    return false;
}

static void note_devices(const struct load_device *devices, uint32_t n, struct finding *finding)
{
    for (uint32_t i = 0; i < n && finding->n_devices < FINDER_DEVICES_MAX; i++) {
        struct found_device *to = &finding->devices[finding->n_devices];

        if (devices[i].minor == LOAD_NO_MINOR) {
            continue; /* no DRM node: nothing to look for anew */
        }
        to->minor = devices[i].minor;
        to->has_display = devices[i].has_display;
        snprintf(to->driver, sizeof(to->driver), "%s", devices[i].driver);
        finding->n_devices++;
    }
}

static int scan(void *owner, struct finding *finding)
{
    struct machine *machine = owner;
    struct load_device devices[LOAD_DEVICES_MAX];
    uint32_t n = load_devices(&machine->root, devices, LOAD_DEVICES_MAX);
    int r = inventory_scan(&machine->root, &machine->policy, &machine->sources);

    note_devices(devices, n, finding);
    /* What is not wanted comes last, so that it is what is left out when there is too much. */
    for (int turn = 0; turn < 2; turn++) {
        struct list *link;

        list_for_each (link, &machine->sources) {
            struct source *source = container_of(link, struct source, link);

            if ((source->rank == SOURCE_PASSED_OVER) == (turn == 1)) {
                finder_note(finding, source, is_aside(source, devices, n));
            }
        }
    }
    return r ? err_up(r) : 0;
}

static void clear(void *owner)
{
    struct machine *machine = owner;

    inventory_clear(&machine->sources);
}

/* A tree of files has no process of ours but its own. */
static void serve(void *owner, uint32_t pid)
{
    struct machine *machine = owner;

    if (machine->root.is_machine) {
        machine->policy.daemon_pid = pid;
    }
}

const struct finder_table machine_table = { .scan = scan, .clear = clear, .serve = serve };
