/*
 * Suspend: what to do before the machine sleeps, and when it is awake again
 *
 * logind announces a suspend and waits (a few seconds at most) for all holders of a delay lock. We hold one while the
 * machine is awake. When logind announces, nothing new is started, and running steps stop at the end of their part;
 * then, or after SUSPEND_MOST_US, the lock is released and the machine may sleep. Once it is awake, the lock is taken
 * again before work resumes.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_APP_SUSPEND_H
#define SOTTO_APP_SUSPEND_H

#include <stdbool.h>
#include <stdint.h>

/* A part takes 20 ms at most, a submission 100: a step that runs longer hangs and must not delay the suspend. The
 * documented limit is 500 ms. */
#define SUSPEND_MOST_US 450000u

enum suspend_state {
    SUSPEND_UNKNOWN, /* there is no logind, or it has not answered yet */
    SUSPEND_AWAKE,   /* the lock is held */
    SUSPEND_GOING,   /* announced; running steps have to stop */
    SUSPEND_GONE,    /* the lock is released: the machine may sleep at any moment */
    SUSPEND_STATE_COUNT,
};

struct suspend {
    enum suspend_state state;
    uint64_t announced_us;
};

/* The next action of the caller. */
enum suspend_do {
    SUSPEND_DO_NOTHING,
    SUSPEND_DO_STOP,    /* start nothing more; then call suspend_on_look() until the state changes */
    SUSPEND_DO_RELEASE, /* release the lock */
    SUSPEND_DO_WAKE,    /* take a lock, and let work resume */
};

void suspend_init(struct suspend *suspend);

/* Call this when the lock was taken. */
void suspend_on_locked(struct suspend *suspend);

/* Call this when logind announces that the machine is going to sleep, or is back. */
enum suspend_do suspend_on_announced(struct suspend *suspend, bool going, uint64_t now_us);

/* Call this repeatedly while going; @is_still: no step runs. */
enum suspend_do suspend_on_look(struct suspend *suspend, bool is_still, uint64_t now_us);

/* Call this when logind is gone: it can no longer announce that the machine is awake. */
enum suspend_do suspend_on_lost(struct suspend *suspend);

bool suspend_may_move(enum suspend_state from, enum suspend_state to);

#endif
