/*
 * World: a room of connections on a loop of its own, the fake hub, and clients made of plain sockets
 *
 * One thread plays both sides: whoever waits for something lets the loop turn meanwhile.
 */
#ifndef SOTTO_IPC_FIXTURE_H
#define SOTTO_IPC_FIXTURE_H

#include "fake_hub.h"
#include "ipc/conn.h"
#include "ipc/listener.h"
#include "proto/limit.h"
#include "unit.h"

struct fixture {
    uv_loop_t loop;
    struct hub hub;
    struct ipc *ipc;
    struct grant grant; /* what every peer gets */
    char dir[64];
    char path[96];
    int reload; /* what a reload returns */
    bool is_closed;
};

struct client {
    int fd;
    struct buf in;
    struct wire wire;
    size_t n_eat; /* bytes of the frame given out last */
};

/* The usual bounds, with short times; a test changes world->ipc->limits. */
void fixture_open(struct fixture *fixture);

/* Ends everything and checks that nothing is left. */
void fixture_close(struct fixture *fixture);

/* One turn of the loop and of the hub; and turns for so many milliseconds. */
void fixture_iterate(struct fixture *fixture);
void fixture_run(struct fixture *fixture, unsigned ms);

void client_connect(struct fixture *fixture, struct client *client);
void client_close(struct client *client);

/* All bytes, letting the loop turn while the socket is full. False: the connection is gone. */
bool client_send_bytes(struct fixture *fixture, struct client *client, const void *bytes, size_t n);

/* Fills one of the bodies; @frame points into @client's memory until the next call. */
void client_send(struct fixture *fixture, struct client *client, const Sotto__V1__ClientFrame *frame);
void client_hello(struct fixture *fixture, struct client *client);
void client_generate(struct fixture *fixture, struct client *client, uint32_t label);
void client_cancel(struct fixture *fixture, struct client *client, uint32_t label);

/* The next frame, within 5 s; NULL: the connection has ended. Valid until the next call. */
const Sotto__V1__ServerFrame *client_next(struct fixture *fixture, struct client *client);

/* The same, with the body that must come. */
const Sotto__V1__ServerFrame *client_expect(struct fixture *fixture, struct client *client,
                                            Sotto__V1__ServerFrame__BodyCase body, uint32_t stream);
const Sotto__V1__Error *client_expect_error(struct fixture *fixture, struct client *client, uint32_t stream,
                                            Sotto__V1__Code code, bool fatal);
void client_expect_end(struct fixture *fixture, struct client *client);

/* Nothing comes for @ms. */
void client_expect_silence(struct fixture *fixture, struct client *client, unsigned ms);

#define HAS(name) SOTTO__V1__SERVER_FRAME__BODY_##name

#endif
