/*
 * Sleep: what to do when the machine is about to sleep, and when it is awake again
 *
 * The service manager's logind tells before it suspends and waits (a few seconds at most) for everybody who holds a
 * delay lock. We hold one while awake. When told, nothing new is begun and what runs stands still at the end of its
 * part; then, or when SUSPEND_MOST_US have passed, the lock goes, and the machine may sleep. Once it is awake the lock
 * is taken again before work resumes.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_APP_SUSPEND_H
#define SOTTO_APP_SUSPEND_H

#include <stdbool.h>
#include <stdint.h>

/* A part takes 20 ms at most, a submission 100: what does not stand still by then hangs, and holds up no suspend. The
 * promise is 500. */
#define SUSPEND_MOST_US 450000u

enum suspend_state {
    SUSPEND_UNKNOWN, /* nobody tells us: there is no logind, or it does not answer yet */
    SUSPEND_AWAKE,   /* the lock is held */
    SUSPEND_GOING,   /* told; what runs has to stand still */
    SUSPEND_GONE,    /* the lock is given back: the machine may sleep at any moment */
    SUSPEND_STATE_COUNT,
};

struct suspend {
    enum suspend_state state;
    uint64_t told_us;
};

/* What the caller is to do now. */
enum suspend_do {
    SUSPEND_DO_NOTHING,
    SUSPEND_DO_STOP,    /* begin nothing more; then look (suspend_on_look) until told otherwise */
    SUSPEND_DO_RELEASE, /* give the lock back */
    SUSPEND_DO_WAKE,    /* take a lock, and let work resume */
};

void suspend_init(struct suspend *suspend);

/* The lock was taken. */
void suspend_on_locked(struct suspend *suspend);

/* logind says that the machine is going to sleep, or that it is back. */
enum suspend_do suspend_on_told(struct suspend *suspend, bool going, uint64_t now_us);

/* @is_still: nothing of ours runs. */
enum suspend_do suspend_on_look(struct suspend *suspend, bool is_still, uint64_t now_us);

/* logind is gone, and with it whoever would tell us that we are awake. */
enum suspend_do suspend_on_lost(struct suspend *suspend);

bool suspend_may_move(enum suspend_state from, enum suspend_state to);

#endif
