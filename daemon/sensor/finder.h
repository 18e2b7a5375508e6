/*
 * Finder: the thread that looks for sources
 *
 * A scan walks the kernel's folders, which is usually quick but may block; so it runs on a thread of its own, which
 * also makes and destroys the sources. Its result is a copy of the facts about each source: a later scan may change a
 * source's rank or trips while another thread reads the copy.
 */
#ifndef SOTTO_SENSOR_FINDER_H
#define SOTTO_SENSOR_FINDER_H

#include "sense/source.h"
#include <pthread.h>

/* Maximum of sources and devices reported to sottod. */
#define FINDER_SOURCES_MAX 128u
#define FINDER_DEVICES_MAX 16u

struct source_facts {
    struct source *source; /* the finder's, and lives as long */
    enum reading_quantity quantity;
    char name[64];
    char path[160];
    char why[96];
    uint32_t rank;  /* SOURCE_PASSED_OVER: reported, never read */
    bool all_count; /* all sources of this quantity that are not passed over are in use, as with zones */
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
    bool is_ours; /* its load counts */
};

struct scan_result {
    struct source_facts sources[FINDER_SOURCES_MAX];
    uint32_t n_sources;
    struct device_facts devices[FINDER_DEVICES_MAX];
    uint32_t n_devices;
};

/* Functions that know the machine, called on the finder's thread unless said otherwise. */
struct finder_table {
    /* Fills in @scan_result. Sources found before stay the same objects. 0 or -ENOMEM. */
    int (*scan)(void *owner, struct scan_result *scan_result);
    /* Destroys all sources. */
    void (*clear)(void *owner);
    /* Names the process that is served now; called on the main thread. NULL: it makes no difference. */
    void (*serve)(void *owner, uint32_t pid);
};

struct finder {
    const struct finder_table *table;
    void *owner;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int notify_fd;
    bool is_requested; /* under the lock, like all below */
    bool is_scanning;
    bool is_done; /* @result is new */
    bool is_ending;
    struct scan_result work; /* the thread's own */
    struct scan_result result;
};

/* Appends a copy of the facts about @source. */
void scan_result_add(struct scan_result *scan_result, struct source *source);

/* Starts the thread. @notify_fd: an eventfd, written when a scan has ended. 0 or a fault. */
int finder_open(struct finder *finder, const struct finder_table *table, void *owner, int notify_fd);

/* Requests a scan; one that is running is followed by another. */
void finder_request(struct finder *finder);

/* Returns true, with the result, if a scan has ended since the last call. */
bool finder_take(struct finder *finder, struct scan_result *ret_result);

/* Ends the thread; with @clears it destroys the sources first. False: it hangs inside a scan. */
bool finder_close(struct finder *finder, bool clears);

#endif
