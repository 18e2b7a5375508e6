/*
 * Logind: announces when the machine sleeps (org.freedesktop.login1, "Inhibitor Locks" of systemd)
 *
 * It is reached over the system bus with libsystemd. Nothing here blocks: calls are sent and answered from the loop.
 * Without a bus or without logind sleep is never announced, which is logged once; a build without libsystemd
 * (logind_none.c) always behaves so.
 *
 * All functions run in the loop's thread.
 */
#ifndef SOTTO_APP_LOGIND_H
#define SOTTO_APP_LOGIND_H

#include <stdbool.h>
#include <uv.h>

struct logind;

struct logind_sink {
    void (*on_locked)(void *owner);               /* the lock is taken */
    void (*on_sleep)(void *owner, bool is_going); /* going to sleep, or back */
    void (*on_lost)(void *owner);                 /* sleep is no longer announced */
};

/* Connects and asks for a lock. *ret_logind is NULL if there is no bus. Returns 0 or a fault. */
int logind_open(struct logind **ret_logind, uv_loop_t *loop, const struct logind_sink *sink, void *owner);

/* Asks for the lock (again). */
void logind_lock(struct logind *logind);

/* Releases the lock; does nothing if there is none. */
void logind_release(struct logind *logind);

/* Ends all callbacks. The memory is freed when the loop has closed the handles. Takes NULL. */
void logind_close(struct logind *logind);

#endif
