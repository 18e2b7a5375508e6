#include "govern/usage.h"
#include "base/mem.h"
#include <math.h>

#define MINUTE_US 60e6
#define UJ        1e6 /* in a joule */

void usage_table_init(struct usage_table *usage_table)
{
    map_init(&usage_table->by_uid, MEM_SCHED);
}

void usage_table_finish(struct usage_table *usage_table)
{
    struct map_entry *entry;
    size_t at = 0;

    while ((entry = map_next(&usage_table->by_uid, &at))) {
        mem_free(entry->value.pointer);
    }
    map_finish(&usage_table->by_uid);
}

struct usage *usage_table_get(struct usage_table *usage_table, uint32_t uid)
{
    union map_value *found = map_find(&usage_table->by_uid, uid);
    struct usage *usage;

    if (found) {
        return found->pointer;
    }
    if (usage_table->by_uid.n >= USAGE_MOST) {
        return NULL;
    }
    usage = mem_calloc(MEM_SCHED, 1, sizeof(*usage));
    if (!usage) {
        return NULL;
    }
    usage->uid = uid;
    if (map_put(&usage_table->by_uid, uid, (union map_value){ .pointer = usage })) {
        mem_free(usage);
        return NULL;
    }
    return usage;
}

const struct usage *usage_table_next(const struct usage_table *usage_table, size_t *at)
{
    struct map_entry *entry = map_next(&usage_table->by_uid, at);

    return entry ? entry->value.pointer : NULL;
}

static double left_uj(const struct usage *usage, uint32_t energy_a_minute, uint64_t boot_us)
{
    double past_us = boot_us > usage->spent_us ? (double)(boot_us - usage->spent_us) : 0.0;

    return fmax(0.0, usage->spent_uj - past_us * energy_a_minute * UJ / MINUTE_US);
}

void usage_charge(struct usage *usage, uint64_t uj, enum energy_source source, uint32_t energy_a_minute,
                  uint64_t boot_us)
{
    usage->source = energy_sum_source(usage->source, source);
    usage->energy_uj += uj;
    usage->spent_uj = left_uj(usage, energy_a_minute, boot_us) + (energy_a_minute ? (double)uj : 0.0);
    usage->spent_us = boot_us;
}

uint64_t usage_wait_us(const struct usage *usage, uint32_t energy_a_minute, uint64_t boot_us)
{
    double limit_uj = energy_a_minute * UJ;
    double over_uj = left_uj(usage, energy_a_minute, boot_us) - limit_uj;

    if (energy_a_minute == 0 || over_uj < 0.0) {
        return 0;
    }
    return (uint64_t)ceil((over_uj + 1.0) * MINUTE_US / limit_uj);
}
