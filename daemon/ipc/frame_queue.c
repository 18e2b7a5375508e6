#include "ipc/frame_queue.h"

/* Returns the tenant with a frame to handle that has cost least; of equal ones the one that waits for longest. */
static struct tenant *next_tenant(const struct ipc *ipc)
{
    struct tenant *best = NULL;
    struct list *link;

    list_for_each (link, &ipc->due) {
        struct tenant *tenant = container_of(link, struct tenant, due);

        if (!best || tenant->cost < best->cost) {
            best = tenant;
        }
    }
    return best;
}

static void on_time(uv_timer_t *timer)
{
    struct ipc *ipc = timer->data;

    ipc->is_pausing = false; /* the round follows in this iteration */
}

/* Handles a frame of @conn, which may end the connection, and with it the tenant. A connection keeps its place for some
 * frames, so that their answers go out in one write. */
static void take(struct ipc *ipc, struct conn *conn)
{
    uint64_t before = ipc->cost;

    conn_take_frame(conn);
    conn->round_cost += ipc->cost - before;
    if (conn->round_cost >= FRAME_QUEUE_CONN_COST && frame_queue_has(conn)) {
        conn->round_cost = 0;
        list_remove(&conn->queued);
        list_append(&conn->tenant->queue, &conn->queued);
    }
}

/* Returns whether @tenant may go on now. In a pause only one that had nothing to handle in the round before it may. */
static bool may_go(const struct ipc *ipc, const struct tenant *tenant)
{
    return !ipc->is_pausing || tenant->cost <= ipc->least_cost;
}

static void on_round(uv_check_t *check)
{
    struct ipc *ipc = check->data;
    uint64_t until = ipc->cost + FRAME_QUEUE_BUDGET;
    struct tenant *tenant;

    while (ipc->cost < until && (tenant = next_tenant(ipc)) != NULL && may_go(ipc, tenant)) {
        ipc->least_cost = tenant->cost > ipc->least_cost ? tenant->cost : ipc->least_cost;
        take(ipc, container_of(list_first(&tenant->queue), struct conn, queued));
    }
    if (!list_is_empty(&ipc->due) && !ipc->is_pausing) {
        ipc->is_pausing = true;
        uv_update_time(ipc->loop); /* the round has taken some of the pause */
        uv_timer_start(&ipc->round_timer, on_time, FRAME_QUEUE_PAUSE_MS, 0);
    }
}

void frame_queue_start(struct ipc *ipc)
{
    uv_check_init(ipc->loop, &ipc->round_check);
    uv_timer_init(ipc->loop, &ipc->round_timer);
    ipc->round_check.data = ipc;
    ipc->round_timer.data = ipc;
    uv_check_start(&ipc->round_check, on_round);
    uv_unref((uv_handle_t *)&ipc->round_check);
    uv_unref((uv_handle_t *)&ipc->round_timer);
}

/* A tenant that asked for nothing gets no credit for that time. */
void frame_queue_add(struct conn *conn)
{
    struct tenant *tenant = conn->tenant;
    struct ipc *ipc = conn->ipc;

    if (!tenant || frame_queue_has(conn)) {
        return;
    }
    list_append(&tenant->queue, &conn->queued);
    if (list_is_empty(&tenant->due)) {
        list_append(&ipc->due, &tenant->due);
        tenant->cost = tenant->cost > ipc->least_cost ? tenant->cost : ipc->least_cost;
    }
}

void frame_queue_remove(struct conn *conn)
{
    list_remove(&conn->queued);
    if (conn->tenant && list_is_empty(&conn->tenant->queue)) {
        list_remove(&conn->tenant->due);
    }
}

bool frame_queue_has(const struct conn *conn)
{
    return !list_is_empty(&conn->queued);
}

void frame_queue_charge(struct ipc *ipc, struct tenant *tenant, size_t n)
{
    ipc->cost += n;
    if (tenant) {
        tenant->cost += n;
    }
}
