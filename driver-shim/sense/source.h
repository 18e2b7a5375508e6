/*
 * Source: something that can be read again and again
 *
 * A temperature zone, a power meter, the clients of a device. A scan finds it once, and again when the machine changes;
 * it is read on a thread of its own if it may block, and gives one reading at a time. A source never decides what its
 * value means.
 *
 * Sources are made and destroyed on one thread; source_read() runs on at most one thread at a time.
 */
#ifndef SOTTO_SENSE_SOURCE_H
#define SOTTO_SENSE_SOURCE_H

#include "base/list.h"
#include "sense/reading.h"
#include "sysfs/root.h"

struct source;
struct source_client;

/* Rank of a source that was found and isn't wanted: it is listed with the reason, and never read. */
#define SOURCE_PASSED_OVER UINT32_MAX

struct source_table {
    /* "thermal", "hwmon", "powercap", "psi", "meminfo", "fdinfo", "pvr-status", "drm-sched", ... */
    const char *kind;
    void (*read)(struct source *source, uint64_t now_us, struct reading *ret_reading);
    void (*destroy)(struct source *source); /* NULL: mem_free() */
    uint32_t (*clients)(const struct source *source, struct source_client *clients, uint32_t cap); /* or NULL */
};

struct source {
    struct list link; /* in the owner's list */
    const struct source_table *table;
    const struct root *root;
    struct reading last; /* the last good one; the reading thread's */
    enum reading_quantity quantity;
    char name[64];         /* "zone gpu-thermal", "fdinfo renderD128" */
    char id[192];          /* identifies it within its kind, independently of today's numbers */
    char path[160];        /* below the root */
    _Atomic uint32_t rank; /* among sources of one quantity: the lowest that is OK decides; or SOURCE_PASSED_OVER */
    /* belongs to a GPU that does not count: treated as passed over until a scan finds that it does */
    _Atomic bool is_aside;
    char device[160];    /* of a load or a clock: folder of the device */
    uint32_t slow_ms;    /* usual period: 1000 for heat, 50 for load */
    bool may_block;      /* wants a thread of its own */
    int32_t passive_mc;  /* of a zone: lowest passive trip; INT32_MAX: none */
    int32_t critical_mc; /* of a zone: lowest hot or critical trip; INT32_MAX: none */
    int64_t most;        /* of a clock: the maximum, kHz; of a throttle: deepest state; 0: not known */
    bool is_mixed;       /* of a load: includes our own work, so it is the others' load only while we are idle */
    bool is_bound;       /* of a load: an upper bound of it */
    char why[96];        /* reason why it was chosen or passed over */
};

/* Sets the defaults: name, id, path and why are empty, there are no trips, rank is 0, slow_ms 1000. */
void source_init(struct source *source, const struct source_table *table, enum reading_quantity quantity);

/*
 * Makes a source as the first member of a block of @bytes (MEM_MISC), which is 0 otherwise. NULL: no memory.
 * @root must outlive the source.
 */
struct source *source_create(size_t bytes, const struct source_table *table, enum reading_quantity quantity,
                             const struct root *root);

/*
 * For a source's read(): sets *ret_reading from an attempt that returned @fault (0: @value was read) and keeps the last
 * good reading.
 */
void source_give(struct source *source, int fault, int64_t value, uint64_t now_us, struct reading *ret_reading);

/* Returns the rank; SOURCE_PASSED_OVER also for a source that is aside. */
uint32_t source_rank(const struct source *source);

/* Reads the source; one that is passed over is ABSENT and is not read. A scan may change ranks meanwhile. */
void source_read(struct source *source, uint64_t now_us, struct reading *ret_reading);
void source_destroy(struct source *source); /* NULL is allowed */

/* Returns the source of @kind and @id in the list @sources (source::link), or NULL. */
struct source *source_find(const struct list *sources, const char *kind, const char *id);

/* A load source tells as many clients apart; the last one stands for all further ones. */
#define SOURCE_CLIENTS_MAX 64u

/* One DRM client (an open file of a device), regardless of how many descriptors and processes share it. */
struct source_client {
    uint32_t minor; /* the device's */
    uint64_t id;    /* drm-client-id */
    uint32_t pid;   /* a process that holds it */
    uint32_t graphics_permille;
    uint32_t compute_permille;
    uint64_t memory_kb;
    char name[16]; /* the process's */
};

/* Returns the clients as of a load source's last read; 0 if it does not tell them apart. */
uint32_t source_clients(const struct source *source, struct source_client *clients, uint32_t cap);

#endif
