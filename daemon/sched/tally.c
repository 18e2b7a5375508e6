#include "sched/tally.h"
#include "base/mem.h"
#include <math.h>

#define MINUTE_US 60e6
#define UJ        1e6 /* in a joule */

void tallies_init(struct tallies *tallies)
{
    map_init(&tallies->by_uid, MEM_SCHED);
}

void tallies_finish(struct tallies *tallies)
{
    struct map_entry *entry;
    size_t at = 0;

    while ((entry = map_next(&tallies->by_uid, &at))) {
        mem_free(entry->value.pointer);
    }
    map_finish(&tallies->by_uid);
}

struct tally *tallies_get(struct tallies *tallies, uint32_t uid)
{
    union map_value *found = map_find(&tallies->by_uid, uid);
    struct tally *tally;

    if (found) {
        return found->pointer;
    }
    if (tallies->by_uid.n >= TALLY_MOST) {
        return NULL;
    }
    tally = mem_calloc(MEM_SCHED, 1, sizeof(*tally));
    if (!tally) {
        return NULL;
    }
    tally->uid = uid;
    if (map_put(&tallies->by_uid, uid, (union map_value){ .pointer = tally })) {
        mem_free(tally);
        return NULL;
    }
    return tally;
}

const struct tally *tallies_next(const struct tallies *tallies, size_t *at)
{
    struct map_entry *entry = map_next(&tallies->by_uid, at);

    return entry ? entry->value.pointer : NULL;
}

static double left_uj(const struct tally *tally, uint32_t energy_a_minute, uint64_t boot_us)
{
    double past_us = boot_us > tally->spent_us ? (double)(boot_us - tally->spent_us) : 0.0;

    return fmax(0.0, tally->spent_uj - past_us * energy_a_minute * UJ / MINUTE_US);
}

void tally_charge(struct tally *tally, uint64_t uj, enum energy_source source, uint32_t energy_a_minute,
                  uint64_t boot_us)
{
    tally->source = energy_sum_source(tally->source, source);
    tally->energy_uj += uj;
    tally->spent_uj = left_uj(tally, energy_a_minute, boot_us) + (energy_a_minute ? (double)uj : 0.0);
    tally->spent_us = boot_us;
}

uint64_t tally_wait_us(const struct tally *tally, uint32_t energy_a_minute, uint64_t boot_us)
{
    double limit_uj = energy_a_minute * UJ;
    double over_uj = left_uj(tally, energy_a_minute, boot_us) - limit_uj;

    if (energy_a_minute == 0 || over_uj < 0.0) {
        return 0;
    }
    return (uint64_t)ceil((over_uj + 1.0) * MINUTE_US / limit_uj);
}
