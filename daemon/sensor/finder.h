/*
 * Finder: the thread that looks for sources
 *
 * A scan walks through folders of the kernel, which is quick and might not be; so it has a thread of its own, which
 * also makes and destroys the sources. Its result is a copy of what is known of each source: a later scan may change a
 * source's rank or trips while somebody looks at the copy.
 */
#ifndef SOTTO_SENSOR_FINDER_H
#define SOTTO_SENSOR_FINDER_H

#include "sense/source.h"
#include <pthread.h>

/* What may be told to sottod. */
#define FINDER_SOURCES_MAX 128u
#define FINDER_DEVICES_MAX 16u

struct source_facts {
    struct source *source; /* belongs to the finder, and lives as long */
    enum reading_quantity quantity;
    char name[64];
    char path[160];
    char why[96];
    uint32_t rank;  /* SOURCE_PASSED_OVER: is told of and not read */
    bool all_count; /* every source of this quantity that is not passed over is in use, as with zones */
    uint32_t slow_ms;
    int32_t passive_mc;
    int32_t critical_mc;
    int64_t most;
    bool tells_clients;
    bool is_mixed;
    bool is_bound;
};

struct device_facts {
    uint32_t minor;
    char driver[32];
    bool has_display;
    bool is_ours; /* its load is the one that counts */
};

struct scan_result {
    struct source_facts sources[FINDER_SOURCES_MAX];
    uint32_t n_sources;
    struct device_facts devices[FINDER_DEVICES_MAX];
    uint32_t n_devices;
};

/* Who knows the machine. All of it is called on the finder's thread. */
struct finder_table {
    /* Fills @scan_result. Sources that were found before stay the objects they are. 0 or -ENOMEM. */
    int (*scan)(void *owner, struct scan_result *scan_result);
    /* Destroys all sources. */
    void (*clear)(void *owner);
    /* The process whose daemon this serves now, on the main thread; NULL: it makes no difference. */
    void (*serve)(void *owner, uint32_t pid);
};

struct finder {
    const struct finder_table *table;
    void *owner;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int notify_fd;
    bool is_requested; /* under the lock, as all below */
    bool is_scanning;
    bool is_done; /* @result is new */
    bool is_ending;
    struct scan_result work; /* the thread's */
    struct scan_result result;
};

/* Copies what is known of @source. */
void scan_result_add(struct scan_result *scan_result, struct source *source);

/* 0, or a fault. */
int finder_open(struct finder *finder, const struct finder_table *table, void *owner, int notify_fd);

/* Asks for a scan; one that is under way is followed by another. */
void finder_request(struct finder *finder);

/* True if a scan has ended since: its result is in @ret_result. */
bool finder_take(struct finder *finder, struct scan_result *ret_result);

/* Ends the thread; with @clears it destroys the sources first. False: it is inside a scan that does not end. */
bool finder_close(struct finder *finder, bool clears);

#endif
