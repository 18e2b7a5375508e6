/*
 * Server internal: what its two files share
 *
 * server.c: the governor, requests, life. server_step.c: slots, steps, engines.
 */
#ifndef SOTTO_SIM_SERVER_INTERNAL_H
#define SOTTO_SIM_SERVER_INTERNAL_H

#include "base/clean.h"
#include "server.h"

static inline uint64_t server_now_us(const struct server *server)
{
    return server->timeline->now_ns / TIMELINE_US;
}

static inline struct engine *server_engine_of(const struct server *server, const struct engine_queue *eq)
{
    return &server->engines[eq - server->eqs];
}

/* Something has changed: decides once, at this same moment, what follows. */
void server_wake(struct server *server);

/* Ends a request; the only way to do so. */
void server_end(struct server *server, struct request *request, enum server_end how);

/* Closes its sequence, if it has one. */
void server_close_sequence(struct server *server, struct request *request);

/* Timeline callbacks; @owner is the server. Decides and tells the engines until there is nothing more to tell. */
void server_settle(void *owner);
void server_on_restart_first(void *owner);
void server_on_restart_second(void *owner);

#endif
