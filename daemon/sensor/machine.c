#include "sensor/machine.h"
#include "base/err.h"
#include "base/mem.h"
#include "sense/inventory.h"
#include "sense/load.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Patterns that multiply may do so by a thousandth to a million: voltages in microvolts, whole degrees. */
#define SCALE_LEAST 0.001
#define SCALE_MOST  1e6

/* So many of each quantity are told before more of any: all of them together are less than may be told. */
#define MACHINE_EACH (FINDER_SOURCES_MAX / READING_QUANTITY_COUNT)

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

/* "renderD129", "card1". */
static bool is_node_name(const char *name)
{
    size_t n = strncmp(name, "renderD", 7) == 0 ? 7 : strncmp(name, "card", 4) == 0 ? 4 : 0;

    return n > 0 && name[n] && !name[n + strspn(name + n, "0123456789")];
}

static bool put_device(struct machine *machine, const char *device, struct diag *diag)
{
    if (device[0] != '/' && !is_node_name(device)) {
        diag_set(diag, "--device %.200s: must be a DRM node, as renderD128 or /dev/dri/renderD128", device);
        return false;
    }
    machine->device = device;
    return true;
}

/* A path may be a link that keeps its name when numbers change ("/dev/dri/by-path/..."), so it is followed anew with
 * each scan. One that leads nowhere names no device: then none is ours, and its load is not seen. */
static void find_node(struct machine *machine)
{
    char real[PATH_MAX];
    const char *name = machine->device;

    if (!name) {
        return;
    }
    if (name[0] == '/') {
        name = root_real_path(&machine->root, name, real, sizeof(real)) == 0 ? real : name;
        name = strrchr(name, '/') + 1;
    }
    snprintf(machine->node, sizeof(machine->node), "%s", name);
    machine->policy.node = machine->node;
}

static bool put_wishes(struct machine *machine, const struct machine_wishes *wishes, struct diag *diag)
{
    if (!put_zones(machine, wishes->zones, wishes->n_zones, diag)) {
        return false;
    }
    for (size_t i = 0; i < wishes->n_scales; i++) {
        if (!put_scale(machine, wishes->scales[i], diag)) {
            return false;
        }
    }
    return !wishes->device || put_device(machine, wishes->device, diag);
}

bool machine_open(struct machine *machine, const char *path, const struct machine_wishes *wishes, struct diag *diag)
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
    if (!put_wishes(machine, wishes, diag)) {
        machine_close(machine);
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

void machine_close(struct machine *machine)
{
    for (uint32_t i = 0; i < machine->policy.n_scales; i++) {
        free_text(machine->policy.scales[i].pattern);
    }
    machine->policy.n_scales = 0;
    root_close(&machine->root);
}

/* ---- the scan */

static void note_devices(const struct load_device *devices, uint32_t n, uint32_t ours, struct finding *finding)
{
    for (uint32_t i = 0; i < n && finding->n_devices < FINDER_DEVICES_MAX; i++) {
        struct found_device *to = &finding->devices[finding->n_devices];

        if (devices[i].minor == LOAD_NO_MINOR) {
            continue; /* no DRM node: nothing to look for anew */
        }
        to->minor = devices[i].minor;
        to->has_display = devices[i].has_display;
        to->is_ours = i == ours;
        snprintf(to->driver, sizeof(to->driver), "%s", devices[i].driver);
        finding->n_devices++;
    }
}

/* In three turns: of each quantity @each that are wanted, then the other ones that are wanted, then what was passed
 * over; so that what is left out when there is too much is what is worth least. */
static void note_sources(const struct list *sources, uint32_t each, struct finding *finding)
{
    for (int turn = 0; turn < 3; turn++) {
        uint32_t n_of[READING_QUANTITY_COUNT] = { 0 };
        const struct list *link;

        list_for_each (link, sources) {
            struct source *source = container_of(link, struct source, link);
            const bool is_wanted = source_rank(source) != SOURCE_PASSED_OVER;

            n_of[source->quantity] += is_wanted;
            if (turn == (!is_wanted ? 2 : n_of[source->quantity] <= each ? 0 : 1)) {
                finder_note(finding, source);
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

static int scan(void *owner, struct finding *finding)
{
    struct machine *machine = owner;
    struct load_device devices[LOAD_DEVICES_MAX];
    uint32_t n = load_devices(&machine->root, devices, LOAD_DEVICES_MAX);
    bool is_crowded;
    int r;

    find_node(machine);
    r = inventory_scan(&machine->root, &machine->policy, &machine->sources);
    note_devices(devices, n, inventory_ours(&machine->policy, devices, n), finding);
    is_crowded = count_wanted(&machine->sources) > FINDER_SOURCES_MAX;
    note_sources(&machine->sources, is_crowded ? MACHINE_EACH : UINT32_MAX, finding);
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
