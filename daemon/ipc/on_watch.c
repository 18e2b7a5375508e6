/*
 * Watch: events go into the connection's own buffer, which bounds their queue. A watcher that does not read loses
 * events and not its connection: while too much is unsent, events are only counted, and the next one that is sent says
 * how many were lost before it.
 */
#include "base/clock.h"
#include "ipc/route.h"
#include <string.h>

#define PAIRS_MOST 16u
#define EVENT_MOST (64u << 10) /* bytes of one event; its longest values are sentences */

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

static uint32_t count_watches(const struct ipc *ipc, const struct tenant *tenant)
{
    struct list *link;
    uint32_t n = 0;

    list_for_each (link, &ipc->watches) {
        n += container_of(link, struct conn_request, watch)->conn->tenant == tenant;
    }
    return n;
}

void on_watch(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;

    if (count_watches(conn->ipc, conn->tenant) >= LIMIT_WATCHES_A_UID) {
        diag_set(&diag, "this user watches %u times already, which is the limit: cancel one first",
                 LIMIT_WATCHES_A_UID);
        conn_request_refuse(request, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, &diag, 0);
        return;
    }
    for (size_t i = 0; i < frame->watch->n_topics; i++) {
        request->topics |= topic_bit(frame->watch->topics[i]);
    }
    list_append(&conn->ipc->watches, &request->watch);
}

/* Events about a stream are for its own user, and for users that policy lets observe. */
static bool may_see(const struct conn_request *request, uint32_t bit, uint32_t uid)
{
    const struct grant *grant = &request->conn->grant;

    if (request->topics && !(request->topics & bit)) {
        return false;
    }
    return uid == UINT32_MAX || uid == grant->uid || grant->observe;
}

/* An event on its way to the watchers. Most get the same bytes, which are packed once, so that many watchers do not
 * hold up the loop. */
struct news {
    Sotto__V1__Event event;
    struct buf packed; /* the frame without its head, for watchers that lost nothing; empty: not made yet */
};

static void pack(struct news *news)
{
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_EVENT;
    frame.event = &news->event;
    if (wire_pack(&frame.base, &news->packed) == BUF_OK) {
        buf_eat(&news->packed, FRAME_HEAD_BYTES);
    }
}

static void tell(struct conn_request *request, struct news *news)
{
    if (request->conn->is_parked) {
        request->n_dropped++;
        request->conn->ipc->counts.n_events_lost++;
        return;
    }
    if (request->n_dropped > 0) {
        news->event.dropped = request->n_dropped;
        request->n_dropped = 0;
        conn_request_tell(request, SOTTO__V1__SERVER_FRAME__BODY_EVENT, &news->event);
        news->event.dropped = 0;
        return;
    }
    if (news->packed.n == 0) {
        pack(news);
    }
    if (news->packed.n > 0) {
        conn_send_shared(request->conn, request->label, &news->packed);
    }
}

void ipc_event(struct ipc *ipc, const char *topic, const char *name, const char *const *texts, size_t n_pairs,
               uint32_t uid)
{
    struct news news = { .event = SOTTO__V1__EVENT__INIT };
    Sotto__V1__Event *event = &news.event;
    Sotto__V1__Pair pairs[PAIRS_MOST];
    Sotto__V1__Pair *list[PAIRS_MOST];
    uint32_t bit = topic_bit(topic);
    struct list *link;
    struct list *after;

    for (size_t i = 0; i < n_pairs && i < PAIRS_MOST; i++) {
        sotto__v1__pair__init(&pairs[i]);
        pairs[i].key = wire_str(texts[2 * i]);
        pairs[i].value = wire_str(texts[2 * i + 1]);
        list[i] = &pairs[i];
    }
    event->at_us = clock_real_us();
    event->topic = wire_str(topic);
    event->name = wire_str(name);
    event->n_pairs = n_pairs < PAIRS_MOST ? n_pairs : PAIRS_MOST;
    event->pairs = list;
    buf_init(&news.packed, MEM_WIRE, EVENT_MOST);
    /* Sending may end the watcher's own connection, but no other one. */
    list_for_each_safe (link, after, &ipc->watches) {
        struct conn_request *request = container_of(link, struct conn_request, watch);

        if (may_see(request, bit, uid)) {
            tell(request, &news);
        }
    }
    buf_finish(&news.packed);
}
