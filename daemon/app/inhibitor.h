/*
 * Sleeping: between logind, which tells of sleep, and the hub, which stands still for it
 *
 * The loop's thread.
 */
#ifndef SOTTO_APP_INHIBITOR_H
#define SOTTO_APP_INHIBITOR_H

#include "app/logind.h"
#include "app/suspend.h"
#include "hub/hub.h"

struct inhibitor {
    struct suspend suspend;
    struct logind *logind; /* NULL: nobody tells */
    struct hub *hub;
    uv_timer_t look; /* while something still runs */
};

/* 0, or a fault: no memory. */
int inhibitor_begin(struct inhibitor *inhibitor, uv_loop_t *loop, struct hub *hub);

/* Gives the lock back and hears no more. The timer is closed by whoever closes the loop's. Twice is once. */
void inhibitor_end(struct inhibitor *inhibitor);

#endif
