/*
 * Logind none: replaces logind.c in a build without libsystemd
 */
#include "app/logind.h"

int logind_open(struct logind **ret_logind, uv_loop_t *loop, const struct logind_sink *sink, void *owner)
{
    (void)loop;
    (void)sink;
    (void)owner;
    *ret_logind = NULL;
    return 0;
}

void logind_lock(struct logind *logind)
{
    (void)logind;
}

void logind_release(struct logind *logind)
{
    (void)logind;
}

void logind_close(struct logind *logind)
{
    (void)logind;
}
