/*
 * Zones of powercap: each has an energy counter, which wraps, and the power derived from it
 *
 * The kernel lets only root read the counter (0400), so these readings are often FORBIDDEN.
 */
#include "base/clean.h"
#include "base/err.h"
#include "power/meter.h"
#include "power/power.h"
#include "sysfs/label.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POWERCAP_FOLDER "/sys/class/powercap"

#define ZONES_MAX  64u
#define NAME_BYTES 64u

struct cap_zone {
    char folder[NAME_BYTES]; /* "intel-rapl:0" */
    char name[NAME_BYTES];   /* "package-0" */
};

static int compare_zones(const void *a, const void *b)
{
    return strcmp(((const struct cap_zone *)a)->folder, ((const struct cap_zone *)b)->folder);
}

/* Lists the zones, sorted by folder. Zones have a colon in their name; a name without one is a control type. */
static uint32_t list_zones(const struct root *root, struct cap_zone *zones)
{
    cleanup(root_close_folderp) DIR *dir = NULL;
    uint32_t n = 0;

    if (root_open_folder(root, POWERCAP_FOLDER, &dir) != 0) {
        return 0;
    }
    for (struct dirent *entry; n < ZONES_MAX && (entry = readdir(dir));) {
        char path[256];

        if (!strchr(entry->d_name, ':') || strlen(entry->d_name) >= NAME_BYTES) {
            continue;
        }
        snprintf(zones[n].folder, NAME_BYTES, "%s", entry->d_name);
        snprintf(path, sizeof(path), POWERCAP_FOLDER "/%s/name", zones[n].folder);
        if (root_read_word(root, path, zones[n].name, NAME_BYTES) == 0) {
            n++;
        }
    }
    qsort(zones, n, sizeof(*zones), compare_zones);
    return n;
}

static uint32_t depth_of(const struct cap_zone *zone)
{
    uint32_t n = 0;

    for (const char *at = zone->folder; (at = strchr(at, ':')); at++) {
        n++;
    }
    return n;
}

/* Returns the zone before @at that counts the same, or NULL: processors expose their package in two ways. */
static const struct cap_zone *find_twin(const struct cap_zone *zones, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++) {
        if (strcmp(zones[i].name, zones[at].name) == 0 && depth_of(&zones[i]) == 1 && depth_of(&zones[at]) == 1) {
            return &zones[i];
        }
    }
    return NULL;
}

static void choose(const struct sensor_policy *policy, const struct cap_zone *zones, uint32_t at, struct source *source)
{
    const struct cap_zone *twin = find_twin(zones, at);
    const uint32_t rank = policy_rank(&policy->power, zones[at].name);

    source->rank = SOURCE_PASSED_OVER;
    if (twin) {
        label_set(source->why, "passed over: %s counts the same", twin->folder);
    } else if (rank == UINT32_MAX) {
        label_set(source->why, "passed over: no pattern names it");
    } else {
        source->rank = rank;
        label_set(source->why, "chosen by \"%s\"", policy->power.patterns[rank]);
    }
}

static int add(const struct root *root, const struct sensor_policy *policy, const struct cap_zone *zones, uint32_t at,
               enum meter_kind kind, const char *file, struct list *sources)
{
    struct meter_spec where = { .table = &meter_powercap, .kind = kind };
    struct source *source;
    char path[256];
    char id[192];
    int64_t range;

    snprintf(id, sizeof(id), "%s/%s:%d", zones[at].folder, zones[at].name, (int)kind);
    source = source_find(sources, meter_powercap.kind, id);
    if (!source) {
        snprintf(where.folder, sizeof(where.folder), POWERCAP_FOLDER "/%s", zones[at].folder);
        snprintf(where.files[0], sizeof(where.files[0]), "%s", file);
        snprintf(path, sizeof(path), "%s/max_energy_range_uj", where.folder);
        if (root_read_fixed(root, path, &range) == 0 && range > 0) {
            where.range_uj = (uint64_t)range;
        }
        source = meter_create(root, &where);
        if (!source) {
            return err_new(-ENOMEM);
        }
        label_set(source->id, "%s", id);
        label_set(source->name, "powercap %s", zones[at].name);
        label_set(source->path, "%s/%s", where.folder, file);
        list_append(sources, &source->link);
    }
    choose(policy, zones, at, source);
    return 0;
}

static bool has_file(const struct root *root, const struct cap_zone *zone, const char *file)
{
    char path[256];

    snprintf(path, sizeof(path), POWERCAP_FOLDER "/%.63s/%s", zone->folder, file);
    return root_has(root, path);
}

int powercap_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources)
{
    struct cap_zone zones[ZONES_MAX];
    const uint32_t n = list_zones(root, zones);
    int r = 0;

    for (uint32_t i = 0; i < n && !r; i++) {
        const bool has_energy = has_file(root, &zones[i], "energy_uj");

        if (has_energy) {
            r = add(root, policy, zones, i, METER_ENERGY, "energy_uj", sources);
        }
        if (!r && has_file(root, &zones[i], "power_uw")) {
            r = add(root, policy, zones, i, METER_POWER, "power_uw", sources);
        } else if (!r && has_energy) {
            r = add(root, policy, zones, i, METER_POWER_OF_ENERGY, "energy_uj", sources);
        }
    }
    return err_up(r);
}
