#include "load/load_source.h"
#include "sysfs/label.h"

/* The governor's period while there is work. */
#define LOAD_PERIOD_MS 50u

void load_source_init(struct source *source, const struct source_table *table, enum reading_quantity quantity,
                      uint32_t rank, const struct gpu *device)
{
    source_init(source, table, quantity);
    load_describe(source, rank, device);
}

void load_describe(struct source *source, uint32_t rank, const struct gpu *device)
{
    source->rank = rank;
    source->slow_ms = LOAD_PERIOD_MS;
    label_format(source->id, sizeof(source->id), "%s %s", reading_quantity_name(source->quantity), device->path);
}
