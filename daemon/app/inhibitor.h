/*
 * Inhibitor: the delay lock of logind, under which the hub stops before the machine sleeps
 *
 * All functions run in the loop's thread.
 */
#ifndef SOTTO_APP_INHIBITOR_H
#define SOTTO_APP_INHIBITOR_H

#include "app/logind.h"
#include "app/suspend.h"
#include "hub/hub.h"

struct inhibitor {
    struct suspend suspend;
    struct logind *logind; /* NULL: sleep is not announced */
    struct hub *hub;
    uv_timer_t look; /* runs until all steps have stopped */
};

/* Asks for the lock. Returns 0, or a fault if there is no memory. */
int inhibitor_begin(struct inhibitor *inhibitor, uv_loop_t *loop, struct hub *hub);

/* Releases the lock and unsubscribes; idempotent. The caller that walks the loop's handles closes the timer. */
void inhibitor_end(struct inhibitor *inhibitor);

#endif
