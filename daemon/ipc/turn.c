#include "ipc/turn.h"

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

    ipc->is_pausing = false; /* the turn follows in this iteration */
}

/* Handles a frame of @conn, which may end the connection, and with it the tenant. A connection keeps its place for some
 * frames, so that their answers go out in one write. */
static void take(struct ipc *ipc, struct conn *conn)
{
    uint64_t before = ipc->cost;

    conn_take_frame(conn);
    conn->turn_cost += ipc->cost - before;
    if (conn->turn_cost >= TURN_CONN_COST && turn_is_due(conn)) {
        conn->turn_cost = 0;
        list_remove(&conn->turn);
        list_append(&conn->tenant->line, &conn->turn);
    }
}

/* Returns whether @tenant may go on now. In a pause only one that had nothing to handle in the turn before it may. */
static bool may_go(const struct ipc *ipc, const struct tenant *tenant)
{
    return !ipc->is_pausing || tenant->cost <= ipc->least_cost;
}

static void on_turn(uv_check_t *check)
{
    struct ipc *ipc = check->data;
    uint64_t until = ipc->cost + TURN_BUDGET;
    struct tenant *tenant;

    while (ipc->cost < until && (tenant = next_tenant(ipc)) != NULL && may_go(ipc, tenant)) {
        ipc->least_cost = tenant->cost > ipc->least_cost ? tenant->cost : ipc->least_cost;
        take(ipc, container_of(list_first(&tenant->line), struct conn, turn));
    }
    if (!list_is_empty(&ipc->due) && !ipc->is_pausing) {
        ipc->is_pausing = true;
        uv_update_time(ipc->loop); /* the turn has taken some of the pause */
        uv_timer_start(&ipc->turn_timer, on_time, TURN_PAUSE_MS, 0);
    }
}

void turn_start(struct ipc *ipc)
{
    uv_check_init(ipc->loop, &ipc->turn_check);
    uv_timer_init(ipc->loop, &ipc->turn_timer);
    ipc->turn_check.data = ipc;
    ipc->turn_timer.data = ipc;
    uv_check_start(&ipc->turn_check, on_turn);
    uv_unref((uv_handle_t *)&ipc->turn_check);
    uv_unref((uv_handle_t *)&ipc->turn_timer);
}

/* A tenant that asked for nothing gets no credit for that time. */
void turn_join(struct conn *conn)
{
    struct tenant *tenant = conn->tenant;
    struct ipc *ipc = conn->ipc;

    if (!tenant || turn_is_due(conn)) {
        return;
    }
    list_append(&tenant->line, &conn->turn);
    if (list_is_empty(&tenant->due)) {
        list_append(&ipc->due, &tenant->due);
        tenant->cost = tenant->cost > ipc->least_cost ? tenant->cost : ipc->least_cost;
    }
}

void turn_leave(struct conn *conn)
{
    list_remove(&conn->turn);
    if (conn->tenant && list_is_empty(&conn->tenant->line)) {
        list_remove(&conn->tenant->due);
    }
}

bool turn_is_due(const struct conn *conn)
{
    return !list_is_empty(&conn->turn);
}

void turn_charge(struct ipc *ipc, struct tenant *tenant, size_t n)
{
    ipc->cost += n;
    if (tenant) {
        tenant->cost += n;
    }
}
