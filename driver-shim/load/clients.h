/*
 * Clients: who uses a device and how much, from counters looked at again and again
 *
 * Pure: what was read and when goes in, shares of time come out. A client is one open DRM file, (device, client id),
 * however many descriptors and processes hold it: it counts once. Counters may run back, stand still, or come in
 * cycles of a clock that nobody tells: then the client is *untold*, which is not idle.
 *
 * Many drivers add to their counters only when a job has ended, so an interval may show more time than it has. What
 * is too much happened before: it is carried over into the next interval, up to one interval's worth, and not lost.
 */
#ifndef SOTTO_LOAD_CLIENTS_H
#define SOTTO_LOAD_CLIENTS_H

#include "base/mem.h"
#include "load/engine_class.h"
#include "load/fdinfo_parse.h"

struct source_client;

/* More open files of one device than anyone was seen to have; the rest counts as blind. */
#define CLIENTS_MAX 1024u

/* Names of engines of one device; the last takes all further ones. */
#define CLIENTS_ENGINES_MAX 32u

/* Shorter intervals say nothing: drivers sample and schedulers jitter by about a millisecond. */
#define CLIENTS_INTERVAL_MIN_US 20000u

/* A counter that is behind its highest value for so long was set back for good (a reset), and counts anew. */
#define CLIENTS_BACK_US 2000000u

struct client_counter {
    uint64_t high;     /* highest value so far */
    uint64_t since_us; /* since when it is behind it; 0: it is not */
};

struct client_engine {
    uint8_t engine; /* index into clients::engines */
    struct client_counter ns;
    struct client_counter cycles;
    struct client_counter total;
    uint64_t carry;    /* permille times us, of earlier intervals */
    uint32_t permille; /* of the last interval */
};

struct client {
    uint32_t minor;
    uint64_t id;
    uint32_t pid; /* one process that holds it, and by which descriptor */
    uint32_t fd;
    int cached_fd;    /* caller's: descriptor of that fdinfo file, kept open; -1: none */
    char name[16];    /* caller's: of the process */
    uint64_t read_us; /* when the counters below were read */
    uint64_t n_samples;
    bool is_seen;       /* in this walk */
    bool is_lost;       /* could not be read any more; the next walk decides */
    bool is_unmeasured; /* its counters move, but nothing says by how much time */
    bool is_timed;      /* has at least one counter of time */
    uint32_t n_engines;
    struct client_engine engines[FDINFO_ENGINES_MAX];
    uint32_t permille[ENGINE_CLASS_COUNT]; /* of the last interval */
    uint64_t memory_kb;
};

struct clients {
    struct client *all; /* owned; n of them */
    uint32_t n;
    uint32_t cap;
    char engines[CLIENTS_ENGINES_MAX][32];
    enum engine_class classes[CLIENTS_ENGINES_MAX]; /* of those names */
    uint32_t n_engines;
    uint64_t clock_hz; /* highest clock of the device from elsewhere; 0: unknown */
    uint64_t moved_us; /* when a counter of anybody last moved, or (none ever) was first seen */
    uint32_t n_over;   /* clients of this walk beyond CLIENTS_MAX */
};

enum clients_outcome {
    CLIENTS_OK,
    CLIENTS_REPEATED, /* seen in this walk already: another descriptor of the same file */
    CLIENTS_FULL,     /* CLIENTS_MAX */
};

struct clients_sum {
    uint32_t permille[ENGINE_CLASS_COUNT]; /* busiest engine of each side, all clients together; at most 1000 */
    uint32_t n_timed;                      /* clients with an interval behind them */
    uint32_t n_new;                        /* seen once so far: no interval yet */
    uint32_t n_unmeasured;
    uint32_t n_timeless; /* of a driver that counts no time */
};

void clients_init(struct clients *clients);
void clients_finish(struct clients *clients); /* kept descriptors are the caller's */

/* Every client is unseen from here on. */
void clients_begin(struct clients *clients);

/*
 * What @fdinfo (with a client id) says at @now_us. *ret_client lives until the next call that adds or drops.
 * CLIENTS_REPEATED, CLIENTS_FULL, or -ENOMEM.
 */
int clients_update(struct clients *clients, uint32_t minor, const struct fdinfo *fdinfo, uint64_t now_us,
                   struct client **ret_client);

/* The same for a client known already, between two walks. */
void clients_update_known(struct clients *clients, struct client *client, const struct fdinfo *fdinfo, uint64_t now_us);

/* @client can't be read: it did nothing since, as far as anybody can tell. */
void clients_lose(struct client *client);

/* Drops whoever was not seen since clients_begin(). */
void clients_end(struct clients *clients);

void clients_add_up(const struct clients *clients, struct clients_sum *ret_sum);

/* Busiest first; if there are more than @cap, the last stands for all the others (id and pid 0). Returns how many. */
uint32_t clients_list(const struct clients *clients, struct source_client *list, uint32_t cap);

#endif
