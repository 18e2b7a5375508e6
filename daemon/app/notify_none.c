/*
 * Notify none: replaces notify.c in a build without libsystemd
 */
#include "app/notify.h"

void notify_ready(void)
{
}

void notify_status(const char *status)
{
    (void)status;
}

void notify_reloading(void)
{
}

void notify_stopping(uint64_t bound_us)
{
    (void)bound_us;
}

uint64_t notify_watchdog_us(void)
{
    return 0;
}

void notify_alive(void)
{
}

int notify_sockets(int fds[NOTIFY_SOCKETS_MOST], int *ret_n, struct diag *diag)
{
    (void)fds;
    (void)diag;
    *ret_n = 0;
    return NOTIFY_SOCKETS_OK;
}
