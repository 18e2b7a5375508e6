#include "power/meter.h"
#include "base/clean.h"
#include "sense/plausible.h"
#include <errno.h>
#include <stdio.h>

void energy_counter_init(struct energy_counter *counter, uint64_t range_uj)
{
    *counter = (struct energy_counter){ .range_uj = range_uj };
}

uint64_t energy_count(struct energy_counter *counter, uint64_t raw_uj)
{
    if (counter->has_raw && raw_uj >= counter->raw_uj) {
        counter->total_uj += raw_uj - counter->raw_uj;
    } else if (counter->has_raw && counter->range_uj >= counter->raw_uj) {
        counter->total_uj += counter->range_uj - counter->raw_uj + raw_uj;
    }
    /* Otherwise it is the first value, or a restart at an unknown time. */
    counter->raw_uj = raw_uj;
    counter->has_raw = true;
    return counter->total_uj;
}

uint64_t energy_integrate(struct energy_integral *integral, int64_t mw, uint64_t at_us)
{
    const int64_t used_mw = mw > 0 ? mw : 0;

    if (integral->has_last && at_us > integral->at_us && at_us - integral->at_us <= ENERGY_GAP_US) {
        integral->total_nj += (uint64_t)(used_mw + integral->mw) * (at_us - integral->at_us) / 2;
    }
    integral->mw = used_mw;
    integral->at_us = at_us;
    integral->has_last = true;
    return integral->total_nj / 1000;
}

/* Power from two energy counts needs some time between them: counters change once a millisecond at best. */
#define LEAST_US 10000u

/* Counts that are further apart may have wrapped more than once. */
#define MOST_US 60000000u

struct meter {
    struct source source;
    struct meter_spec where;    /* its number belongs to the reading thread */
    struct plausible plausible; /* for power */
    struct energy_counter counter;
    struct energy_integral integral;
    uint64_t counted_uj; /* total and time of the last count that yielded power */
    uint64_t counted_at_us;
};

static int read_file(struct meter *meter, int file, int64_t *ret_number)
{
    const struct root *root = meter->source.root;
    char path[256];

    if (meter->where.kobject.class) {
        return kobject_read_number(root, &meter->where.kobject, meter->where.files[file], ret_number);
    }
    snprintf(path, sizeof(path), "%s/%s", meter->where.folder, meter->where.files[file]);
    return root_read_number(root, path, ret_number);
}

static int read_power(struct meter *meter, int64_t *ret_mw)
{
    const bool is_pair = meter->where.kind == METER_POWER_OF_PAIR || meter->where.kind == METER_ENERGY_OF_PAIR;
    int64_t factor = 1;
    int64_t uw;
    int r = read_file(meter, 0, &uw);

    if (!r && is_pair) {
        r = read_file(meter, 1, &factor);
    }
    if (!r && __builtin_mul_overflow(uw, factor, &uw)) {
        r = -ERANGE;
    }
    if (!r) {
        *ret_mw = uw / 1000;
    }
    return r;
}

/* Reads a count; -EPROTO if it is negative. */
static int read_count(struct meter *meter, uint64_t *ret_uj)
{
    int64_t raw;
    int r = read_file(meter, 0, &raw);

    if (r) {
        return r;
    }
    if (raw < 0) {
        return -EPROTO;
    }
    *ret_uj = energy_count(&meter->counter, (uint64_t)raw);
    return 0;
}

/* Gives the mean power in mW since the last count, if that is neither too recent nor too old. */
static void give_rise(struct meter *meter, uint64_t now_us, struct reading *ret_reading)
{
    const bool is_first = !meter->counter.has_raw;
    uint64_t total_uj;
    uint64_t passed_us;
    int r = read_count(meter, &total_uj);

    if (r) {
        plausible_give(&meter->plausible, r, 0, now_us, ret_reading);
        return;
    }
    passed_us = is_first ? 0 : now_us - meter->counted_at_us;
    if (!is_first && passed_us < LEAST_US && meter->plausible.has_last) {
        *ret_reading = meter->plausible.last;
        return;
    }
    if (passed_us < LEAST_US || passed_us > MOST_US) {
        reading_not(ret_reading, READING_ABSENT, now_us, "no interval yet: this was the first count");
    } else {
        /* uJ per us is W. */
        plausible_give(&meter->plausible, 0,
                       (int64_t)((double)(total_uj - meter->counted_uj) * 1000.0 / (double)passed_us), now_us,
                       ret_reading);
    }
    if (is_first || passed_us >= LEAST_US) {
        meter->counted_uj = total_uj;
        meter->counted_at_us = now_us;
    }
}

/* Integrates plausible values only. */
static void give_sum(struct meter *meter, int r, int64_t mw, uint64_t now_us, struct reading *ret_reading)
{
    plausible_give(&meter->plausible, r, mw, now_us, ret_reading);
    if (ret_reading->state == READING_OK) {
        source_give(&meter->source, 0, (int64_t)energy_integrate(&meter->integral, mw, now_us), now_us, ret_reading);
        return;
    }
    ret_reading->value = meter->source.last.value;
    ret_reading->at_us = meter->source.last.at_us;
}

static void read_meter(struct source *source, uint64_t now_us, struct reading *ret_reading)
{
    struct meter *meter = container_of(source, struct meter, source);
    uint64_t total_uj = 0;
    int64_t mw = 0;
    int r;

    switch (meter->where.kind) {
    case METER_POWER:
    case METER_POWER_OF_PAIR:
        r = read_power(meter, &mw);
        plausible_give(&meter->plausible, r, mw, now_us, ret_reading);
        break;
    case METER_POWER_OF_ENERGY:
        give_rise(meter, now_us, ret_reading);
        break;
    case METER_ENERGY:
        r = read_count(meter, &total_uj);
        source_give(source, r, (int64_t)total_uj, now_us, ret_reading);
        break;
    case METER_ENERGY_OF_POWER:
    case METER_ENERGY_OF_PAIR:
        r = read_power(meter, &mw);
        give_sum(meter, r, mw, now_us, ret_reading);
        break;
    case METER_KIND_COUNT:
        break;
    }
}

const struct source_table meter_hwmon = { .kind = "hwmon", .read = read_meter };
const struct source_table meter_powercap = { .kind = "powercap", .read = read_meter };

struct source *meter_create(const struct root *root, const struct meter_spec *where)
{
    const enum reading_quantity quantity = where->kind >= METER_ENERGY ? READING_ENERGY : READING_POWER;
    struct source *source = source_create(sizeof(struct meter), where->table, quantity, root);
    struct meter *meter;

    if (source) {
        meter = container_of(source, struct meter, source);
        meter->where = *where;
        energy_counter_init(&meter->counter, where->range_uj);
        plausible_init_power(&meter->plausible);
    }
    return source;
}
