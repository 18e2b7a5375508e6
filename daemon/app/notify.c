/*
 * Notify: the functions of libsystemd
 */
#include "app/notify.h"
#include "base/clock.h"
#include <inttypes.h>
#include <stddef.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

void notify_ready(void)
{
    sd_notify(0, "READY=1");
}

void notify_status(const char *status)
{
    sd_notifyf(0, "STATUS=%s", status);
}

void notify_reloading(void)
{
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_mono_us());
}

void notify_stopping(uint64_t bound_us)
{
    sd_notifyf(0, "STOPPING=1\nEXTEND_TIMEOUT_USEC=%" PRIu64, bound_us);
}

uint64_t notify_watchdog_us(void)
{
    uint64_t us = 0;

    return sd_watchdog_enabled(0, &us) > 0 ? us : 0;
}

void notify_alive(void)
{
    sd_notify(0, "WATCHDOG=1");
}

int notify_sockets(int fds[NOTIFY_SOCKETS_MOST], int *ret_n, struct diag *diag)
{
    int n = sd_listen_fds(1); /* also makes them close-on-exec and removes the variables */

    if (n < 0) {
        n = 0;
    }
    if (n > NOTIFY_SOCKETS_MOST) {
        diag_set(diag, "%d sockets were passed in; the limit is %d; remove some from the .socket unit", n,
                 NOTIFY_SOCKETS_MOST);
        return NOTIFY_SOCKETS_REFUSED;
    }
    for (int i = 0; i < n; i++) {
        fds[i] = SD_LISTEN_FDS_START + i;
        if (sd_is_socket_unix(fds[i], SOCK_STREAM, 1, NULL, 0) <= 0) {
            diag_set(diag, "passed-in socket %d is not a listening unix stream socket; correct the .socket unit",
                     fds[i]);
            return NOTIFY_SOCKETS_REFUSED;
        }
    }
    *ret_n = n;
    return NOTIFY_SOCKETS_OK;
}
