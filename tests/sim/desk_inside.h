/*
 * Desk inside: what its two files share
 *
 * desk.c: the governor, requests, life. desk_step.c: seats, steps, engines.
 */
#ifndef SOTTO_SIM_DESK_INSIDE_H
#define SOTTO_SIM_DESK_INSIDE_H

#include "base/clean.h"
#include "desk.h"

static inline uint64_t desk_now_us(const struct desk *desk)
{
    return desk->agenda->now_ns / AGENDA_US;
}

static inline struct engine *desk_engine_of(const struct desk *desk, const struct engine_queue *eq)
{
    return &desk->engines[eq - desk->lanes];
}

/* Something has changed: what follows from it is decided once, in this same moment. */
void desk_poke(struct desk *desk);

/* The one place where a request ends. */
void desk_end(struct desk *desk, struct request *request, enum desk_end how);

/* Its sequence goes, if it has one. */
void desk_close_sequence(struct desk *desk, struct request *request);

/* For the agenda; the owner is the desk. Decides and tells the engines until there is nothing more to tell. */
void desk_settle(void *owner);
void desk_on_restart_first(void *owner);
void desk_on_restart_second(void *owner);

#endif
