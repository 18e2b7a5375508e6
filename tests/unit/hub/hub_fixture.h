/*
 * House: a hub with its loop, engines that play a script, and guests who ask and write down what they are told
 *
 * The model file is made up for the test: 512 tokens, byte-level, ChatML. Everything is checked at the end: all
 * handles closed, all memory back, nobody called after the last message.
 */
#ifndef SOTTO_HUB_HUB_FIXTURE_H
#define SOTTO_HUB_HUB_FIXTURE_H

#include "base/buf.h"
#include "hub/hub_state.h"
#include "registry/models.h"
#include "stream/stream.h"
#include "unit.h"

#define HOUSE_END_ID    258u /* ends an answer */
#define HOUSE_GUEST_CAP 4096u

struct house {
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

struct guest {
    struct stream *stream;          /* NULL after its last message */
    const struct stream_sink *sink; /* guest_sink, or a test's own */
    Sotto__V1__Generate ask;
    Sotto__V1__Sampling sampling;
    Sotto__V1__TokenIds ids;
    uint32_t n_accepted;
    uint32_t place;
    uint32_t prompt_tokens;
    uint64_t seed;
    char numerics[64];
    uint32_t tokens[HOUSE_GUEST_CAP];
    uint32_t n_tokens;
    char text[HOUSE_GUEST_CAP];
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

/* Makes files and settings; @script is what engines play, or NULL. Change house->settings and ->config, then open. */
void house_prepare(struct house *house, const char *script);
void house_open(struct house *house);

/* Both, and the model loads. */
void house_begin(struct house *house, const char *script);

/* Stops the hub, and checks that all is as before. */
void house_end(struct house *house);

/* Runs the loop until @is_true(owner), ten seconds at most. */
void house_until(struct house *house, bool (*is_true)(void *owner), void *owner);

/* Runs the loop for @ms. */
void house_run(struct house *house, uint32_t ms);
void house_until_ready(struct house *house);

/* Writes another script for engines that start from now on. */
void house_rewrite(struct house *house, const char *script);
void house_make_model(const char *path, uint32_t n_words);

struct model *house_model(struct house *house);
uint32_t house_pid(struct house *house);
bool house_had(const struct house *house, const char *event);

/* Writes down all that it is told. */
extern const struct stream_sink guest_sink;

/* A guest with a prompt of @n tokens ("1 2 3 …" and @first in front) and room for @n_answer, greedy, seed 7. */
void guest_init(struct guest *guest, uint32_t first, uint32_t n, uint32_t n_answer);
void guest_finish(struct guest *guest);

/* Asks; must be taken in. */
void guest_ask(struct house *house, struct guest *guest);

/* Asks; must be refused with @code. */
void guest_refused(struct house *house, struct guest *guest, Sotto__V1__Code code, const char *word);

void guest_until_over(struct house *house, struct guest *guest);
void guest_until_tokens(struct house *house, struct guest *guest, uint32_t n);

/* It ended Done for @reason, with n tokens in order and no message missing. */
void guest_assert_done(const struct guest *guest, Sotto__V1__FinishReason reason, uint32_t n_tokens);
void guest_assert_failed(const struct guest *guest, Sotto__V1__Code code, const char *word);
void guest_assert_same(const struct guest *a, const struct guest *b);

#endif
