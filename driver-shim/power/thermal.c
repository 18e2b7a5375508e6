/*
 * A source is bound to the type and device of its zone and finds it again under another number. Each zone fails alone.
 * The policy chooses zones; one with a limit of its own is watched even if no pattern names it, since the kernel will
 * act on it.
 */
#include "power/thermal.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "power/power.h"
#include "sense/plausible.h"
#include "sysfs/kobject.h"
#include "sysfs/label.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Ranks after all patterns. */
#define RANK_DISABLED 500u  /* added: the kernel doesn't guard this zone */
#define RANK_UNNAMED  1000u /* no pattern, but limits */

/* Range of limits of silicon. An unused trip is -274000, some are 0, some 2147483647. */
#define LIMIT_LOW_MC  1000
#define LIMIT_HIGH_MC 200000

struct zone {
    struct source source;
    struct kobject kobject; /* the reading thread's */
    struct plausible plausible;
};

enum thermal_trip_kind thermal_trip_kind_of(const char *word)
{
    static const char *const words[] = {
        [THERMAL_TRIP_ACTIVE] = "active",
        [THERMAL_TRIP_PASSIVE] = "passive",
        [THERMAL_TRIP_HOT] = "hot",
        [THERMAL_TRIP_CRITICAL] = "critical",
    };

    for (size_t i = 0; i < COUNTOF(words); i++) {
        const size_t n = strlen(words[i]);

        if (strncmp(word, words[i], n) == 0 && (!word[n] || i == THERMAL_TRIP_ACTIVE)) {
            return (enum thermal_trip_kind)i;
        }
    }
    return THERMAL_TRIP_UNKNOWN;
}

static bool is_limit(int64_t mc)
{
    return mc >= LIMIT_LOW_MC && mc <= LIMIT_HIGH_MC;
}

/* Where a kernel reports another unit, its trips may have that unit or the right one. */
static void take_trip_temp(struct thermal_trip *trip, int64_t raw, int32_t scale_permille)
{
    int64_t scaled;

    if (!is_limit(raw) && !__builtin_mul_overflow(raw, (int64_t)scale_permille, &scaled) && is_limit(scaled / 1000)) {
        raw = scaled / 1000;
    }
    trip->is_limit = is_limit(raw);
    trip->temp_mc = raw < INT32_MIN ? INT32_MIN : raw > INT32_MAX ? INT32_MAX : (int32_t)raw;
}

uint32_t thermal_read_trips(const struct root *root, uint32_t zone, int32_t scale_permille, struct thermal_trip *trips,
                            uint32_t cap)
{
    const struct kobject kobject = { .class = &kobject_zones, .number = zone };
    uint32_t n = 0;

    for (uint32_t i = 0; i < THERMAL_TRIPS_MAX && n < cap; i++) {
        struct thermal_trip trip = { .kind = THERMAL_TRIP_UNKNOWN };
        char file[40];
        char path[256];
        char word[32];
        int64_t raw;
        int r;

        snprintf(file, sizeof(file), "trip_point_%u_type", i);
        kobject_path(&kobject, file, path, sizeof(path));
        r = root_read_word(root, path, word, sizeof(word));
        if (r == -ENOENT) {
            break;
        }
        if (!r) {
            trip.kind = thermal_trip_kind_of(word);
        }
        snprintf(file, sizeof(file), "trip_point_%u_temp", i);
        kobject_path(&kobject, file, path, sizeof(path));
        if (root_read_fixed(root, path, &raw) == 0) {
            take_trip_temp(&trip, raw, scale_permille);
        }
        snprintf(file, sizeof(file), "trip_point_%u_hyst", i);
        kobject_path(&kobject, file, path, sizeof(path));
        if (root_read_fixed(root, path, &raw) == 0 && raw >= 0 && raw <= LIMIT_HIGH_MC) {
            trip.hyst_mc = (int32_t)raw;
        }
        trips[n++] = trip;
    }
    return n;
}

/* Stores the lowest passive, and the lowest hot or critical trip. */
static void take_limits(struct source *source, const struct thermal_trip *trips, uint32_t n)
{
    source->passive_mc = INT32_MAX;
    source->critical_mc = INT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        int32_t *slot = NULL;

        switch (trips[i].kind) {
        case THERMAL_TRIP_PASSIVE:
            slot = &source->passive_mc;
            break;
        case THERMAL_TRIP_HOT:
        case THERMAL_TRIP_CRITICAL:
            slot = &source->critical_mc;
            break;
        case THERMAL_TRIP_ACTIVE:
        case THERMAL_TRIP_UNKNOWN:
        case THERMAL_TRIP_KIND_COUNT:
            break;
        }
        if (slot && trips[i].is_limit && trips[i].temp_mc < *slot) {
            *slot = trips[i].temp_mc;
        }
    }
}

