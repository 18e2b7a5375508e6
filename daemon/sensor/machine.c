#include "sensor/machine.h"
#include "base/err.h"
#include "base/mem.h"
#include "sense/inventory.h"
#include <errno.h>
#include <math.h>
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
    list_init(&machine->loads);
    policy_init(&machine->policy);
    r = root_open(&machine->root, path);
    if (r) {
        diag_set(diag, "--root %s: %s", path, strerrordesc_np(-r));
        return false;
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

static void note_all(const struct list *sources, bool passed_over, struct finding *finding)
{
    struct list *link;

    list_for_each (link, sources) {
        struct source *source = container_of(link, struct source, link);

        if ((source->rank == SOURCE_PASSED_OVER) == passed_over) {
            finder_note(finding, source, false);
        }
    }
}

static int scan(void *owner, struct finding *finding)
{
    struct machine *machine = owner;
    int r = inventory_scan(&machine->root, &machine->policy, &machine->sources);

    /* What is not wanted comes last, so that it is what is left out when there is too much. */
    note_all(&machine->sources, false, finding);
    note_all(&machine->sources, true, finding);
    return r ? err_up(r) : 0;
}

static void clear(void *owner)
{
    struct machine *machine = owner;

    inventory_clear(&machine->sources);
    inventory_clear(&machine->loads);
}

const struct finder_table machine_table = { .scan = scan, .clear = clear };
