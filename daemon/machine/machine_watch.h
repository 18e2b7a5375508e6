/*
 * Machine watch: sottod's connection to sotto-sense, and what it knows of the machine by it
 *
 * sottod opens nothing below /sys or /proc: a small process beside it does, which has the rights for that, and reports
 * what it reads. That process may be killed, hang, or lie (it reads what drivers and strangers write). So sottod
 * believes only what can be true; a liar is dropped and started again after a pause; and whatever is not known, or no
 * longer, is BLIND in what the governor gets: busy and hot, never idle and cool.
 *
 * NONE is for a machine that has no such thing, once sotto-sense has reported so, or for a configuration that wants no
 * protection (start: never). What was there once and is gone is BLIND until it comes back or the configuration is read
 * again.
 *
 * The loop's thread.
 */
#ifndef SOTTO_MACHINE_MACHINE_WATCH_H
#define SOTTO_MACHINE_MACHINE_WATCH_H

#include "base/arena.h"
#include "govern/governor.h"
#include <sotto/v1/sotto.pb-c.h>
#include <uv.h>

/* The bytes of all texts of a machine_config together, at most. */
#define MACHINE_CONFIG_BYTES (64u << 10)

enum machine_start {
    MACHINE_NEVER,  /* no sotto-sense: nothing is protected */
    MACHINE_AUTO,   /* the socket, if one is named or the usual one lets us in; else a child */
    MACHINE_CHILD,  /* a child of ours, without rights but our own */
    MACHINE_SOCKET, /* the socket alone: another program starts it */
};

struct machine_config {
    enum machine_start start;
    const char *socket;       /* absolute; NULL: the usual one */
    const char *program;      /* of the child; NULL: there is none */
    const char *root;         /* the child's --root; NULL: the machine */
    const char *device;       /* the child's --device; NULL: sotto-sense chooses */
    const char *const *zones; /* patterns (fnmatch) of the zones that count; none: those that sotto-sense chose */
    size_t n_zones;
    const char *const *scales; /* the child's --scale, "PATTERN=FACTOR" */
    size_t n_scales;
    uint32_t uid;         /* of the peer, beside root and our own; UINT32_MAX: none else */
    uint32_t pause_ms[3]; /* before the second, third, and all further starts; 0: 100, 1000, 10000 */
};

struct machine_watch;

struct machine_watch_sink {
    /* New readings came. @early: the kernel has reported something, so that a tick before its time is worth it. */
    void (*on_sample)(void *owner, bool early);
    /* An event for Watch and the log; pairs as in events_fn. */
    void (*on_event)(void *owner, const char *name, const char *const *pairs, size_t n_pairs);
    /* Returns whether this client of the device is one of our engines. */
    bool (*is_ours)(void *owner, uint32_t minor, uint64_t client, uint32_t pid);
};

/* Makes a watch with a copy of @config; nothing is started yet. 0 or -ENOMEM. */
int machine_watch_create(struct machine_watch **ret_watch, uv_loop_t *loop, const struct machine_config *config,
                         const struct machine_watch_sink *sink, void *owner);

/* Starts or connects to sotto-sense, again whenever it is lost, until the end. */
void machine_watch_begin(struct machine_watch *watch);

/* Ends the watch: the child is killed, the socket closed. @done is called once, from the loop, when every handle is
 * closed and the child reaped. */
void machine_watch_end(struct machine_watch *watch, void (*done)(void *owner), void *owner);

/* Frees a watch that has not begun, or after its end was called back. NULL is allowed. */
void machine_watch_destroy(struct machine_watch *watch);

/* Puts @config in force: its demands from the next fill on, another socket or program by a new start. What is
 * remembered of sources that are gone is forgotten. 0, or -ENOMEM and nothing changed. */
int machine_watch_configure(struct machine_watch *watch, const struct machine_config *config);

/* Returns whether sotto-sense answers: its inventory has come, and it is not silent. */
bool machine_watch_is_there(const struct machine_watch *watch);

/* Asks for load every @period_ms (10 to 1000): 50 while there is work, 1000 otherwise. Cheap when it is so already. */
void machine_watch_rate(struct machine_watch *watch, uint32_t period_ms);

/* Fills graphics, zones, power and pressure of @input as of @now_us; leaves the rest alone. */
void machine_watch_fill(const struct machine_watch *watch, uint64_t now_us, struct governor_input *input);

/* Gives the joules of the meter in use, and when it was read. False: none is read. */
bool machine_watch_energy(const struct machine_watch *watch, uint64_t now_us, uint64_t *ret_at_us, uint64_t *ret_uj);

/* Fills devices and sensors of @report from @arena. 0 or -ENOMEM. */
int machine_watch_report(const struct machine_watch *watch, uint64_t now_us, struct arena *arena,
                         Sotto__V1__StatusReport *report);

#endif
