#include "ipc/ipc_state.h"
#include "base/clock.h"

/* Bounds of log lines about peers: a peer can cause thousands of them in a second, and the journal limits the rate of
 * all lines of the daemon together. */
#define LINES_MOST 20u
#define PERIOD_US  10000000u

static void on_handle_closed(uv_handle_t *handle)
{
    struct ipc *ipc = handle->data;

    if (--ipc->n_handles == 0) {
        ipc->done(ipc->owner);
    }
}

enum log_level ipc_log_level(struct ipc *ipc)
{
    uint64_t now_us = clock_mono_us();

    if (now_us - ipc->log_since_us >= PERIOD_US) {
        ipc->log_since_us = now_us;
        ipc->n_logged = 0;
    }
    if (ipc->n_logged > LINES_MOST) {
        return LOG_DEBUG;
    }
    if (++ipc->n_logged > LINES_MOST) {
        log_info("ipc", "more such lines are left out for some seconds; Status counts the events");
        return LOG_DEBUG;
    }
    return LOG_INFO;
}

/* The handles are closed last, since connections that are closing still have a frame to send. */
void ipc_left(struct ipc *ipc)
{
    if (ipc->closing && list_is_empty(&ipc->conns) && list_is_empty(&ipc->listeners) &&
        !uv_is_closing((const uv_handle_t *)&ipc->flusher)) {
        uv_close((uv_handle_t *)&ipc->flusher, on_handle_closed);
        uv_close((uv_handle_t *)&ipc->round_check, on_handle_closed);
        uv_close((uv_handle_t *)&ipc->round_timer, on_handle_closed);
        uv_close((uv_handle_t *)&ipc->spare_timer, on_handle_closed);
    }
}
