/*
 * Session fixture: sessions at a hub, and the same conversations without one
 */
#ifndef SOTTO_HUB_SESSION_FIXTURE_H
#define SOTTO_HUB_SESSION_FIXTURE_H

#include "hub_fixture.h"
#include "session/session.h"

extern struct fixture fixture; /* one for each test */

/* The client that opens a session, and what it receives. */
struct opener {
    struct stream *stream;
    uint64_t session;
    uint32_t n_tok;
    uint32_t n_context;
    uint32_t idle_ms;
    uint32_t n_ends;
    Sotto__V1__FinishReason reason;
    Sotto__V1__Code code;
    char field[64];
};

/* Calls hub_open_session() and returns its result. */
int try_open(struct opener *opener, const Sotto__V1__OpenSession *ask, struct diag *diag);
bool has_ended(void *opener);

/* Open a session; it must be opened. */
uint64_t open_with(const Sotto__V1__OpenSession *ask);
uint64_t open_empty(void);

struct closing {
    struct ticket *ticket;
    uint32_t n_tok;
    bool is_closed;
};

/* Calls hub_close_session() for user @uid and returns its result. */
int close_session(uint64_t id, uint32_t uid, struct closing *closing);
bool is_closed(void *closing);

/* Closes a session; returns the tokens that it held. */
uint32_t close_well(uint64_t id);

struct session *the_session(void);

/* Makes a turn of @n tokens, the first of them @first. */
void init_turn(struct client *client, uint64_t id, uint32_t first, uint32_t n, uint32_t n_answer);
void run(struct client *client);

/* The whole conversation so far, as a client would send it at once. */
struct log {
    uint32_t ids[4096];
    uint32_t n;
};

void log_append(struct log *log, const uint32_t *ids, size_t n);

/* Adds @warm's turn to @log, and requests its answer again without a session. */
void assert_same_as_cold(struct log *log, const struct client *warm);

#endif
