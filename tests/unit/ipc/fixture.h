/*
 * Fixture: struct ipc on a loop of its own, a fake hub, and clients made of plain sockets
 *
 * Daemon and clients run in one thread: a client that waits runs the loop meanwhile.
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
    struct grant grant; /* of every peer */
    char dir[64];
    char path[96];
    int reload; /* the result of a reload */
    bool is_closed;
};

struct client {
    int fd;
    struct buf in;
    struct wire wire;
    size_t n_eat; /* bytes of the frame returned last */
};

/* Opens it with the usual limits and far deadlines; a test may change fixture->ipc->limits. */
void fixture_open(struct fixture *fixture);

/* Ends everything and checks that nothing is left. */
void fixture_close(struct fixture *fixture);

/* Runs one iteration of the loop and of the hub. */
void fixture_iterate(struct fixture *fixture);

/* Runs iterations for @ms or longer, but enough of them for whatever has arrived, however busy the machine is. */
void fixture_run(struct fixture *fixture, unsigned ms);

/* Runs iterations until @is_true, for a minute at most. */
void fixture_until(struct fixture *fixture, const bool *is_true);

void client_connect(struct fixture *fixture, struct client *client);

/* Connects as another user; the test runs as root. */
void client_connect_as(struct fixture *fixture, struct client *client, uid_t uid);
void client_close(struct client *client);

/* Sends all bytes, and runs the loop while the socket is full. False: the connection has ended. */
bool client_send_bytes(struct fixture *fixture, struct client *client, const void *bytes, size_t n);

/* Sends a frame with @message, which is of the kind @body. */
void client_send(struct fixture *fixture, struct client *client, uint32_t label, Sotto__V1__ClientFrame__BodyCase body,
                 const void *message);
void client_hello(struct fixture *fixture, struct client *client);
void client_generate(struct fixture *fixture, struct client *client, uint32_t label);
void client_cancel(struct fixture *fixture, struct client *client, uint32_t label);

/* Returns the next frame, valid until the next call; a minute is its time to come. NULL: the connection has ended. */
const Sotto__V1__ServerFrame *client_next(struct fixture *fixture, struct client *client);

/* Return the next frame, which must be of the kind @body, or an Error. */
const Sotto__V1__ServerFrame *client_expect(struct fixture *fixture, struct client *client,
                                            Sotto__V1__ServerFrame__BodyCase body, uint32_t stream);
const Sotto__V1__Error *client_expect_error(struct fixture *fixture, struct client *client, uint32_t stream,
                                            Sotto__V1__Code code, bool fatal);
void client_expect_end(struct fixture *fixture, struct client *client);

/* Checks that nothing comes for @ms. */
void client_expect_silence(struct fixture *fixture, struct client *client, unsigned ms);

#define HAS(name) SOTTO__V1__SERVER_FRAME__BODY_##name

#endif
