/*
 * Clients: what they ask for, how often, and how they read
 *
 * Each draws its own random numbers, which follow from the seed and its index, not from what the others do.
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
    struct request *requests[CLIENT_REQUESTS]; /* in progress */
    uint32_t n_open;
    uint64_t n_asked;
    uint32_t cut_tok;        /* tokens after which it speaks again; 0: it listens to the end */
    struct request *acts_on; /* the request that @act is about */
    struct timeline_event ask;
    struct timeline_event act; /* interrupts, or reads on */
};

struct clients {
    struct client all[CLIENTS_MAX];
    uint32_t n;
};

void clients_init(struct clients *clients, struct server *server, const struct scenario *scenario);

/* All clients leave; their requests in progress are cancelled. */
void clients_leave(struct clients *clients);
void clients_finish(struct clients *clients);

/* Callback of the server. */
void clients_on_token(void *client, struct request *request);
void clients_on_end(void *client, struct request *request, enum server_end how);

#endif
