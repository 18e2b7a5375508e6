#include "load/load_source.h"
#include "sysfs/label.h"

/* The governor's period while there is work. */
#define LOAD_PERIOD_MS 50u

struct source *load_source_create(size_t bytes, const struct source_table *table, enum reading_quantity quantity,
                                  uint32_t rank, const struct root *root, const struct gpu *device)
{
    struct source *source = source_create(bytes, table, quantity, root);

    if (source) {
        load_describe(source, rank, device);
    }
    return source;
}

void load_describe(struct source *source, uint32_t rank, const struct gpu *device)
{
    source->rank = rank;
    source->slow_ms = LOAD_PERIOD_MS;
    label_set(source->id, "%s %s", reading_quantity_name(source->quantity), device->path);
}
