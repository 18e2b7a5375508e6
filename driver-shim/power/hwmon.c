/*
 * Chips of hwmon: temperatures, power and energy of those that the policy names
 *
 * A chip that only mirrors a thermal zone is passed over, so that nothing is counted twice.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "power/meter.h"
#include "power/power.h"
#include "sense/plausible.h"
#include "sysfs/kobject.h"
#include "sysfs/label.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Highest channel numbers that are tried; the numbers have gaps. */
#define TEMPS_MAX  32u
#define METERS_MAX 16u

/* Summed power ranks after true counters. */
#define RANK_SUM 1000u

/* A chip during a scan. */
struct chip {
    const struct root *root;
    const struct sensor_policy *policy;
    struct list *sources;
    const struct kobject *kobject;
    const char *zone; /* type of the thermal zone that it mirrors, or NULL */
    char id[160];
};

struct hwmon_temp {
    struct source source;
    struct kobject kobject; /* the reading thread's */
    char file[24];
    struct plausible plausible;
};

static void read_temp(struct source *source, uint64_t now_us, struct reading *ret_reading)
{
    struct hwmon_temp *temp = container_of(source, struct hwmon_temp, source);
    int64_t value = 0;
    int r = kobject_read_number(source->root, &temp->kobject, temp->file, &value);

    plausible_give(&temp->plausible, r, value, now_us, ret_reading);
}

/* Temperatures and meters of hwmon share one kind, and so one namespace of ids. */
static const struct source_table temp_table = { .kind = "hwmon", .read = read_temp };

static bool has_file(const struct chip *chip, const char *file)
{
    char path[256];

    kobject_path(chip->kobject, file, path, sizeof(path));
    return root_has(chip->root, path);
}

/* Makes "chip/label", or "chip/temp1" where there is no label. */
static void read_label(const struct chip *chip, const char *channel, char *word, size_t cap)
{
    char file[48];
    char path[256];
    char label[64];

    snprintf(file, sizeof(file), "%s_label", channel);
    kobject_path(chip->kobject, file, path, sizeof(path));
    if (root_read_word(chip->root, path, label, sizeof(label)) != 0 || !label[0]) {
        snprintf(label, sizeof(label), "%s", channel);
    }
    label_format(word, cap, "%s/%s", chip->kobject->name, label);
}

/* Returns the rank of "chip/label" or "chip", whichever is better. */
static uint32_t rank_of(const struct chip *chip, const struct policy_list *list, const char *word)
{
    const uint32_t whole = policy_rank(list, word);
    const uint32_t name = policy_rank(list, chip->kobject->name);

    return whole < name ? whole : name;
}

static void choose_temp(const struct chip *chip, const char *word, struct source *source)
{
    const uint32_t refused = policy_rank(&chip->policy->no_heat, word);
    const uint32_t rank = rank_of(chip, &chip->policy->heat, word);

    source->rank = SOURCE_PASSED_OVER;
    if (chip->zone) {
        label_set(source->why, "passed over: the same as zone %s", chip->zone);
    } else if (refused != UINT32_MAX) {
        label_set(source->why, "passed over: excluded by \"%s\"", chip->policy->no_heat.patterns[refused]);
    } else if (rank == UINT32_MAX) {
        label_set(source->why, "passed over: no pattern names it");
    } else {
        source->rank = rank;
        label_set(source->why, "chosen by \"%s\"", chip->policy->heat.patterns[rank]);
    }
}

/* Returns the chip's critical temperature; INT32_MAX: it has none. */
static int32_t read_critical(const struct chip *chip, const char *channel)
{
    char file[32];
    char path[256];
    int64_t mc;

    snprintf(file, sizeof(file), "%s_crit", channel);
    kobject_path(chip->kobject, file, path, sizeof(path));
    if (root_read_fixed(chip->root, path, &mc) != 0 || mc < 1000 || mc > chip->policy->high_mc) {
        return INT32_MAX;
    }
    return (int32_t)mc;
}

static struct source *make_temp(const struct chip *chip, const char *word, const char *file, const char *id)
{
    struct source *source = source_create(sizeof(struct hwmon_temp), &temp_table, READING_TEMPERATURE, chip->root);
    struct hwmon_temp *temp;

