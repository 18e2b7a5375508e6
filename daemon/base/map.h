/*
 * Map: open addressing from a 64-bit number, or from a string of bytes, to a pointer or number
 *
 * Keys of bytes are not copied: they must live as long as their entry. Visits follow the order of the table, not of
 * insertion. One thread at a time; any number of threads may read a map that no longer changes.
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
    uint64_t salt; /* random, so that an attacker can't aim at one bucket */
};

enum map_outcome {
    MAP_OK,
    MAP_EXISTS, /* the key is in the map; nothing was changed */
};

void map_init(struct map *map, enum mem_kind kind);
void map_finish(struct map *map);

/* Makes room for @n entries in all. Returns 0 or -ENOMEM. */
int map_reserve(struct map *map, size_t n);

/* Adds an entry. Returns MAP_OK, MAP_EXISTS, or -ENOMEM. */
int map_put(struct map *map, uint64_t key, union map_value value);
int map_put_bytes(struct map *map, const void *key, size_t n, union map_value value);

/* Returns the address of the value, valid until the map changes, or NULL. */
union map_value *map_find(const struct map *map, uint64_t key);
union map_value *map_find_bytes(const struct map *map, const void *key, size_t n);

/* Removes an entry; returns false if there was none. */
bool map_remove(struct map *map, uint64_t key);
bool map_remove_bytes(struct map *map, const void *key, size_t n);

/* Returns the keyed hash that maps use, for tables of another shape. */
uint64_t map_hash(const void *bytes, size_t n, uint64_t salt);

/* Returns the next entry, or NULL after the last; start with *at = 0. The visited entry may be removed, none may be
 * added. */
struct map_entry *map_next(const struct map *map, size_t *at);

#endif
