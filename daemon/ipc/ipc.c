#include "ipc/ipc.h"
#include "base/clock.h"
#include "base/err.h"
#include "ipc/frame_queue.h"
#include "ipc/listener.h"
#include "ipc/route.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>

/* Pages of large blocks that were freed are kept for so long: in a flood the next frame takes them. */
#define SPARE_MS 10000u

static void on_spare(uv_timer_t *timer)
{
    (void)timer;
    mem_return_spare();
}

/* Runs before the loop waits: sends what was queued in this iteration, each connection's frames in one write. */
static void flush_dirty(uv_prepare_t *flusher)
{
    struct ipc *ipc = flusher->data;
    struct list *link;

    if (mem_has_spare() && !uv_is_active((const uv_handle_t *)&ipc->spare_timer)) {
        uv_timer_start(&ipc->spare_timer, on_spare, SPARE_MS, 0);
    }
    while ((link = list_first(&ipc->dirty)) != NULL) {
        conn_flush(container_of(link, struct conn, dirty));
    }
}

static void name_instance(char name[33])
{
    uint8_t bytes[16];

    clock_entropy(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        snprintf(name + 2 * i, 3, "%02x", bytes[i]);
    }
}

int ipc_create(struct ipc **ret_ipc, uv_loop_t *loop, struct hub *hub, const struct ipc_limits *limits,
               const struct ipc_ops *ops, void *owner)
{
    struct ipc *ipc = mem_calloc(MEM_WIRE, 1, sizeof(*ipc));

    if (!ipc) {
        return err_new(-ENOMEM);
    }
    ipc->loop = loop;
    ipc->hub = hub;
    ipc->ops = ops;
    ipc->conn_ops = &route_ops;
    ipc->owner = owner;
    ipc->limits = *limits;
    ipc->started_us = clock_boot_us();
    name_instance(ipc->instance);
    list_init(&ipc->listeners);
    list_init(&ipc->conns);
    list_init(&ipc->dirty);
    list_init(&ipc->tenants);
    list_init(&ipc->watches);
    list_init(&ipc->due);
    wire_init(&ipc->wire, MEM_WIRE);
    uv_prepare_init(loop, &ipc->flusher);
    ipc->flusher.data = ipc;
    uv_timer_init(loop, &ipc->spare_timer);
    ipc->spare_timer.data = ipc;
    ipc->n_handles = 4;
    uv_prepare_start(&ipc->flusher, flush_dirty);
    uv_unref((uv_handle_t *)&ipc->flusher);
    uv_unref((uv_handle_t *)&ipc->spare_timer);
    frame_queue_start(ipc);
    *ret_ipc = ipc;
    return 0;
}

void ipc_reconfigure(struct ipc *ipc, const struct ipc_limits *limits)
{
    struct list *link;

    ipc->limits = *limits;
    list_for_each (link, &ipc->conns) {
        struct conn *conn = container_of(link, struct conn, link);

        if (conn_is_open(conn)) {
            conn_ask_policy(conn);
        }
    }
}

void ipc_stop_listening(struct ipc *ipc)
{
    struct list *link;
    struct list *after;

    list_for_each_safe (link, after, &ipc->listeners) {
        listener_close(container_of(link, struct listener, link));
    }
}

void ipc_close(struct ipc *ipc, void (*done)(void *owner))
{
    struct list *link;
    struct list *after;

    assert(!ipc->closing);
    ipc->closing = true;
    ipc->done = done;
    ipc_stop_listening(ipc);
    list_for_each_safe (link, after, &ipc->conns) {
        conn_fail(container_of(link, struct conn, link), SOTTO__V1__CODE__CODE_UNAVAILABLE, "",
                  "the daemon is shutting down");
    }
    ipc_left(ipc);
}

void ipc_destroy(struct ipc *ipc)
{
    if (!ipc) {
        return;
    }
    assert(ipc->n_handles == 0 && list_is_empty(&ipc->conns) && list_is_empty(&ipc->listeners));
    wire_finish(&ipc->wire);
    mem_free(ipc);
}
