/*
 * Map: linear probing in a table of a power of two that is at most three quarters full, dead entries included
 *
 * Keys are untrusted (request keys, names, vocabularies of unknown files), so both hashes are keyed by the
 * map's salt: SipHash-1-3 (Aumasson and Bernstein, 2012) for bytes, the finaliser of MurmurHash3 for numbers.
 */
#include "base/map.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/num.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

#define LEAST_ENTRIES 16

enum entry_state {
    ENTRY_FREE, /* 0: a fresh table is zeroed */
    ENTRY_LIVE,
    ENTRY_DEAD, /* was live; a search continues after it */
};

/* A key of either form. @bytes is NULL with numbers. */
struct key {
    const void *bytes;
    uint64_t n;
    uint64_t hash;
};

static uint64_t hash_number(uint64_t number, uint64_t salt)
{
    uint64_t h = number ^ salt;

    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 33;
}

static uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static uint64_t hash_bytes(const uint8_t *bytes, size_t n, uint64_t salt)
{
    uint64_t salt2 = hash_number(n, salt);
    uint64_t v[4] = { salt ^ 0x736f6d6570736575u, salt2 ^ 0x646f72616e646f6du, salt ^ 0x6c7967656e657261u,
                      salt2 ^ 0x7465646279746573u };
    uint64_t last = (uint64_t)n << 56;
    size_t n_whole = n & ~(size_t)7;

    for (size_t i = 0; i < n_whole; i += 8) {
        uint64_t word;

        memcpy(&word, bytes + i, sizeof(word));
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    for (size_t i = n_whole; i < n; i++) {
        last |= (uint64_t)bytes[i] << 8 * (i - n_whole);
    }
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t map_hash(const void *bytes, size_t n, uint64_t salt)
{
    return hash_bytes(bytes, n, salt);
}

static struct key number_key(const struct map *map, uint64_t number)
{
    return (struct key){ .bytes = NULL, .n = number, .hash = hash_number(number, map->salt) };
}

static struct key bytes_key(const struct map *map, const void *bytes, size_t n)
{
    /* An empty key may be NULL here; inside, NULL means a number. */
    return (struct key){ .bytes = bytes ? bytes : "", .n = n, .hash = hash_bytes(bytes, n, map->salt) };
}

static bool is_same(const struct map_entry *entry, const struct key *key)
{
    if (entry->hash != key->hash || entry->n_key != key->n || !entry->key != !key->bytes) {
        return false;
    }
    return !key->bytes || key->n == 0 || memcmp(entry->key, key->bytes, key->n) == 0;
}

static struct map_entry *find(const struct map *map, const struct key *key)
{
    if (map->cap == 0) {
        return NULL;
    }
    for (size_t i = key->hash & (map->cap - 1);; i = (i + 1) & (map->cap - 1)) {
        struct map_entry *entry = &map->entries[i];

        if (entry->state == ENTRY_FREE) {
            return NULL;
        }
        if (entry->state == ENTRY_LIVE && is_same(entry, key)) {
            return entry;
        }
    }
}

void map_init(struct map *map, enum mem_kind kind)
{
    *map = (struct map){ .kind = kind };
    clock_entropy(&map->salt, sizeof(map->salt));
}

void map_finish(struct map *map)
{
    mem_free(map->entries);
    *map = (struct map){ .kind = map->kind, .salt = map->salt };
}

/* Moves all live entries to a new table of @cap entries; dead ones are dropped with the old table. */
static int rebuild(struct map *map, size_t cap)
{
    struct map_entry *entries = mem_calloc(map->kind, cap, sizeof(*entries));

    if (!entries) {
        return err_new(-ENOMEM);
    }
    for (size_t i = 0; i < map->cap; i++) {
        const struct map_entry *entry = &map->entries[i];
        size_t at = entry->hash & (cap - 1);

        if (entry->state != ENTRY_LIVE) {
            continue;
        }
        while (entries[at].state != ENTRY_FREE) {
            at = (at + 1) & (cap - 1);
        }
        entries[at] = *entry;
    }
    mem_free(map->entries);
    map->entries = entries;
    map->cap = cap;
    map->n_used = map->n;
    return 0;
}

static bool has_room(size_t cap, size_t n)
{
    return n <= cap - cap / 4;
}

int map_reserve(struct map *map, size_t n)
{
    size_t cap = LEAST_ENTRIES;

    if (n > SIZE_MAX / 2 / sizeof(struct map_entry)) {
        return err_new(-ENOMEM);
    }
    n = num_max(n, map->n);
    if (has_room(map->cap, n + (map->n_used - map->n))) {
        return 0;
    }
    while (!has_room(cap, n)) {
        cap *= 2;
    }
    return err_up(rebuild(map, cap));
}

static int put(struct map *map, const struct key *key, union map_value value)
{
    size_t at;

    if (find(map, key)) {
        return MAP_EXISTS;
    }
    if (!has_room(map->cap, map->n_used + 1)) {
        /* Room for twice the live entries grows a full table, and only cleans one that is full of dead entries. */
        int r = map_reserve(map, num_max(map->n + 1, 3 * map->n / 2));

        if (r) {
            return err_up(r);
        }
    }
    at = key->hash & (map->cap - 1);
    while (map->entries[at].state == ENTRY_LIVE) {
        at = (at + 1) & (map->cap - 1);
    }
    map->n_used += map->entries[at].state == ENTRY_FREE;
    map->n++;
    map->entries[at] = (struct map_entry){
        .hash = key->hash, .key = key->bytes, .n_key = key->n, .value = value, .state = ENTRY_LIVE
    };
    return MAP_OK;
}

int map_put(struct map *map, uint64_t key, union map_value value)
{
    struct key k = number_key(map, key);

    return put(map, &k, value);
}

int map_put_bytes(struct map *map, const void *key, size_t n, union map_value value)
{
    struct key k = bytes_key(map, key, n);

    return put(map, &k, value);
}

union map_value *map_find(const struct map *map, uint64_t key)
{
    struct key k = number_key(map, key);
    struct map_entry *entry = find(map, &k);

    return entry ? &entry->value : NULL;
}

union map_value *map_find_bytes(const struct map *map, const void *key, size_t n)
{
    struct key k = bytes_key(map, key, n);
    struct map_entry *entry = find(map, &k);

    return entry ? &entry->value : NULL;
}

static bool drop(struct map *map, const struct key *key)
{
    struct map_entry *entry = find(map, key);

    if (!entry) {
        return false;
    }
    *entry = (struct map_entry){ .state = ENTRY_DEAD };
    map->n--;
    return true;
}

bool map_remove(struct map *map, uint64_t key)
{
    struct key k = number_key(map, key);

    return drop(map, &k);
}

bool map_remove_bytes(struct map *map, const void *key, size_t n)
{
    struct key k = bytes_key(map, key, n);

    return drop(map, &k);
}

struct map_entry *map_next(const struct map *map, size_t *at)
{
    while (*at < map->cap) {
        struct map_entry *entry = &map->entries[(*at)++];

        if (entry->state == ENTRY_LIVE) {
            return entry;
        }
    }
    return NULL;
}
