/*
 * Told: a book of senses, and what a sotto-sense that a test plays has told it
 */
#ifndef SOTTO_MACHINE_REPORTED_H
#define SOTTO_MACHINE_REPORTED_H

#include "machine/machine_input.h"

#define TOLD_BUILD "1"

/* Short names, for tables. */
enum told_quantity {
    LOAD = SOTTO__SENSE__QUANTITY__QUANTITY_GRAPHICS_LOAD,
    HEAT = SOTTO__SENSE__QUANTITY__QUANTITY_TEMPERATURE,
    POWER = SOTTO__SENSE__QUANTITY__QUANTITY_POWER,
    CLOCK = SOTTO__SENSE__QUANTITY__QUANTITY_CLOCK,
    THROTTLE = SOTTO__SENSE__QUANTITY__QUANTITY_THROTTLE,
    PRESSURE = SOTTO__SENSE__QUANTITY__QUANTITY_MEMORY_PRESSURE,
};

struct told_source {
    uint32_t id;
    int quantity;
    const char *name;
    bool is_spare; /* not in use */
    bool tells_clients;
    int32_t passive_mc; /* 0: none */
    int64_t most;
};

struct told_client {
    uint32_t minor;
    uint64_t id;
    uint32_t pid;
    uint32_t graphics;
    uint32_t compute;
};

struct told {
    struct machine_state book;
    struct diag diag; /* of the last message */
    uint64_t now_us;
};

void told_init(struct told *told);

/* An inventory of @n sources, and of one device with the minor number @minor (0: none). Gives the outcome. */
int told_inventory(struct told *told, const struct told_source *sources, size_t n, uint32_t minor);

/* A millisecond goes by, then a reading of @id is told as taken just now. */
int told_reading(struct told *told, uint32_t id, int64_t value);
/* Its first look was no interval yet. */
int told_early(struct told *told, uint32_t id);
int told_state(struct told *told, uint32_t id, int state, int64_t value);

/* A sample with clients. */
int told_clients(struct told *told, const struct told_client *clients, size_t n);

/* A view of someone who wants to know and hears. */
struct machine_view told_view(const struct told *told);

const struct machine_source *told_find(const struct told *told, const char *name);

#endif