static bool is_disabled(const struct root *root, const struct kobject *kobject)
{
    char path[256];
    char word[32];

    kobject_path(kobject, "mode", path, sizeof(path));
    return root_read_word(root, path, word, sizeof(word)) == 0 && strcmp(word, "disabled") == 0;
}

/* Sets rank and why from the type, the limits and the mode. */
static void choose(const struct root *root, const struct sensor_policy *policy, const struct kobject *kobject,
                   struct source *source)
{
    const uint32_t refused = policy_rank(&policy->no_heat, kobject->name);
    const uint32_t rank = policy_rank(&policy->heat, kobject->name);
    const bool has_limit = source->passive_mc != INT32_MAX || source->critical_mc != INT32_MAX;

    if (refused != UINT32_MAX) {
        source->rank = SOURCE_PASSED_OVER;
        label_set(source->why, "passed over: excluded by \"%s\"", policy->no_heat.patterns[refused]);
    } else if (rank != UINT32_MAX) {
        source->rank = rank;
        label_set(source->why, "chosen by \"%s\"", policy->heat.patterns[rank]);
    } else if (has_limit) {
        source->rank = RANK_UNNAMED;
        label_set(source->why, "watched: the kernel acts on its trips");
    } else {
        source->rank = SOURCE_PASSED_OVER;
        label_set(source->why, "passed over: no pattern names it, and it has no trips");
    }
    if (source->rank != SOURCE_PASSED_OVER && is_disabled(root, kobject)) {
        const size_t n = strlen(source->why);

        source->rank += RANK_DISABLED;
        label_format(source->why + n, sizeof(source->why) - n, "; disabled: the kernel doesn't guard it");
    }
}

/* Updates what may change between two scans. */
static void refresh(const struct root *root, const struct sensor_policy *policy, const struct kobject *kobject,
                    struct source *source)
{
    struct thermal_trip trips[THERMAL_TRIPS_MAX];
    const uint32_t n =
        thermal_read_trips(root, kobject->number, policy_scale_permille(policy, kobject->name), trips, COUNTOF(trips));

    take_limits(source, trips, n);
    choose(root, policy, kobject, source);
    kobject_path(kobject, "temp", source->path, sizeof(source->path));
}

static void read_zone(struct source *source, uint64_t now_us, struct reading *ret_reading)
{
    struct zone *zone = container_of(source, struct zone, source);
    int64_t value = 0;
    int r = kobject_read_number(source->root, &zone->kobject, "temp", &value);

    plausible_give(&zone->plausible, r, value, now_us, ret_reading);
}

static const struct source_table zone_table = { .kind = "thermal", .read = read_zone };

static struct source *make_zone(const struct root *root, const struct sensor_policy *policy,
                                const struct kobject *kobject, const char *id)
{
    struct source *source = source_create(sizeof(struct zone), &zone_table, READING_TEMPERATURE, root);
    struct zone *zone;

    if (!source) {
        return NULL;
    }
    zone = container_of(source, struct zone, source);
    zone->kobject = *kobject;
    plausible_init_temperature(&zone->plausible, policy->low_mc, policy->high_mc,
                               policy_scale_permille(policy, kobject->name));
    source->may_block = true; /* the sensor's bus may be slow, or the driver waits for a conversion */
    label_set(source->id, "%s", id);
    if (kobject->twin) {
        label_set(source->name, "zone %s (%u)", kobject->name, kobject->twin + 1);
    } else {
        label_set(source->name, "zone %s", kobject->name);
    }
    return source;
}

int thermal_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources)
{
    cleanup(mem_freep) struct kobject *kobjects = NULL;
    uint32_t n;
    int r = kobject_list(root, &kobject_zones, &kobjects, &n);

    if (r) {
        return err_up(r);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct source *source;
        char id[192];

        kobject_id(&kobjects[i], id, sizeof(id));
        source = source_find(sources, zone_table.kind, id);
        if (!source) {
            source = make_zone(root, policy, &kobjects[i], id);
            if (!source) {
                return err_new(-ENOMEM);
            }
            list_append(sources, &source->link);
        }
        refresh(root, policy, &kobjects[i], source);
    }
    return 0;
}