    if (!source) {
        return NULL;
    }
    temp = container_of(source, struct hwmon_temp, source);
    temp->kobject = *chip->kobject;
    snprintf(temp->file, sizeof(temp->file), "%s", file);
    plausible_init_temperature(&temp->plausible, chip->policy->low_mc, chip->policy->high_mc,
                               policy_scale_permille(chip->policy, word));
    label_set(source->id, "%s", id);
    label_set(source->name, "hwmon %s", word);
    source->may_block = true; /* the sensor's bus may be slow or stuck */
    return source;
}

static int scan_temps(const struct chip *chip)
{
    for (uint32_t i = 1; i <= TEMPS_MAX; i++) {
        struct source *source;
        char channel[16];
        char file[24];
        char word[128];
        char id[192];

        snprintf(channel, sizeof(channel), "temp%u", i);
        snprintf(file, sizeof(file), "%s_input", channel);
        if (!has_file(chip, file)) {
            continue;
        }
        read_label(chip, channel, word, sizeof(word));
        snprintf(id, sizeof(id), "%s/%s", chip->id, file);
        source = source_find(chip->sources, temp_table.kind, id);
        if (!source) {
            source = make_temp(chip, word, file, id);
            if (!source) {
                return err_new(-ENOMEM);
            }
            list_append(chip->sources, &source->link);
        }
        choose_temp(chip, word, source);
        source->critical_mc = read_critical(chip, channel);
        kobject_path(chip->kobject, file, source->path, sizeof(source->path));
    }
    return 0;
}

/* Adds the meter of @kind over the files @first and @second (may be ""), unless it is known. @word: "chip/label". */
static int add_meter(const struct chip *chip, enum meter_kind kind, const char *word, const char *first,
                     const char *second)
{
    struct meter_spec where = { .table = &meter_hwmon, .kind = kind, .kobject = *chip->kobject };
    const uint32_t rank = rank_of(chip, &chip->policy->power, word);
    const bool is_sum = kind == METER_ENERGY_OF_POWER || kind == METER_ENERGY_OF_PAIR;
    struct source *source;
    char id[192];

    snprintf(where.files[0], sizeof(where.files[0]), "%s", first);
    snprintf(where.files[1], sizeof(where.files[1]), "%s", second);
    snprintf(id, sizeof(id), "%s/%s:%d", chip->id, first, (int)kind);
    source = source_find(chip->sources, meter_hwmon.kind, id);
    if (!source) {
        source = meter_create(chip->root, &where);
        if (!source) {
            return err_new(-ENOMEM);
        }
        source->may_block = true;
        label_set(source->id, "%s", id);
        label_set(source->name, "hwmon %s", word);
        list_append(chip->sources, &source->link);
    }
    kobject_path(chip->kobject, first, source->path, sizeof(source->path));
    if (rank == UINT32_MAX) {
        source->rank = SOURCE_PASSED_OVER;
        label_set(source->why, "passed over: no pattern names it");
    } else {
        source->rank = rank + (is_sum ? RANK_SUM : 0);
        label_set(source->why, "chosen by \"%s\"%s", chip->policy->power.patterns[rank],
                  is_sum ? "; power integrated over time" : "");
    }
    return 0;
}

/* Adds the energy counters, and power derived from them where there is no power file. */
static int scan_energy(const struct chip *chip, bool has_power, bool *ret_has)
{
    int r = 0;

    *ret_has = false;
    for (uint32_t i = 1; i <= METERS_MAX && !r; i++) {
        char channel[16];
        char file[32];
        char word[128];

        snprintf(channel, sizeof(channel), "energy%u", i);
        snprintf(file, sizeof(file), "%s_input", channel);
        if (!has_file(chip, file)) {
            continue;
        }
        *ret_has = true;
        read_label(chip, channel, word, sizeof(word));
        r = add_meter(chip, METER_ENERGY, word, file, "");
        if (!r && !has_power) {
            r = add_meter(chip, METER_POWER_OF_ENERGY, word, file, "");
        }
    }
    return r;
}

