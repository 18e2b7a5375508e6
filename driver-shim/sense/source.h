/*
 * Source: something that can be read again and again
 *
 * A temperature zone, a power meter, the clients of a device. It is found once (and anew when the machine changes),
 * read on a thread of its own if it may block, and gives one reading each time. A source never decides what its value
 * means to anybody.
 *
 * Made and destroyed on one thread; source_read() runs on any one thread at a time.
 */
#ifndef SOTTO_SENSE_SOURCE_H
#define SOTTO_SENSE_SOURCE_H

#include "base/list.h"
#include "sense/reading.h"
#include "sysfs/root.h"

struct source;
struct source_client;

/* Rank of a source that was found and isn't wanted: it is told of with why, and never read. */
#define SOURCE_PASSED_OVER UINT32_MAX

struct source_table {
    /* "thermal", "hwmon", "powercap", "psi", "meminfo", "fdinfo", "pvr-status", "drm-sched", ... */
    const char *kind;
    void (*read)(struct source *source, uint64_t now_us, struct reading *ret_reading);
    void (*destroy)(struct source *source);
    uint32_t (*clients)(const struct source *source, struct source_client *clients, uint32_t cap); /* or NULL */
};

struct source {
    struct list link; /* of whoever keeps it */
    const struct source_table *table;
    enum reading_quantity quantity;
    char name[64];         /* "zone gpu-thermal", "fdinfo renderD128" */
    char id[192];          /* what it is, whatever its number is today: equal only for one and the same of a kind */
    char path[160];        /* below the root */
    _Atomic uint32_t rank; /* among sources of one quantity: the lowest that is OK decides; SOURCE_PASSED_OVER */
    _Atomic bool is_aside; /* of a device that is not ours: as if passed over, until a scan finds that it is */
    char device[160];      /* of a load or a clock: the folder of its device */
    uint32_t slow_ms;      /* its usual period: 1000 for heat, 50 for load */
    bool may_block;        /* wants a thread of its own */
    int32_t passive_mc;    /* of a zone: lowest passive trip; INT32_MAX: none */
    int32_t critical_mc;   /* of a zone: lowest hot or critical trip; INT32_MAX: none */
    int64_t most;          /* of a clock: the highest there is, kHz; of a throttle: deepest state; 0: not known */
    bool is_mixed;         /* of a load: our own work is in it and can't be told apart; true only while we are idle */
    bool is_bound;         /* of a load: not the load itself but what it is at most */
    char why[96];          /* chosen, or passed over and why */
};

/* Fills what every source has; name, id, path, why are empty, there are no trips, rank is 0, slow_ms 1000. */
void source_init(struct source *source, const struct source_table *table, enum reading_quantity quantity);

/* SOURCE_PASSED_OVER also for one that is aside. */
uint32_t source_rank(const struct source *source);

/* One that was passed over is ABSENT without a look at it. A scan may change ranks meanwhile. */
void source_read(struct source *source, uint64_t now_us, struct reading *ret_reading);
void source_destroy(struct source *source); /* NULL is allowed */

/* The one of @kind and @id in the list @sources (source::link), or NULL. */
struct source *source_find(const struct list *sources, const char *kind, const char *id);

/* Writes into one of the texts of a source or reading: names from files are strangers' bytes, so what is no
 * well-formed text on one line becomes U+FFFD, and what is too long is cut at a whole character. */
void label_format(char *text, size_t cap, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* How many clients a load source can tell apart; more are added up in the last. */
#define SOURCE_CLIENTS_MAX 64u

/* One DRM client (an open file of a device), however many descriptors and processes share it. */
struct source_client {
    uint32_t minor; /* of its device */
    uint64_t id;    /* drm-client-id */
    uint32_t pid;   /* of one process that holds it */
    uint32_t graphics_permille;
    uint32_t compute_permille;
    uint64_t memory_kb;
    char name[16]; /* of the process */
};

/* Clients as of a load source's last read, if it tells them apart; else 0. */
uint32_t source_clients(const struct source *source, struct source_client *clients, uint32_t cap);

#endif
