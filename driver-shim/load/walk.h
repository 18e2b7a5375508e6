/*
 * Walk: when to look for clients, and whom to read in between
 *
 * Pure. To find clients all of /proc must be walked, which is dear, so it is done every 2 s, and soon when something
 * happened (a client was lost, the kernel told of a device). In between only known clients are read: busy ones every
 * 50 ms, idle ones every 250 ms. Who came since the last walk is missing until the next one.
 */
#ifndef SOTTO_LOAD_WALK_H
#define SOTTO_LOAD_WALK_H

#include <stdbool.h>
#include <stdint.h>

struct client;

#define WALK_PERIOD_US 2000000u
#define WALK_AGAIN_US  250000u /* between two walks at least, whoever asks */

/* Times of turns jitter: a turn that comes a little early is the turn. */
#define WALK_SLACK_US 5000u
#define WALK_BUSY_US  50000u
#define WALK_IDLE_US  250000u

struct walk {
    uint64_t begun_us; /* the last one */
    bool has_begun;    /* ever */
    bool has_ended;    /* ever */
    bool is_under_way; /* spread over several turns */
    bool is_wanted;    /* before its time */
};

enum walk_step {
    WALK_STEP_BEGIN,    /* begin a walk now */
    WALK_STEP_CONTINUE, /* with the one under way */
    WALK_STEP_KNOWN,    /* read known clients */
};

enum walk_step walk_step(const struct walk *walk, uint64_t now_us);
void walk_begin(struct walk *walk, uint64_t now_us);
void walk_end(struct walk *walk);

/* A known client is to be read now. Who was seen once only counts as busy. */
bool walk_is_due(const struct client *client, uint64_t now_us);

#endif
