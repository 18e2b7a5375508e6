/*
 * Machine state: what sotto-sense has reported, checked and kept
 *
 * Messages in, judgement and readings out: no socket, no clock. A message that can't be true is refused with a sentence
 * and changes nothing; the owner of the link then drops the process that sent it. The state has each source's latest
 * reading, a value a second of the last two minutes, the clients of the load source in use, and what was there once and
 * is gone.
 */
#ifndef SOTTO_MACHINE_MACHINE_STATE_H
#define SOTTO_MACHINE_MACHINE_STATE_H

#include "base/diag.h"
#include "govern/governor.h"
#include <sotto/sense.pb-c.h>

#define MACHINE_SOURCES 128u
#define MACHINE_DEVICES 16u
#define MACHINE_CLIENTS 64u
#define MACHINE_HISTORY 120u /* values, one a second */

/* A reading that is slower than this has stopped. sotto-sense reads everything once a second. */
#define MACHINE_OLD_US UINT64_C(3500000)

#define MACHINE_STATES (SOTTO__SENSE__STATE__STATE_FORBIDDEN + 1)

struct machine_reading {
    Sotto__Sense__State state;
    int64_t value;
    uint64_t at_us;
    uint32_t blind_permille;
    char why[96];
};

struct machine_source {
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
    int64_t most;  /* the highest there is, as reported; else, of a clock, the highest that was seen */
    struct machine_reading now;
    uint32_t n_history;
    uint32_t history_at; /* where the next value goes */
    int64_t history[MACHINE_HISTORY];
    bool was_listed;   /* watchers know of it */
    bool was_reported; /* and of its state: @reported, since @reported_us */
    Sotto__Sense__State reported;
    uint64_t reported_us;
    uint64_t seen_in; /* number of the message that names it: once in each */
};

struct machine_device {
    uint32_t minor;
    char driver[32];
    bool has_display;
    bool is_ours;
};

struct machine_client {
    uint32_t minor;
    uint64_t id;
    uint32_t pid;
    uint32_t graphics_permille;
    uint32_t compute_permille;
};

struct machine_state {
    struct machine_source sources[MACHINE_SOURCES];
    uint32_t n_sources;
    struct machine_device devices[MACHINE_DEVICES];
    uint32_t n_devices;
    uint64_t n_device_changes; /* since the first inventory of all */
    struct machine_client clients[MACHINE_CLIENTS];
    uint32_t n_clients;
    uint64_t clients_us; /* when they were reported; 0: never in this connection */
    uint32_t id_most;    /* highest that this connection has named */
    uint64_t n_messages;
    uint64_t sample_us; /* Sample.at_us of the last */
    bool has_inventory; /* of this connection */
    bool had_inventory; /* of any */
    bool is_limited;
};

enum machine_outcome {
    MACHINE_TAKEN,
    MACHINE_LIE, /* it can't be true: @diag explains; nothing was changed */
};

void machine_state_init(struct machine_state *machine);

/* Starts a new connection: ids and times begin again; readings stay and grow old. */
void machine_state_restart(struct machine_state *machine);

/* Forgets sources that are gone and never counted (@all: every one that is gone), once their going has been
 * reported. */
void machine_state_sweep(struct machine_state *machine, bool all);

/* Takes an inventory. @build is our own. Returns an enum machine_outcome, with a sentence in @diag. */
int machine_state_inventory(struct machine_state *machine, const Sotto__Sense__Inventory *inventory, const char *build,
                            struct diag *diag);
int machine_state_sample(struct machine_state *machine, const Sotto__Sense__Sample *sample, uint64_t now_us,
                         struct diag *diag);

/* Puts the present values into the history, once a second. @alive: sotto-sense answers. */
void machine_state_tick(struct machine_state *machine, uint64_t now_us, bool alive);

/* Returns how a reading stands now: an OK one that is older than @most_us, or of a dead link, is stale. */
Sotto__Sense__State machine_state_state(const struct machine_source *source, uint64_t now_us, uint64_t most_us,
                                        bool alive);

/* Returns the lowest-numbered source in use of @quantity, or NULL. Those that are gone come last. */
const struct machine_source *machine_state_find(const struct machine_state *machine, Sotto__Sense__Quantity quantity);

/* Return words of the interface: "temperature", "stale". */
const char *machine_quantity_name(Sotto__Sense__Quantity quantity);
const char *machine_state_name(Sotto__Sense__State state);

#endif
