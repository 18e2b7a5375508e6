/*
 * Clients: who asks, how long, how often, and how they read
 *
 * Each has numbers of its own that follow from the seed and its place, not from what the others do.
 */
#ifndef SOTTO_SIM_CLIENTS_H
#define SOTTO_SIM_CLIENTS_H

#include "server.h"

#define CLIENTS_MAX     256u
#define CLIENT_REQUESTS 8u

struct client {
    struct server *server;
    const struct scenario_clients *family;
    struct rng rng;
    uint32_t uid;
    uint32_t number;
    struct request *requests[CLIENT_REQUESTS]; /* under way */
    uint32_t n_open;
    uint64_t n_asked;
    bool is_told;            /* to come again, for want of a place */
    uint32_t cut_tok;        /* tokens after which it speaks again; 0: it hears out */
    struct request *acts_on; /* what @act is about */
    struct timeline_event ask;
    struct timeline_event act; /* cuts short, or reads on */
};

struct clients {
    struct client all[CLIENTS_MAX];
    uint32_t n;
};

void clients_init(struct clients *clients, struct server *server, const struct scenario *scenario);

/* They leave, with all that is under way. */
void clients_leave(struct clients *clients);
void clients_finish(struct clients *clients);

/* For the desk. */
void clients_on_token(void *client, struct request *request);
void clients_on_end(void *client, struct request *request, enum server_end how);

#endif
