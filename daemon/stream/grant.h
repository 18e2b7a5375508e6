/*
 * Grant: what policy gives a peer
 *
 * It is copied into each stream, so that a stream keeps the limits that it began with.
 */
#ifndef SOTTO_STREAM_GRANT_H
#define SOTTO_STREAM_GRANT_H

#include <sotto/v1/sotto.pb-c.h>
#include <stdbool.h>
#include <stdint.h>

/* The account of the daemon's own requests (pins), which no quota bounds. */
#define GRANT_DAEMON_UID UINT32_MAX

struct grant {
    uint32_t uid;        /* the account */
    uint64_t connection; /* that asks; 0: none, no end of it will be reported (hub_connection_left()) */
    Sotto__V1__PriorityClass class_ceiling;
    Sotto__V1__PriorityClass class_default;
    uint32_t weight;          /* share within a class; 1000 is usual */
    uint32_t n_streams;       /* live ones of this uid, all connections */
    uint32_t n_context;       /* tokens of prompt and answer; 0: the model's */
    uint32_t n_answer;        /* hard cap on max_tokens, and the value when none is given */
    uint32_t tokens_a_minute; /* 0: no bound */
    uint32_t energy_a_minute; /* joules; 0: no bound */
    uint32_t n_sessions;      /* of this uid at once */
    uint32_t session_idle_ms; /* a session ends after so long without a request */
    bool admin;
    bool observe;       /* sees names of others in Status and Watch */
    bool graphics_hint; /* may say what the screen needs (GraphicsHint) */
    bool special;       /* may have control tokens recognised (Tokenize.special) */
};

#endif
