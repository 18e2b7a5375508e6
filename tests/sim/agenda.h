/*
 * Agenda: the virtual clock, and what is to happen on it
 *
 * Nanoseconds from the start of a run. Events of one moment happen in the order in which they were entered,
 * so a run is the same each time. An event lives inside its owner; entering it again moves it.
 */
#ifndef SOTTO_SIM_AGENDA_H
#define SOTTO_SIM_AGENDA_H

#include "heap.h"

#define AGENDA_US 1000ull
#define AGENDA_MS 1000000ull
#define AGENDA_S  1000000000ull

typedef void (*agenda_fn)(void *owner);

struct agenda_event {
    struct heap_node node; /* agenda::heap */
    uint64_t at_ns;
    uint64_t order;
    agenda_fn fire;
    void *owner;
};

struct agenda {
    struct heap heap;
    uint64_t now_ns;
    uint64_t n_entered;
    uint64_t n_fired;
};

void agenda_init(struct agenda *agenda);
void agenda_finish(struct agenda *agenda);

void agenda_event_init(struct agenda_event *event, agenda_fn fire, void *owner);

/* Lets @event happen at @at_ns, or now if that is past. */
void agenda_enter(struct agenda *agenda, struct agenda_event *event, uint64_t at_ns);

/* Fine for one that is not entered. */
void agenda_cancel(struct agenda *agenda, struct agenda_event *event);

bool agenda_has(const struct agenda_event *event);

/* Lets everything happen until @until_ns, which is then the time. */
void agenda_run(struct agenda *agenda, uint64_t until_ns);

#endif
