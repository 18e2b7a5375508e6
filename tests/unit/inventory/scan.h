/*
 * Scan: the inventory of a tree, for tests of sources and their readings
 *
 * scan_tree() may be called repeatedly, as a daemon does; time advances by a second with each reading.
 */
#ifndef SOTTO_INVENTORY_SCAN_H
#define SOTTO_INVENTORY_SCAN_H

#include "base/clean.h"
#include "inventory/inventory.h"
#include "sysfs/tree.h"

static struct list scan_sources = LIST_INIT(scan_sources);
static struct sensor_policy scan_policy;
static uint64_t scan_now_us = 1000000;

static inline void scan_tree(void)
{
    if (!scan_policy.heat.patterns) {
        policy_init(&scan_policy);
    }
    ck_assert_int_eq(inventory_scan(&tree_root, &scan_policy, &scan_sources), 0);
}

static inline uint32_t scan_count(void)
{
    struct list *link;
    uint32_t n = 0;

    list_for_each (link, &scan_sources) {
        n++;
    }
    return n;
}

/* Returns the first source with this quantity and name, or NULL. */
static inline struct source *scan_look(enum reading_quantity quantity, const char *name)
{
    struct list *link;

    list_for_each (link, &scan_sources) {
        struct source *source = container_of(link, struct source, link);

        if (source->quantity == quantity && strcmp(source->name, name) == 0) {
            return source;
        }
    }
    return NULL;
}

static inline struct source *scan_find(enum reading_quantity quantity, const char *name)
{
    struct source *source = scan_look(quantity, name);

    ck_assert_msg(source, "no source \"%s\"", name);
    return source;
}

static inline struct reading scan_read(struct source *source)
{
    struct reading reading;

    scan_now_us += 1000000;
    source_read(source, scan_now_us, &reading);
    ck_assert_int_lt(reading.state, READING_STATE_COUNT);
    ck_assert((reading.state == READING_OK) == (reading.why[0] == '\0'));
    return reading;
}

/* Reads the source and checks state and value. */
static inline void scan_expect(struct source *source, enum reading_state state, int64_t value)
{
    const struct reading reading = scan_read(source);

    ck_assert_msg(reading.state == state, "%s: %s (%s), not %s", source->name, reading_state_name(reading.state),
                  reading.why, reading_state_name(state));
    ck_assert_int_eq(reading.value, value);
}

/* Ends a test with a tree. */
static inline void scan_remove(void)
{
    inventory_clear(&scan_sources);
    tree_remove();
}

static inline void scan_make(void)
{
    tree_make();
}

/* Adds a thermal zone with a temperature. */
static inline void scan_zone(int number, const char *type, const char *temp)
{
    char path[128];

    snprintf(path, sizeof(path), "/sys/class/thermal/thermal_zone%d/type", number);
    tree_write(path, type);
    snprintf(path, sizeof(path), "/sys/class/thermal/thermal_zone%d/temp", number);
    tree_write(path, temp);
}

static inline void scan_trip(int number, int trip, const char *type, const char *temp)
{
    char path[128];

    snprintf(path, sizeof(path), "/sys/class/thermal/thermal_zone%d/trip_point_%d_type", number, trip);
    tree_write(path, type);
    snprintf(path, sizeof(path), "/sys/class/thermal/thermal_zone%d/trip_point_%d_temp", number, trip);
    tree_write(path, temp);
}

#endif
