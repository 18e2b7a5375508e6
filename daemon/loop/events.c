#include "loop/events.h"
#include <stdarg.h>

#define PAIRS_MAX 12u /* strings */

void events_init(struct events *events, uv_loop_t *loop, events_fn on_event, void *owner)
{
    *events = (struct events){ .loop = loop, .on_event = on_event, .owner = owner };
}

void events_start(struct events *events, void (*tick)(void *owner), void *owner)
{
    events->tick = tick;
    events->tick_owner = owner;
    uv_idle_init(events->loop, &events->idle);
    events->idle.data = events;
}

void events_close(struct events *events, uv_close_cb closed, void *data)
{
    events->is_closing = true;
    events->idle.data = data;
    uv_close((uv_handle_t *)&events->idle, closed);
}

static void on_idle(uv_idle_t *idle)
{
    struct events *events = idle->data;

    uv_idle_stop(idle); /* before the work, which may poke again */
    events->is_poked = false;
    events->tick(events->tick_owner);
}

void events_poke(struct events *events)
{
    if (!events->is_poked && !events->is_closing) {
        events->is_poked = true;
        uv_idle_start(&events->idle, on_idle);
    }
}

void events_poke_end(struct events *events)
{
    if (events->is_stopping) {
        events_poke(events);
    }
}

void events_pass(struct events *events, const char *topic, const char *name, const char *const *pairs, size_t n_pairs,
                 uint32_t uid)
{
    if (events->on_event) {
        events->on_event(events->owner, topic, name, pairs, n_pairs, uid);
    }
}

void events_tell(struct events *events, uint32_t uid, const char *topic, const char *name, ...)
{
    const char *pairs[PAIRS_MAX];
    size_t n = 0;
    va_list args;

    va_start(args, name);
    while (n < PAIRS_MAX && (pairs[n] = va_arg(args, const char *))) {
        n++;
    }
    va_end(args);
    events_pass(events, topic, name, pairs, n / 2, uid);
}
