/*
 * Sense book: what sotto-sense has said, checked and kept
 *
 * Messages in, judgement and readings out: no socket, no clock. A message that can't be true is refused with a
 * sentence and changes nothing; whoever owns the link then drops the process that sent it. The book keeps each
 * source's latest reading, a value a second of the last two minutes, the clients of the load source in use, and what
 * was there once and is gone.
 */
#ifndef SOTTO_STREAM_SENSE_BOOK_H
#define SOTTO_STREAM_SENSE_BOOK_H

#include "base/diag.h"
#include "sched/governor.h"
#include <sotto/sense.pb-c.h>

#define SENSE_SOURCES 128u
#define SENSE_DEVICES 16u
#define SENSE_CLIENTS 64u
#define SENSE_HISTORY 120u /* values, one a second */

/* A reading that is slower than this has stopped. sotto-sense reads everything once a second. */
#define SENSE_OLD_US UINT64_C(3500000)

#define SENSE_STATES (SOTTO__SENSE__STATE__STATE_FORBIDDEN + 1)

struct sense_reading {
    Sotto__Sense__State state;
    int64_t value;
    uint64_t at_us;
    uint32_t blind_permille;
    char why[96];
};

struct sense_source {
    uint32_t id; /* 0: it is gone; remembered if it counted */
    Sotto__Sense__Quantity quantity;
    char name[64];
    char unit[16];
    char why[96];
    bool in_use;
    bool tells_clients;
    int32_t passive_mc;
    int32_t critical_mc;
    bool was_read; /* @now is of this source, not yet empty */
    bool was_ok;   /* once, ever */
    int64_t most;  /* the highest there is, as told; else, of a clock, the highest that was seen */
    struct sense_reading now;
    uint32_t n_history;
    uint32_t history_at; /* where the next value goes */
    int64_t history[SENSE_HISTORY];
    bool was_listed; /* watchers know of it */
    bool was_told;   /* and of its state: @told, since @told_us */
    Sotto__Sense__State told;
    uint64_t told_us;
    uint64_t seen_in; /* number of the message that names it: once in each */
};

struct sense_device {
    uint32_t minor;
    char driver[32];
    bool has_display;
    bool is_ours;
};

struct sense_client {
    uint32_t minor;
    uint64_t id;
    uint32_t pid;
    uint32_t graphics_permille;
    uint32_t compute_permille;
};

struct sense_book {
    struct sense_source sources[SENSE_SOURCES];
    uint32_t n_sources;
    struct sense_device devices[SENSE_DEVICES];
    uint32_t n_devices;
    uint64_t n_device_changes; /* since the first inventory of all */
    struct sense_client clients[SENSE_CLIENTS];
    uint32_t n_clients;
    uint64_t clients_us; /* when they were told; 0: never in this connection */
    uint32_t id_most;    /* highest that this connection has named */
    uint64_t n_messages;
    uint64_t sample_us; /* Sample.at_us of the last */
    bool has_inventory; /* of this connection */
    bool had_inventory; /* of any */
    bool is_limited;
};

enum sense_outcome {
    SENSE_TAKEN,
    SENSE_LIE, /* it can't be true: @diag says what; nothing was changed */
};

void sense_book_init(struct sense_book *book);

/* The connection is new: ids and times start anew; readings stay and grow old. */
void sense_book_restart(struct sense_book *book);

/* After an inventory, once it was told who is gone: forgets those of them that never counted. @all: every one. */
void sense_book_sweep(struct sense_book *book, bool all);

/* @build: what ours is called. */
int sense_book_inventory(struct sense_book *book, const Sotto__Sense__Inventory *inventory, const char *build,
                         struct diag *diag);
int sense_book_sample(struct sense_book *book, const Sotto__Sense__Sample *sample, uint64_t now_us, struct diag *diag);

/* Once a second: the present values go into the history. @alive: sotto-sense is. */
void sense_book_tick(struct sense_book *book, uint64_t now_us, bool alive);

/* How a reading stands now: an OK one that is older than @most_us, or of a dead link, is stale. */
Sotto__Sense__State sense_book_state(const struct sense_source *source, uint64_t now_us, uint64_t most_us, bool alive);

/* The lowest-numbered source in use of @quantity, or NULL. Those that are gone come last. */
const struct sense_source *sense_book_find(const struct sense_book *book, Sotto__Sense__Quantity quantity);

/* Words of the interface: "temperature", "stale". */
const char *sense_quantity_name(Sotto__Sense__Quantity quantity);
const char *sense_state_name(Sotto__Sense__State state);

#endif
