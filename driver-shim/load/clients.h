/*
 * Clients: the clients of a device and their shares of time, from counters read again and again
 *
 * Pure: readings and their times go in, shares of time come out. A client is one open DRM file, (device, client id),
 * and counts once, regardless of how many descriptors and processes hold it. Counters may stand still, or count cycles
 * of a clock of unknown rate: then the client is *unmeasured*, which is not idle. They may run back, but must catch up
 * (the kernel's drm-usage-stats): until then the last share stands.
 *
 * Many drivers add to their counters only when a job has ended, so an interval may show more time than it has. The
 * excess was spent earlier: it is carried over into the next interval, up to one interval's worth.
 */
#ifndef SOTTO_LOAD_CLIENTS_H
#define SOTTO_LOAD_CLIENTS_H

#include "base/mem.h"
#include "load/engine_class.h"
#include "load/fdinfo_parse.h"

struct source_client;

/* More open files than any device was seen to have; further ones count as blind. */
#define CLIENTS_MAX 1024u

/* Engine names of one device; the last one stands for all further ones. */
#define CLIENTS_ENGINES_MAX 32u

/* Shorter intervals mean nothing: drivers sample and schedulers jitter by about a millisecond. */
#define CLIENTS_INTERVAL_MIN_US 20000u

/* A counter that stays behind its highest value for this long was reset, and counts from its new value on. */
#define CLIENTS_BACK_US 2000000u

struct client_counter {
    uint64_t high;     /* highest value so far */
    uint64_t since_us; /* since when it is behind @high; 0: it is not */
};

struct client_engine {
    uint8_t engine; /* index into clients::engines */
    struct client_counter ns;
    struct client_counter cycles;
    struct client_counter total;
    uint64_t read_us;  /* when the interval began that the next reading ends */
    uint64_t carry;    /* permille times us, from earlier intervals */
    uint32_t permille; /* of the last interval */
};

struct client {
    uint32_t minor;
    uint64_t id;
    uint32_t pid; /* a process that holds it, and its descriptor */
    uint32_t fd;
    int cached_fd;      /* the caller's: open descriptor of that fdinfo file; -1: none */
    char name[16];      /* the caller's: of the process */
    uint64_t read_us;   /* when the counters below were read */
    uint64_t n_samples; /* from 2 on there is an interval */
    bool is_seen;       /* found in this walk */
    bool is_lost;       /* can no longer be read; the next walk decides */
    bool is_unmeasured; /* its counters move at an unknown rate */
    bool is_timed;      /* has at least one counter of time */
    uint32_t n_engines;
    struct client_engine engines[FDINFO_ENGINES_MAX];
    uint32_t permille[ENGINE_CLASS_COUNT]; /* of the last interval */
    uint64_t memory_kb;
};

struct clients {
    struct client *all; /* owned */
    uint32_t n;
    uint32_t cap;
    char engines[CLIENTS_ENGINES_MAX][32];
    enum engine_class classes[CLIENTS_ENGINES_MAX]; /* of the same engine */
    uint32_t n_engines;
    uint64_t clock_hz; /* the device's highest clock, from devfreq; 0: unknown */
    uint64_t moved_us; /* when any counter last moved; if none did, when the first was read */
    uint32_t n_over;   /* clients of this walk beyond CLIENTS_MAX */
};

enum clients_outcome {
    CLIENTS_OK,
    CLIENTS_REPEATED, /* found in this walk already: another descriptor of the same file */
    CLIENTS_FULL,     /* there are CLIENTS_MAX already */
};

struct clients_sum {
    uint32_t permille[ENGINE_CLASS_COUNT]; /* busiest engine of each side, all clients together; at most 1000 */
    uint32_t n_timed;                      /* clients with at least one interval */
    uint32_t n_new;                        /* read once: no interval yet */
    uint32_t n_unmeasured;
    uint32_t n_timeless; /* of a driver that counts no time */
};

void clients_init(struct clients *clients);
void clients_finish(struct clients *clients); /* open descriptors are the caller's */

/* Begins a walk: marks every client as not found. */
void clients_begin(struct clients *clients);

/*
 * Takes @fdinfo (which has a client id), read at @now_us. *ret_client is valid until the next call that adds or drops
 * clients. CLIENTS_REPEATED, CLIENTS_FULL, or -ENOMEM.
 */
int clients_update(struct clients *clients, uint32_t minor, const struct fdinfo *fdinfo, uint64_t now_us,
                   struct client **ret_client);

/* Like clients_update(), for a known client between two walks. */
void clients_update_known(struct clients *clients, struct client *client, const struct fdinfo *fdinfo, uint64_t now_us);

/* Marks @client as unreadable; it counts as idle since its last reading. */
void clients_lose(struct client *client);

/* Ends a walk: drops the clients that were not found since clients_begin(). */
void clients_end(struct clients *clients);

void clients_add_up(const struct clients *clients, struct clients_sum *ret_sum);

/*
 * Lists the clients, busiest first; beyond @cap, the last entry is the sum of all others (id and pid 0). Returns the
 * number of entries.
 */
uint32_t clients_list(const struct clients *clients, struct source_client *list, uint32_t cap);

#endif
