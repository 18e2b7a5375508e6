/*
 * Governor loop: drives the governor, and tells what it decides
 *
 * A tick gathers what is known (readings of sotto-sense, compositors' hints, the time that steps have held their
 * places, sleep) and asks the governor. It ticks every GOVERNOR_LOOP_TICK_MS while there is work, or a hint holds, and
 * three seconds longer; whenever the kernel tells of something; and never else: an idle daemon has no timer. What
 * changes is an event ("mode" on Watch, and so a line in the log), a counter and a mark in the trace, and each
 * stream that it holds back is told once.
 *
 * The loop's thread.
 */
#ifndef SOTTO_DISPATCH_GOVERNOR_LOOP_H
#define SOTTO_DISPATCH_GOVERNOR_LOOP_H

#include "base/arena.h"
#include "govern/energy.h"
#include "govern/governor.h"
#include "govern/usage.h"
#include "machine/compositor.h"
#include <sotto/v1/sotto.pb-c.h>
#include <uv.h>

#define GOVERNOR_LOOP_TICK_MS 50u

/* A stream hears of its limits no more often than that. */
#define GOVERNOR_LOOP_NOTICE_US 1000000u

struct instance;
struct grant;
struct hub;
struct stream;
struct dispatch_step;

struct governor_loop {
    uv_timer_t timer;
    bool ticks;
    bool is_asleep;    /* from PrepareForSleep on, until the machine is awake and has been looked at */
    uint64_t calm_us;  /* since when it ticks for nothing but to see what work did; 0: it does not */
    uint64_t awake_us; /* when it woke; 0: it has been looked at since */
    uint64_t ticked_us;

    /* Time that slices have held each place, ever, and how much of it the last tick was told, with what ran then. */
    uint64_t held_us[PROCESSOR_COUNT];
    uint64_t told_us[PROCESSOR_COUNT];
    uint64_t n_slices[PROCESSOR_COUNT];

    /* Of steps of the device that ended since the last tick. */
    double took_ns;
    double estimated_ns;

    struct list compositors; /* compositor::link: those who have hinted, and are there */
    uint32_t n_missed;       /* frames, of all of them, since the last tick */

    uint32_t kv_permille; /* that engines were told */
    bool has_meter;

    struct energy energy;
    struct usage_table usage_table;
};

void governor_loop_init(struct hub *hub, const struct governor_policy *policy, const struct energy_stated *stated);

/* Its handle is in the loop from here on, and counts as one of the hub's. */
void governor_loop_start(struct hub *hub);
void governor_loop_close(struct hub *hub, uv_close_cb closed);
void governor_loop_finish(struct hub *hub);

/* Another policy and statement hold from the next tick on. */
void governor_loop_configure(struct hub *hub, const struct governor_policy *policy, const struct energy_stated *stated);

/* Once a turn, before anything is planned: begins to tick when there is work, and ends it. */
void governor_loop_run(struct hub *hub);

/* sotto-sense has told something. */
void governor_loop_on_sample(struct hub *hub, bool early);

/* A slice of @step has ended after @held_us; @done: with it the step, whose jobs are still in it. */
void governor_loop_slice_ended(struct hub *hub, const struct dispatch_step *step, uint64_t held_us, bool done);

/* Time that slices have held @place, ever, with those that run at @now_us. */
uint64_t governor_loop_held_us(const struct hub *hub, enum processor place, uint64_t now_us);

/* ---- governor_loop_report.c */

/* In the protocol's words. */
Sotto__V1__EnergySource governor_loop_energy_source(enum energy_source source);

/* Fills the governor's rows and the accounts that @grant may see. 0 or -ENOMEM. */
int governor_loop_report(const struct hub *hub, const struct grant *grant, struct arena *arena,
                         Sotto__V1__StatusReport *report);

/* ---- governor_report_mode.c */

/* A mode or a cause has changed: an event, a counter, a mark. @was: the limits before. */
void governor_report_mode(struct hub *hub, const struct governor_limits was[PROCESSOR_COUNT]);

/* Tells streams that are held back now, or no longer. */
void governor_report_streams(struct hub *hub, uint64_t now_us);

/* Engines are told how many pages they may use: all of them, or one that is ready now. */
void governor_loop_tell_pages(struct hub *hub);
void governor_loop_on_ready(struct instance *instance);

/* ---- metering.c */

/* The meter may have moved. */
void metering_read(struct hub *hub, uint64_t now_us);

/* @step has ended: charges those who were in it. */
void metering_charge(struct hub *hub, const struct dispatch_step *step);

/* Rows were computed for @stream. */
void metering_count(struct stream *stream, uint32_t n_tok);

/* A request of @uid was refused. */
void metering_refused(struct hub *hub, uint32_t uid);

/* How long until the user's joules of the minute allow anything; 0: now. */
uint64_t metering_wait_us(struct hub *hub, const struct grant *grant, uint64_t boot_us);

#endif
