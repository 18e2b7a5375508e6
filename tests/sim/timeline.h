/*
 * Timeline: the virtual clock and its events
 *
 * Times are nanoseconds from the start of a run. Events of one moment happen in the order in which they were entered,
 * so a run is the same each time. An event lives inside its owner; entering it again moves it.
 */
#ifndef SOTTO_SIM_TIMELINE_H
#define SOTTO_SIM_TIMELINE_H

#include "heap.h"

#define TIMELINE_US 1000ull
#define TIMELINE_MS 1000000ull
#define TIMELINE_S  1000000000ull

typedef void (*timeline_fn)(void *owner);

struct timeline_event {
    struct heap_node node; /* timeline::heap */
    uint64_t at_ns;
    uint64_t order;
    timeline_fn fire;
    void *owner;
};

struct timeline {
    struct heap heap;
    uint64_t now_ns;
    uint64_t n_entered;
    uint64_t n_fired;
};

void timeline_init(struct timeline *timeline);
void timeline_finish(struct timeline *timeline);

void timeline_event_init(struct timeline_event *event, timeline_fn fire, void *owner);

/* Lets @event happen at @at_ns, or now if that is past. */
void timeline_enter(struct timeline *timeline, struct timeline_event *event, uint64_t at_ns);

/* Cancels @event; allowed if it is not entered. */
void timeline_cancel(struct timeline *timeline, struct timeline_event *event);

bool timeline_has(const struct timeline_event *event);

/* Lets everything happen until @until_ns, which is then the time. */
void timeline_run(struct timeline *timeline, uint64_t until_ns);

#endif
