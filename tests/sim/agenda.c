#include "agenda.h"
#include "base/clean.h"
#include <assert.h>
#include <stddef.h>

static struct agenda_event *event_of(const struct heap_node *node)
{
    return container_of(node, struct agenda_event, node);
}

static bool before(const struct heap_node *a, const struct heap_node *b)
{
    const struct agenda_event *left = event_of(a);
    const struct agenda_event *right = event_of(b);

    return left->at_ns != right->at_ns ? left->at_ns < right->at_ns : left->order < right->order;
}

void agenda_init(struct agenda *agenda)
{
    *agenda = (struct agenda){ 0 };
    heap_init(&agenda->heap, MEM_MISC, before);
}

void agenda_finish(struct agenda *agenda)
{
    heap_finish(&agenda->heap);
}

void agenda_event_init(struct agenda_event *event, agenda_fn fire, void *owner)
{
    *event = (struct agenda_event){ .node.place = HEAP_NONE, .fire = fire, .owner = owner };
}

bool agenda_has(const struct agenda_event *event)
{
    return event->node.place != HEAP_NONE;
}

void agenda_enter(struct agenda *agenda, struct agenda_event *event, uint64_t at_ns)
{
    event->at_ns = at_ns > agenda->now_ns ? at_ns : agenda->now_ns;
    event->order = agenda->n_entered++;
    if (agenda_has(event)) {
        heap_moved(&agenda->heap, &event->node);
    } else {
        int r = heap_push(&agenda->heap, &event->node);

        assert(r == 0);
        (void)r;
    }
}

void agenda_cancel(struct agenda *agenda, struct agenda_event *event)
{
    if (agenda_has(event)) {
        heap_remove(&agenda->heap, &event->node);
    }
}

void agenda_run(struct agenda *agenda, uint64_t until_ns)
{
    struct heap_node *node;

    while ((node = heap_first(&agenda->heap)) && event_of(node)->at_ns <= until_ns) {
        struct agenda_event *event = event_of(node);

        heap_remove(&agenda->heap, node);
        agenda->now_ns = event->at_ns;
        agenda->n_fired++;
        event->fire(event->owner);
    }
    agenda->now_ns = until_ns;
}
