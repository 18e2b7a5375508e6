#include "timeline.h"
#include "base/clean.h"
#include <assert.h>
#include <stddef.h>

static struct timeline_event *event_of(const struct heap_node *node)
{
    return container_of(node, struct timeline_event, node);
}

static bool before(const struct heap_node *a, const struct heap_node *b)
{
    const struct timeline_event *left = event_of(a);
    const struct timeline_event *right = event_of(b);

    return left->at_ns != right->at_ns ? left->at_ns < right->at_ns : left->order < right->order;
}

void timeline_init(struct timeline *timeline)
{
    *timeline = (struct timeline){ 0 };
    heap_init(&timeline->heap, MEM_MISC, before);
}

void timeline_finish(struct timeline *timeline)
{
    heap_finish(&timeline->heap);
}

void timeline_event_init(struct timeline_event *event, timeline_fn fire, void *owner)
{
    *event = (struct timeline_event){ .node.place = HEAP_NONE, .fire = fire, .owner = owner };
}

bool timeline_has(const struct timeline_event *event)
{
    return event->node.place != HEAP_NONE;
}

void timeline_enter(struct timeline *timeline, struct timeline_event *event, uint64_t at_ns)
{
    event->at_ns = at_ns > timeline->now_ns ? at_ns : timeline->now_ns;
    event->order = timeline->n_entered++;
    if (timeline_has(event)) {
        heap_moved(&timeline->heap, &event->node);
    } else {
        int r = heap_push(&timeline->heap, &event->node);

        assert(r == 0);
        (void)r;
    }
}

void timeline_cancel(struct timeline *timeline, struct timeline_event *event)
{
    if (timeline_has(event)) {
        heap_remove(&timeline->heap, &event->node);
    }
}

void timeline_run(struct timeline *timeline, uint64_t until_ns)
{
    struct heap_node *node;

    while ((node = heap_first(&timeline->heap)) && event_of(node)->at_ns <= until_ns) {
        struct timeline_event *event = event_of(node);

        heap_remove(&timeline->heap, node);
        timeline->now_ns = event->at_ns;
        timeline->n_fired++;
        event->fire(event->owner);
    }
    timeline->now_ns = until_ns;
}
