#include "power/meter.h"
#include "base/clean.h"
#include "base/mem.h"
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
    const struct root *root;
    struct meter_spec where;    /* its number belongs to the reading thread */
    struct plausible plausible; /* for power */
    struct reading last;        /* the last good energy */
    struct energy_counter counter;
    struct energy_integral integral;
    uint64_t counted_uj; /* total and time of the last count that yielded power */
    uint64_t counted_at_us;
};

static int read_file(struct meter *meter, int file, int64_t *ret_number)
{
    char path[256];

    if (!meter->where.kobject.class) {
        snprintf(path, sizeof(path), "%s/%s", meter->where.folder, meter->where.files[file]);
        return root_read_number(meter->root, path, ret_number);
    }
    if (!kobject_find(meter->root, &meter->where.kobject)) {
        return -ENOENT;
    }
    kobject_path(&meter->where.kobject, meter->where.files[file], path, sizeof(path));
    return root_read_number(meter->root, path, ret_number);
}

static int read_power_file(struct meter *meter, int64_t *ret_mw)
{
    int64_t uw;
    int r = read_file(meter, 0, &uw);

    if (!r) {
        *ret_mw = uw / 1000;
    }
    return r;
}

static int read_pair(struct meter *meter, int64_t *ret_mw)
{
    int64_t mv;
    int64_t ma;
    int64_t uw;
    int r = read_file(meter, 0, &mv);

    if (!r) {
        r = read_file(meter, 1, &ma);
    }
    if (r) {
        return r;
    }
    if (__builtin_mul_overflow(mv, ma, &uw)) {
        return -ERANGE;
    }
    *ret_mw = uw / 1000;
    return 0;
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

static void give_power(struct meter *meter, int r, int64_t mw, uint64_t now_us, struct reading *ret_reading)
{
    if (r) {
        plausible_fail(&meter->plausible, r, ret_reading);
    } else {
        plausible_take(&meter->plausible, mw, now_us, ret_reading);
    }
}

/* Gives the mean power in mW since the last count, if that is neither too recent nor too old. */
static void give_rise(struct meter *meter, uint64_t now_us, struct reading *ret_reading)
{
    const bool is_first = !meter->counter.has_raw;
    uint64_t total_uj;
    uint64_t passed_us;
    int r = read_count(meter, &total_uj);

    if (r) {
        give_power(meter, r, 0, now_us, ret_reading);
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
        give_power(meter, 0, (int64_t)((double)(total_uj - meter->counted_uj) * 1000.0 / (double)passed_us), now_us,
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
    give_power(meter, r, mw, now_us, ret_reading);
    if (ret_reading->state == READING_OK) {
        reading_set(&meter->last, (int64_t)energy_integrate(&meter->integral, mw, now_us), now_us);
        *ret_reading = meter->last;
        return;
    }
    ret_reading->value = meter->last.value;
    ret_reading->at_us = meter->last.at_us;
}

static void give_count(struct meter *meter, uint64_t now_us, struct reading *ret_reading)
{
    uint64_t total_uj;
    int r = read_count(meter, &total_uj);

    if (r) {
        reading_fail(ret_reading, r, meter->last.at_us ? &meter->last : NULL);
        return;
    }
    reading_set(&meter->last, (int64_t)total_uj, now_us);
    *ret_reading = meter->last;
}

static void read_meter(struct source *source, uint64_t now_us, struct reading *ret_reading)
{
    struct meter *meter = container_of(source, struct meter, source);
    int64_t mw = 0;
    int r;

    switch (meter->where.kind) {
    case METER_POWER:
        r = read_power_file(meter, &mw);
        give_power(meter, r, mw, now_us, ret_reading);
        break;
    case METER_POWER_OF_PAIR:
        r = read_pair(meter, &mw);
        give_power(meter, r, mw, now_us, ret_reading);
        break;
    case METER_POWER_OF_ENERGY:
        give_rise(meter, now_us, ret_reading);
        break;
    case METER_ENERGY:
        give_count(meter, now_us, ret_reading);
        break;
    case METER_ENERGY_OF_POWER:
        r = read_power_file(meter, &mw);
        give_sum(meter, r, mw, now_us, ret_reading);
        break;
    case METER_ENERGY_OF_PAIR:
        r = read_pair(meter, &mw);
        give_sum(meter, r, mw, now_us, ret_reading);
        break;
    case METER_KIND_COUNT:
        break;
    }
}

static void destroy_meter(struct source *source)
{
    mem_free(container_of(source, struct meter, source));
}

const struct source_table meter_hwmon = { .kind = "hwmon", .read = read_meter, .destroy = destroy_meter };
const struct source_table meter_powercap = { .kind = "powercap", .read = read_meter, .destroy = destroy_meter };

static enum reading_quantity quantity_of(enum meter_kind kind)
{
    return kind >= METER_ENERGY ? READING_ENERGY : READING_POWER;
}

struct source *meter_create(const struct root *root, const struct meter_spec *where)
{
    struct meter *meter = mem_calloc(MEM_MISC, 1, sizeof(*meter));

    if (!meter) {
        return NULL;
    }
    source_init(&meter->source, where->table, quantity_of(where->kind));
    meter->root = root;
    meter->where = *where;
    energy_counter_init(&meter->counter, where->range_uj);
    plausible_init_power(&meter->plausible);
    return &meter->source;
}
