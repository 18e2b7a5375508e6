/*
 * Reported: a machine state, and the messages of a fake sotto-sense that filled it
 */
#ifndef SOTTO_MACHINE_REPORTED_H
#define SOTTO_MACHINE_REPORTED_H

#include "machine/machine_input.h"

#define REPORTED_BUILD "1"

/* Short names, for tables. */
enum reported_quantity {
    LOAD = SOTTO__SENSE__QUANTITY__QUANTITY_GRAPHICS_LOAD,
    HEAT = SOTTO__SENSE__QUANTITY__QUANTITY_TEMPERATURE,
    POWER = SOTTO__SENSE__QUANTITY__QUANTITY_POWER,
    CLOCK = SOTTO__SENSE__QUANTITY__QUANTITY_CLOCK,
    THROTTLE = SOTTO__SENSE__QUANTITY__QUANTITY_THROTTLE,
    PRESSURE = SOTTO__SENSE__QUANTITY__QUANTITY_MEMORY_PRESSURE,
};

struct reported_source {
    uint32_t id;
    int quantity;
    const char *name;
    bool is_spare; /* not in use */
    bool tells_clients;
    int32_t passive_mc; /* 0: none */
    int64_t most;
};

struct reported_client {
    uint32_t minor;
    uint64_t id;
    uint32_t pid;
    uint32_t graphics;
    uint32_t compute;
};

struct reported {
    struct machine_state machine;
    struct diag diag; /* of the last message */
    uint64_t now_us;
};

void reported_init(struct reported *reported);

/* Reports an inventory of @n sources, and of one device with the minor number @minor (0: none). Returns the outcome. */
int reported_inventory(struct reported *reported, const struct reported_source *sources, size_t n, uint32_t minor);

/* Reports a reading of @id, taken now, after a millisecond. */
int reported_reading(struct reported *reported, uint32_t id, int64_t value);
/* Reports that the first look at @id was no interval yet. */
int reported_early(struct reported *reported, uint32_t id);
int reported_state(struct reported *reported, uint32_t id, int state, int64_t value);

/* Reports a sample with clients. */
int reported_clients(struct reported *reported, const struct reported_client *clients, size_t n);

/* Returns a view with protection wanted and sotto-sense alive. */
struct machine_view reported_view(const struct reported *reported);

const struct machine_source *reported_find(const struct reported *reported, const char *name);

#endif
