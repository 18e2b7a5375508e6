/*
 * Sampler: which source is read when, which one decides, and what is new of it
 *
 * Times lie on a grid, so that what is read once a second is read in one round. Load is read at the pace that is
 * asked for, heat faster near a trip point, all else once a second; nobody asks faster: nothing faster than that,
 * but for a load whose first look has told nothing yet. A source that is asked and does not answer is stale: its
 * value stays and grows old.
 *
 * Of the sources of one quantity the one with the lowest rank that is OK is in use; it must have been better or
 * worse for a while, so that a flapping file does not make the choice flap. Of zones and cooling devices all count.
 *
 * Time is an argument. One thread.
 */
#ifndef SOTTO_SENSOR_SAMPLER_H
#define SOTTO_SENSOR_SAMPLER_H

#include "sensor/finder.h"
#include "sensor/readers.h"

#define SAMPLER_IDLE_MS    1000u
#define SAMPLER_FASTEST_MS 10u

/* How long an answer may take. */
#define SAMPLER_OVERDUE_US UINT64_C(1000000)

/* A choice is changed for what has lasted so long. */
#define SAMPLER_SETTLE_US UINT64_C(2000000)

struct channel {
    struct list link; /* sampler::gauges */
    struct read_job job;
    struct source_facts facts;
    uint32_t id;
    uint64_t due_us;
    bool in_use;
    bool is_new;       /* its reading is not told yet */
    bool was_read;     /* once, or found overdue */
    bool was_ok;       /* once */
    bool is_overdue;   /* asked, and did not answer in time */
    bool is_named;     /* by the last scan */
    uint64_t since_us; /* when it became OK, or ceased to be */
    struct reading now;
    uint32_t n_clients;
    struct source_client clients[]; /* SOURCE_CLIENTS_MAX, and as many for the job; none if it tells none apart */
};

struct sampler {
    struct readers *readers;
    struct list channels; /* channel::link, in the order of the last scan */
    uint32_t n_ids;       /* given so far */
    uint32_t rate_ms;
    uint32_t least_ms; /* nothing is read faster; 0: no bound of its own */
    bool has_changed;  /* the inventory: sources, or which are in use */
    struct device_facts devices[FINDER_DEVICES_MAX];
    uint32_t n_devices;
};

void sampler_init(struct sampler *sampler, struct readers *readers);

/* Frees; sources are the finder's. All jobs must rest, or their readers be gone. */
void sampler_finish(struct sampler *sampler);

/* Takes over what a scan found. 0 or -ENOMEM, with what fitted. */
int sampler_take_scan(struct sampler *sampler, const struct scan_result *scan_result, uint64_t now_us);

/* How fast somebody wants to know: 10 to 1000 ms. */
void sampler_set_rate(struct sampler *sampler, uint32_t period_ms, uint64_t now_us);

/* Everything is due now, as after a pause of all reading. */
void sampler_wake(struct sampler *sampler, uint64_t now_us);

/* What a kernel event may be about is due now: heat, throttling and power. */
void sampler_hurry(struct sampler *sampler, uint64_t now_us);

/* Asks for all that is due, and marks what is overdue. Gives the time when to call again. */
uint64_t sampler_step(struct sampler *sampler, uint64_t now_us);

/* Takes what the readers have done. True if anything is new. */
bool sampler_collect(struct sampler *sampler, uint64_t now_us);

/* True if a job that is not overdue is still out: a round is not whole yet. */
bool sampler_is_pending(const struct sampler *sampler);

#endif
