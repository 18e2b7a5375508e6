/*
 * Logind: the one who knows when the machine sleeps
 *
 * Over the system's bus, by libsystemd. Nothing here waits: calls are sent and answered from the loop. A machine
 * without a bus or without logind never tells, which is said once; built without libsystemd (logind_none.c) it is so
 * always.
 *
 * The loop's thread.
 */
#ifndef SOTTO_APP_LOGIND_H
#define SOTTO_APP_LOGIND_H

#include <stdbool.h>
#include <uv.h>

struct logind;

struct logind_sink {
    void (*on_locked)(void *owner);               /* the lock that was asked for is ours */
    void (*on_sleep)(void *owner, bool is_going); /* going to sleep, or back */
    void (*on_lost)(void *owner);                 /* nobody will tell any more */
};

/* Connects and asks for a lock. NULL in *ret_logind: there is no bus. 0, or a fault. */
int logind_open(struct logind **ret_logind, uv_loop_t *loop, const struct logind_sink *sink, void *owner);

/* Asks for the lock (again). */
void logind_lock(struct logind *logind);

/* Gives it back; nothing if there is none. */
void logind_release(struct logind *logind);

/* Nothing is called back any more. Memory goes when the loop has closed its handles. NULL is allowed. */
void logind_close(struct logind *logind);

#endif
