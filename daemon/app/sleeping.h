/*
 * Sleeping: between logind, which tells of sleep, and the hub, which stands still for it
 *
 * The loop's thread.
 */
#ifndef SOTTO_APP_SLEEPING_H
#define SOTTO_APP_SLEEPING_H

#include "app/logind.h"
#include "app/sleep.h"
#include "stream/hub.h"

struct sleeping {
    struct sleep sleep;
    struct logind *logind; /* NULL: nobody tells */
    struct hub *hub;
    uv_timer_t look; /* while something still runs */
};

/* 0, or a fault: no memory. */
int sleeping_begin(struct sleeping *sleeping, uv_loop_t *loop, struct hub *hub);

/* Gives the lock back and hears no more. The timer is closed by whoever closes the loop's. Twice is once. */
void sleeping_end(struct sleeping *sleeping);

#endif
