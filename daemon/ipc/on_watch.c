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

void on_watch(struct conn *conn, struct ask *ask, const Sotto__V1__ClientFrame *frame)
{
    for (size_t i = 0; i < frame->watch->n_topics; i++) {
        ask->topics |= topic_bit(frame->watch->topics[i]);
    }
    list_append(&conn->ipc->watches, &ask->watch);
}

/* Events about a stream are for its own user, and for those whom policy lets observe. */
static bool may_see(const struct ask *ask, uint32_t bit, uint32_t uid)
{
    const struct grant *grant = &ask->conn->grant;

    if (ask->topics && !(ask->topics & bit)) {
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

static void tell(struct ask *ask, struct news *news)
{
    if (ask->conn->is_parked) {
        ask->n_dropped++;
        ask->conn->ipc->counts.n_events_lost++;
        return;
    }
    if (ask->n_dropped > 0) {
        news->event.dropped = ask->n_dropped;
        ask->n_dropped = 0;
        ask_tell(ask, &news->frame);
        news->event.dropped = 0;
        news->frame.stream = 0;
        return;
    }
    if (news->packed.n == 0 && wire_pack(&news->frame.base, &news->packed) == BUF_OK) {
        buf_eat(&news->packed, FRAME_HEAD_BYTES);
    }
    if (news->packed.n > 0) {
        conn_send_shared(ask->conn, ask->label, &news->packed);
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
        struct ask *ask = container_of(link, struct ask, watch);

        if (may_see(ask, bit, uid)) {
            tell(ask, &news);
        }
    }
    buf_finish(&news.packed);
}
