/*
 * Map: open addressing from a 64-bit number, or from a string of bytes, to a pointer or number
 *
 * Keys of bytes are not copied: they live as long as their entry. Order of visit is that of the table, not of
 * insertion. One thread at a time; a map that no longer changes may be read by many.
 */
#ifndef SOTTO_BASE_MAP_H
#define SOTTO_BASE_MAP_H

#include "base/mem.h"

union map_value {
    void *pointer;
    uint64_t number;
};

struct map_entry {
    uint64_t hash;
    const void *key; /* NULL with number keys */
    uint64_t n_key;  /* length of the key, or the number itself */
    union map_value value;
    uint8_t state; /* free, live, dead */
};

struct map {
    struct map_entry *entries; /* owned; cap of them, a power of two */
    size_t cap;
    size_t n;      /* live */
    size_t n_used; /* live and dead */
    enum mem_kind kind;
    uint64_t salt; /* drawn at init, so that strangers cannot aim at one bucket */
};

enum map_outcome {
    MAP_OK,
    MAP_EXISTS, /* the key is there; nothing was changed */
};

void map_init(struct map *map, enum mem_kind kind);
void map_finish(struct map *map);

/* Makes room for @n entries in all at once. 0 or -ENOMEM. */
int map_reserve(struct map *map, size_t n);

/* MAP_EXISTS, or -ENOMEM. */
int map_put(struct map *map, uint64_t key, union map_value value);
int map_put_bytes(struct map *map, const void *key, size_t n, union map_value value);

/* The value's place, or NULL. Valid until the map changes. */
union map_value *map_find(const struct map *map, uint64_t key);
union map_value *map_find_bytes(const struct map *map, const void *key, size_t n);

/* False: was not there. */
bool map_remove(struct map *map, uint64_t key);
bool map_remove_bytes(struct map *map, const void *key, size_t n);

/* The keyed hash that maps use, for tables of another shape. */
uint64_t map_hash(const void *bytes, size_t n, uint64_t salt);

/* Visits: start with *at = 0; NULL after the last. The visited entry may be removed, nothing may be added. */
struct map_entry *map_next(const struct map *map, size_t *at);

#endif
