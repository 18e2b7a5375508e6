/*
 * Sampler: which source is read when, which one is in use, and which readings are new
 *
 * Times lie on a grid, so that sources with a period of a second are read in one round. Load is read at the requested
 * rate, temperatures faster near a trip point, everything else once a second. No source is read faster than requested,
 * except a load that has no first interval yet. A source that does not answer in time becomes stale and keeps its last
 * value.
 *
 * Of the sources of one quantity the OK one with the lowest rank is in use; it must have been better or worse for a
 * while, so that a file that comes and goes does not make the choice flap. All zones and cooling devices are in use.
 *
 * Time is an argument. One thread.
 */
#ifndef SOTTO_SENSOR_SAMPLER_H
#define SOTTO_SENSOR_SAMPLER_H

#include "sensor/finder.h"
#include "sensor/readers.h"

#define SAMPLER_IDLE_MS    1000u
#define SAMPLER_FASTEST_MS 10u

/* Time in which a source has to answer. */
#define SAMPLER_OVERDUE_US UINT64_C(1000000)

/* A difference must last this long to change the choice. */
#define SAMPLER_SETTLE_US UINT64_C(2000000)

struct channel {
    struct list link; /* sampler::channels */
    struct read_job job;
    struct source_facts facts;
    uint32_t id;
    uint64_t due_us;
    bool in_use;
    bool is_new;       /* its reading was not reported yet */
    bool was_read;     /* at least once, or found overdue */
    bool was_ok;       /* at least once */
    bool is_overdue;   /* did not answer in time */
    bool is_named;     /* found by the last scan */
    uint64_t since_us; /* when it became OK, or ceased to be */
    struct reading now;
    uint32_t n_clients;
    /* SOURCE_CLIENTS_MAX, and as many for the job; none if it does not tell them apart */
    struct source_client clients[];
};

struct sampler {
    struct readers *readers;
    struct list channels; /* channel::link, in the order of the last scan */
    uint32_t n_ids;       /* assigned so far */
    uint32_t rate_ms;
    uint32_t least_ms; /* minimum period; 0: none */
    bool has_changed;  /* the inventory: the sources, or which are in use */
    struct device_facts devices[FINDER_DEVICES_MAX];
    uint32_t n_devices;
};

void sampler_init(struct sampler *sampler, struct readers *readers);

/* Frees all channels; the sources are the finder's. All jobs must be idle, or the readers closed. */
void sampler_finish(struct sampler *sampler);

/* Takes the result of a scan. 0 or -ENOMEM, with those channels that fitted. */
int sampler_take_scan(struct sampler *sampler, const struct scan_result *scan_result, uint64_t now_us);

/* Sets the rate: a period of 10 to 1000 ms. */
void sampler_set_rate(struct sampler *sampler, uint32_t period_ms, uint64_t now_us);

/* Makes all channels due, as after a pause. */
void sampler_wake(struct sampler *sampler, uint64_t now_us);

/* Makes due what a kernel event may be about: temperature, throttling and power. */
void sampler_hurry(struct sampler *sampler, uint64_t now_us);

/* Submits everything that is due, and marks what is overdue. Returns the time of the next call. */
uint64_t sampler_step(struct sampler *sampler, uint64_t now_us);

/* Takes the finished readings. True if there is any. */
bool sampler_collect(struct sampler *sampler, uint64_t now_us);

/* Returns true if a reading is pending and not overdue: the round is not complete. */
bool sampler_is_pending(const struct sampler *sampler);

#endif