/* Finds the power file of channel @i: current before average. False: there is none. */
static bool find_power_file(const struct chip *chip, uint32_t i, char *file, size_t cap)
{
    snprintf(file, cap, "power%u_input", i);
    if (has_file(chip, file)) {
        return true;
    }
    snprintf(file, cap, "power%u_average", i);
    return has_file(chip, file);
}

static int scan_power(const struct chip *chip, bool wants_sums)
{
    int r = 0;

    for (uint32_t i = 1; i <= METERS_MAX && !r; i++) {
        char channel[16];
        char file[32];
        char word[128];

        if (!find_power_file(chip, i, file, sizeof(file))) {
            continue;
        }
        snprintf(channel, sizeof(channel), "power%u", i);
        read_label(chip, channel, word, sizeof(word));
        r = add_meter(chip, METER_POWER, word, file, "");
        if (!r && wants_sums) {
            r = add_meter(chip, METER_ENERGY_OF_POWER, word, file, "");
        }
    }
    return r;
}

/* Adds volts times amperes of each channel, for a shunt monitor without power files. */
static int scan_pairs(const struct chip *chip, bool wants_sums)
{
    int r = 0;

    for (uint32_t i = 1; i <= METERS_MAX && !r; i++) {
        char channel[16];
        char volts[32];
        char amperes[32];
        char word[128];

        snprintf(channel, sizeof(channel), "in%u", i);
        snprintf(volts, sizeof(volts), "in%u_input", i);
        snprintf(amperes, sizeof(amperes), "curr%u_input", i);
        if (!has_file(chip, volts) || !has_file(chip, amperes)) {
            continue;
        }
        read_label(chip, channel, word, sizeof(word));
        if (rank_of(chip, &chip->policy->power, word) == UINT32_MAX) {
            continue; /* every battery and power supply has volts and amperes */
        }
        r = add_meter(chip, METER_POWER_OF_PAIR, word, volts, amperes);
        if (!r && wants_sums) {
            r = add_meter(chip, METER_ENERGY_OF_PAIR, word, volts, amperes);
        }
    }
    return r;
}

static bool has_power(const struct chip *chip)
{
    char file[32];

    for (uint32_t i = 1; i <= METERS_MAX; i++) {
        if (find_power_file(chip, i, file, sizeof(file))) {
            return true;
        }
    }
    return false;
}

static int scan_meters(const struct chip *chip)
{
    const bool has_files = has_power(chip);
    bool has_energy;
    int r = scan_energy(chip, has_files, &has_energy);

    if (r) {
        return err_up(r);
    }
    if (has_files) {
        return err_up(scan_power(chip, !has_energy));
    }
    return has_energy ? 0 : err_up(scan_pairs(chip, true));
}

/*
 * Returns the type of the zone that @chip mirrors: its device is the zone, or its name is the zone's with '_' for '-'.
 * NULL: none.
 */
static const char *find_zone(const struct kobject *chip, const struct kobject *zones, uint32_t n_zones)
{
    const bool is_zones = strstr(chip->device, "/thermal_zone") != NULL;

    for (uint32_t i = 0; i < n_zones; i++) {
        char name[sizeof(zones[i].name)];

        snprintf(name, sizeof(name), "%s", zones[i].name);
        for (char *dash = name; (dash = strchr(dash, '-'));) {
            *dash = '_';
        }
        if (strcmp(name, chip->name) == 0) {
            return zones[i].name;
        }
    }
    return is_zones ? chip->name : NULL;
}

int hwmon_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources)
{
    cleanup(mem_freep) struct kobject *zones = NULL;
    cleanup(mem_freep) struct kobject *chips = NULL;
    uint32_t n_zones;
    uint32_t n_chips;
    int r = kobject_list(root, &kobject_zones, &zones, &n_zones);

    if (!r) {
        r = kobject_list(root, &kobject_chips, &chips, &n_chips);
    }
    if (r) {
        return err_up(r);
    }
    for (uint32_t i = 0; i < n_chips && !r; i++) {
        struct chip chip = { .root = root, .policy = policy, .sources = sources, .kobject = &chips[i] };

        chip.zone = find_zone(&chips[i], zones, n_zones);
        kobject_id(&chips[i], chip.id, sizeof(chip.id));
        r = scan_temps(&chip);
        if (!r) {
            r = scan_meters(&chip);
        }
    }
    return err_up(r);
}
