/*
 * Hub fixture: a hub with its loop, fake engines that follow a script, and clients that record what they receive
 *
 * The model file is made up for the test: 512 tokens, byte-level, ChatML. Everything is checked at the end: all handles
 * closed, all memory back, no callback after the last message.
 */
#ifndef SOTTO_HUB_HUB_FIXTURE_H
#define SOTTO_HUB_HUB_FIXTURE_H

#include "base/buf.h"
#include "hub/hub_state.h"
#include "registry/models.h"
#include "stream/stream.h"
#include "unit.h"

#define FIXTURE_END_ID     258u /* ends an answer */
#define FIXTURE_CLIENT_CAP 4096u

struct fixture {
    uv_loop_t loop;
    struct hub *hub;
    char dir[64];
    char model[128];
    char script[128];
    struct model_settings settings;
    struct hub_config config;
    struct grant grant;
    uint32_t n_events;
    char events[4096]; /* names, each with a blank behind */
    bool is_stopped;
};

struct client {
    struct stream *stream;          /* NULL after its last message */
    const struct stream_sink *sink; /* client_sink, or a test's own */
    Sotto__V1__Generate generate;
    Sotto__V1__Sampling sampling;
    Sotto__V1__TokenIds ids;
    uint32_t n_accepted;
    uint32_t queue_position;
    uint32_t prompt_tokens;
    uint64_t seed;
    char numerics[64];
    uint32_t tokens[FIXTURE_CLIENT_CAP];
    uint32_t n_tokens;
    char text[FIXTURE_CLIENT_CAP];
    uint32_t n_text;
    uint32_t n_logprobs;
    uint32_t n_notices[16];
    uint32_t n_ends;
    Sotto__V1__FinishReason reason; /* with Done */
    Sotto__V1__Code code;           /* with Error */
    char sentence[DIAG_BYTES];
    char stop[32];
    Sotto__V1__Usage usage;
};

/* Makes files and settings; @script is for the engines, or NULL. Change fixture->settings and ->config, then open. */
void fixture_prepare(struct fixture *fixture, const char *script);
void fixture_open(struct fixture *fixture);

/* Prepares and opens, and waits until the model is loaded. */
void fixture_begin(struct fixture *fixture, const char *script);

/* Stops the hub, and checks that everything is as before. */
void fixture_end(struct fixture *fixture);

/* Runs the loop until @is_true(owner), for a minute at most. */
void fixture_until(struct fixture *fixture, bool (*is_true)(void *owner), void *owner);

/* Runs the loop for @ms or longer: for showing that something does not happen, never for letting it happen. */
void fixture_run(struct fixture *fixture, uint32_t ms);
void fixture_until_ready(struct fixture *fixture);

/* Waits until no request is left and no step stands still. */
void fixture_until_idle(struct fixture *fixture);

/* Returns the limits of the CPU, to be set by hand: the governor does not change them until all work is done. */
struct governor_limits *fixture_limits(struct fixture *fixture);

/* Kills the engine by @signal and waits until the hub has noticed. */
void fixture_kill_engine(struct fixture *fixture, int signal);

/* Writes another script for engines that start from now on. */
void fixture_rewrite(struct fixture *fixture, const char *script);
void fixture_make_model(const char *path, uint32_t n_words);

struct model_entry *fixture_model(struct fixture *fixture);
uint32_t fixture_pid(struct fixture *fixture);
bool fixture_had(const struct fixture *fixture, const char *event);

/* Records all messages. */
extern const struct stream_sink client_sink;

/* Makes a client with a prompt of @n tokens ("1 2 3 …" and @first in front) and room for @n_answer, greedy, seed 7. */
void client_init(struct client *client, uint32_t first, uint32_t n, uint32_t n_answer);
void client_finish(struct client *client);

/* Makes the request; it must be admitted. */
void client_generate(struct fixture *fixture, struct client *client);

/* Makes the request; it must be refused with @code. */
void client_refused(struct fixture *fixture, struct client *client, Sotto__V1__Code code, const char *word);

void client_until_over(struct fixture *fixture, struct client *client);
void client_until_tokens(struct fixture *fixture, struct client *client, uint32_t n);

/* Asserts that it ended Done for @reason, with n tokens in order and no message missing. */
void client_assert_done(const struct client *client, Sotto__V1__FinishReason reason, uint32_t n_tokens);
void client_assert_failed(const struct client *client, Sotto__V1__Code code, const char *word);
void client_assert_same(const struct client *a, const struct client *b);

#endif
