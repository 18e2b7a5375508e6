/*
 * Walk: when to look for clients, and which to read in between
 *
 * Finding clients takes a walk over all of /proc, which is expensive, so it happens every 2 s, and soon after an event
 * (a client was lost, the kernel announced a device). In between only known clients are read: busy ones every 50 ms,
 * idle ones every 250 ms. A client that opens the device after a walk is missing until the next one.
 *
 * Pure.
 */
#ifndef SOTTO_LOAD_WALK_H
#define SOTTO_LOAD_WALK_H

#include <stdbool.h>
#include <stdint.h>

struct client;

#define WALK_PERIOD_US 2000000u
#define WALK_AGAIN_US  250000u /* minimum between two walks, for whatever reason */

/* Timers jitter: a reading that comes this early counts as on time. */
#define WALK_SLACK_US 5000u
#define WALK_BUSY_US  50000u
#define WALK_IDLE_US  250000u

struct walk {
    uint64_t begun_us; /* start of the last one */
    bool has_begun;    /* ever */
    bool has_ended;    /* ever */
    bool is_under_way; /* spread over several readings */
    bool is_wanted;    /* requested early */
};

enum walk_step {
    WALK_STEP_BEGIN,    /* begin a walk now */
    WALK_STEP_CONTINUE, /* go on with the current one */
    WALK_STEP_KNOWN,    /* read known clients */
};

enum walk_step walk_step(const struct walk *walk, uint64_t now_us);
void walk_begin(struct walk *walk, uint64_t now_us);
void walk_end(struct walk *walk);

/* Returns true if a known client is due. One that was read only once counts as busy. */
bool walk_is_due(const struct client *client, uint64_t now_us);

#endif
