#include "registry/ticket.h"
#include "base/err.h"
#include "base/mem.h"
#include "registry/model_entry.h"
#include <errno.h>
#include <stdio.h>

void tickets_init(struct tickets *tickets, struct events *events)
{
    list_init(&tickets->due);
    tickets->events = events;
}

int ticket_create(struct ticket **ret_ticket, size_t bytes, enum ticket_kind kind, const struct ticket_ops *ops,
                  struct tickets *tickets, struct model_entry *model, void *owner)
{
    struct ticket *ticket = mem_calloc(MEM_WIRE, 1, bytes);

    if (!ticket) {
        return err_new(-ENOMEM);
    }
    list_init(&ticket->link);
    ticket->kind = kind;
    ticket->ops = ops;
    ticket->tickets = tickets;
    ticket->model = model;
    ticket->owner = owner;
    if (model) {
        model->n_tickets++;
    }
    *ret_ticket = ticket;
    return 0;
}

void ticket_destroy(struct ticket *ticket)
{
    list_remove(&ticket->link);
    if (ticket->ops->finish) {
        ticket->ops->finish(ticket);
    }
    if (ticket->model) {
        ticket->model->n_tickets--;
        model_entry_try_remove(ticket->model);
    }
    mem_free(ticket);
}

void ticket_forget(struct ticket *ticket)
{
    if (!ticket->is_called) {
        ticket_destroy(ticket);
    }
}

void ticket_answer(struct ticket *ticket, Sotto__V1__Code code, const char *sentence)
{
    ticket->code = code;
    snprintf(ticket->sentence, sizeof(ticket->sentence), "%s", sentence ? sentence : "");
    list_remove(&ticket->link);
    list_append(&ticket->tickets->due, &ticket->link);
    events_poke(ticket->tickets->events);
}

static void call(struct ticket *ticket)
{
    Sotto__V1__Error error = SOTTO__V1__ERROR__INIT;

    list_remove(&ticket->link);
    ticket->is_called = true;
    error.code = ticket->code;
    error.message = ticket->sentence;
    ticket->ops->call(ticket, ticket->code == SOTTO__V1__CODE__CODE_OK ? NULL : &error);
    ticket_destroy(ticket);
}

void tickets_call(struct tickets *tickets)
{
    struct list *link;

    while ((link = list_first(&tickets->due))) {
        call(container_of(link, struct ticket, link));
    }
}
