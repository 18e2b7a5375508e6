/*
 * Sleep: what to do when the machine is about to sleep, and when it is awake again
 *
 * The service manager's logind tells before it suspends and waits (a few seconds at most) for everybody who holds a
 * delay lock. We hold one while awake. When told, nothing new is begun and what runs stands still at the end of its
 * part; then, or when SLEEP_MOST_US have passed, the lock goes, and the machine may sleep. Once it is awake the lock
 * is taken again before work resumes.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_APP_SLEEP_H
#define SOTTO_APP_SLEEP_H

#include <stdbool.h>
#include <stdint.h>

/* A part takes 20 ms at most, a submission 100: what does not stand still by then hangs, and holds up no suspend. The
 * promise is 500. */
#define SLEEP_MOST_US 450000u

enum sleep_state {
    SLEEP_UNKNOWN, /* nobody tells us: there is no logind, or it does not answer yet */
    SLEEP_AWAKE,   /* the lock is held */
    SLEEP_GOING,   /* told; what runs has to stand still */
    SLEEP_GONE,    /* the lock is given back: the machine may sleep at any moment */
    SLEEP_STATE_COUNT,
};

struct sleep {
    enum sleep_state state;
    uint64_t told_us;
};

/* What the caller is to do now. */
enum sleep_do {
    SLEEP_DO_NOTHING,
    SLEEP_DO_STOP,    /* begin nothing more; then look (sleep_on_look) until told otherwise */
    SLEEP_DO_RELEASE, /* give the lock back */
    SLEEP_DO_WAKE,    /* take a lock, and let work resume */
};

void sleep_init(struct sleep *sleep);

/* The lock was taken. */
void sleep_on_locked(struct sleep *sleep);

/* logind says that the machine is going to sleep, or that it is back. */
enum sleep_do sleep_on_told(struct sleep *sleep, bool going, uint64_t now_us);

/* @is_still: nothing of ours runs. */
enum sleep_do sleep_on_look(struct sleep *sleep, bool is_still, uint64_t now_us);

/* logind is gone, and with it whoever would tell us that we are awake. */
enum sleep_do sleep_on_lost(struct sleep *sleep);

bool sleep_may_move(enum sleep_state from, enum sleep_state to);

#endif
