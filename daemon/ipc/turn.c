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

static void on_idle(uv_idle_t *idle)
{
    (void)idle; /* while it is active the loop does not wait */
}

static void on_turn(uv_check_t *check)
{
    struct ipc *ipc = check->data;
    uint64_t until = ipc->cost + TURN_BUDGET;
    struct tenant *tenant;

    while (ipc->cost < until && (tenant = next_tenant(ipc)) != NULL) {
        struct conn *conn = container_of(list_first(&tenant->line), struct conn, turn);

        ipc->least_cost = tenant->cost > ipc->least_cost ? tenant->cost : ipc->least_cost;
        list_remove(&conn->turn);
        list_append(&tenant->line, &conn->turn);
        conn_take_frame(conn); /* may end the connection, and with it the tenant */
    }
    if (list_is_empty(&ipc->due)) {
        uv_idle_stop(&ipc->turn_idle);
    } else {
        uv_idle_start(&ipc->turn_idle, on_idle);
    }
}

void turn_start(struct ipc *ipc)
{
    uv_check_init(ipc->loop, &ipc->turn_check);
    uv_idle_init(ipc->loop, &ipc->turn_idle);
    ipc->turn_check.data = ipc;
    ipc->turn_idle.data = ipc;
    uv_check_start(&ipc->turn_check, on_turn);
    uv_unref((uv_handle_t *)&ipc->turn_check);
    uv_unref((uv_handle_t *)&ipc->turn_idle);
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
