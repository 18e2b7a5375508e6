/*
 * Watch: events go into the connection's own buffer, so its bound is the queue's. A watcher that does not read loses
 * events, never the connection's peace: while too much is unsent they are counted, and the next one that is sent
 * says how many were lost before it.
 */
#include "base/clock.h"
#include "ipc/route.h"
#include <string.h>

#define PAIRS_MOST 16u
#define EVENT_MOST (64u << 10) /* bytes of one; the longest values are sentences */

static const char *const topics[] = { "model", "engine", "stream", "mode", "config", "sense", "session" };

static uint32_t topic_bit(const char *topic)
{
    for (size_t i = 0; i < COUNTOF(topics); i++) {
        if (strcmp(topic, topics[i]) == 0) {
            return 1u << i;
        }
    }
    return 0;
}

void on_watch(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame)
{
    for (size_t i = 0; i < frame->watch->n_topics; i++) {
        conn_request->topics |= topic_bit(frame->watch->topics[i]);
    }
    list_append(&conn->ipc->watches, &conn_request->watch);
}

/* Events about a stream are for its own user, and for those whom policy lets observe. */
static bool may_see(const struct conn_request *conn_request, uint32_t bit, uint32_t uid)
{
    const struct grant *grant = &conn_request->conn->grant;

    if (conn_request->topics && !(conn_request->topics & bit)) {
        return false;
    }
    return uid == UINT32_MAX || uid == grant->uid || grant->observe;
}

/* An event on its way to all who watch. Most hear the same, whose bytes are made once: a crowd of watchers must not
 * hold the loop up. */
struct news {
    Sotto__V1__ServerFrame frame;
    Sotto__V1__Event event;
    struct buf packed; /* the frame, when nothing was dropped before; empty: not made yet */
};

static void tell(struct conn_request *conn_request, struct news *news)
{
    if (conn_request->conn->is_parked) {
        conn_request->n_dropped++;
        conn_request->conn->ipc->counts.n_events_lost++;
        return;
    }
    if (conn_request->n_dropped > 0) {
        news->event.dropped = conn_request->n_dropped;
        conn_request->n_dropped = 0;
        conn_request_tell(conn_request, &news->frame);
        news->event.dropped = 0;
        news->frame.stream = 0;
        return;
    }
    if (news->packed.n == 0 && wire_pack(&news->frame.base, &news->packed) == BUF_OK) {
        buf_eat(&news->packed, FRAME_HEAD_BYTES);
    }
    if (news->packed.n > 0) {
        conn_send_shared(conn_request->conn, conn_request->label, &news->packed);
    }
}

void ipc_event(struct ipc *ipc, const char *topic, const char *name, const char *const *texts, size_t n_pairs,
               uint32_t uid)
{
    struct news news = { .frame = SOTTO__V1__SERVER_FRAME__INIT, .event = SOTTO__V1__EVENT__INIT };
    Sotto__V1__Event *event = &news.event;
    Sotto__V1__Pair pairs[PAIRS_MOST];
    Sotto__V1__Pair *list[PAIRS_MOST];
    uint32_t bit = topic_bit(topic);
    struct list *link;
    struct list *after;

    for (size_t i = 0; i < n_pairs && i < PAIRS_MOST; i++) {
        sotto__v1__pair__init(&pairs[i]);
        pairs[i].key = (char *)(uintptr_t)texts[2 * i];
        pairs[i].value = (char *)(uintptr_t)texts[2 * i + 1];
        list[i] = &pairs[i];
    }
    event->at_us = clock_real_us();
    event->topic = (char *)(uintptr_t)topic;
    event->name = (char *)(uintptr_t)name;
    event->n_pairs = n_pairs < PAIRS_MOST ? n_pairs : PAIRS_MOST;
    event->pairs = list;
    news.frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_EVENT;
    news.frame.event = event;
    buf_init(&news.packed, MEM_WIRE, EVENT_MOST);
    /* Telling may end a watcher's own connection, and no other's. */
    list_for_each_safe (link, after, &ipc->watches) {
        struct conn_request *conn_request = container_of(link, struct conn_request, watch);

        if (may_see(conn_request, bit, uid)) {
            tell(conn_request, &news);
        }
    }
    buf_finish(&news.packed);
}
