/*
 * Ticket: a question that is answered later, once
 *
 * An answer is never given inside the call that asked: it is due, and the next tick makes the callback. A ticket that
 * is forgotten is freed without one; what it had caused (a load) goes on. Each kind of question has a struct of its own
 * with the ticket as its first member.
 *
 * The loop's thread.
 */
#ifndef SOTTO_REGISTRY_TICKET_H
#define SOTTO_REGISTRY_TICKET_H

#include "base/diag.h"
#include "base/list.h"
#include "loop/events.h"
#include <sotto/v1/sotto.pb-c.h>

/* The event at its model that a ticket waits for. */
enum ticket_kind {
    TICKET_OTHER, /* nothing */
    TICKET_TEXT,  /* the vocabulary */
    TICKET_LOAD,
    TICKET_UNLOAD,
};

struct model_entry;
struct ticket;

struct tickets {
    struct list due; /* ticket::link: answered in the next tick */
    struct events *events;
};

struct ticket_ops {
    /* Makes the callback; @error: NULL when all is well. */
    void (*call)(struct ticket *ticket, const Sotto__V1__Error *error);
    /* TICKET_TEXT: the model's vocabulary is there. */
    void (*on_ready)(struct ticket *ticket);
    /* TICKET_LOAD, or NULL. */
    void (*on_progress)(struct ticket *ticket, const Sotto__V1__LoadProgress *progress);
    /* Frees what the kind owns beside its struct; or NULL. */
    void (*finish)(struct ticket *ticket);
};

struct ticket {
    struct list link; /* tickets::due, model::waiters, status::asking, or none while a job runs */
    enum ticket_kind kind;
    const struct ticket_ops *ops;
    struct tickets *tickets;
    struct model_entry *model; /* that it names, or NULL */
    void *owner;
    bool is_called;       /* its callback is being made: it is freed behind that, even if it is forgotten inside */
    Sotto__V1__Code code; /* the answer, when it is an error */
    char sentence[DIAG_BYTES];
};

void tickets_init(struct tickets *tickets, struct events *events);

/* Makes the callbacks that are due. */
void tickets_call(struct tickets *tickets);

/* Makes a ticket of @bytes (of its kind's struct), zeroed behind the ticket. 0 or -ENOMEM. */
int ticket_create(struct ticket **ret_ticket, size_t bytes, enum ticket_kind kind, const struct ticket_ops *ops,
                  struct tickets *tickets, struct model_entry *model, void *owner);

/* Has it answered in the next tick, with an error unless @code is 0. */
void ticket_answer(struct ticket *ticket, Sotto__V1__Code code, const char *sentence);

/* Frees the ticket without a callback; does nothing inside its callback. Connections know it by hub/hub.h. */
void ticket_forget(struct ticket *ticket);

/* Frees the ticket. */
void ticket_destroy(struct ticket *ticket);

#endif
