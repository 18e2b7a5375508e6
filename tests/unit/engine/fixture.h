/*
 * Fixture: an engine in a thread, with the test as sottod at the other end of the socket
 *
 * There is one engine at a time. An answer that does not arrive within a minute fails the test.
 */
#ifndef SOTTO_ENGINE_FIXTURE_H
#define SOTTO_ENGINE_FIXTURE_H

#include "sotto/engine.pb-c.h"
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern struct fixture {
    int fd;
    int engine_fd; /* the other end; closed by the engine's thread when it ends */
    pthread_t thread;
    Sotto__Engine__FromEngine *last; /* returned by fixture_get() */
    unsigned n_progress;             /* Progress and Log are counted and skipped */
    unsigned n_logs;
    char script[64]; /* path of a temporary file, or empty */
} fixture;

/* Prompts for the scripted model. With the script a step of a slow one has 60 parts of a millisecond; one of the
 * endless one has so many that a test which waits for its end fails. */
#define FIXTURE_SLOW_SCRIPT "when 310 do slow 60\nwhen 311 do slow 900000\n"
static const uint32_t prompt[] = { 1, 300, 301 };
static const uint32_t slow_prompt[] = { 1, 310 };
static const uint32_t other_slow_prompt[] = { 1, 310, 300 };
static const uint32_t endless_prompt[] = { 1, 311 };

/* Starts an engine, to which nothing has been sent. */
void fixture_begin(void);

/* Starts an engine of the scripted model and waits until it is ready; @script (text) or NULL. */
void fixture_scripted(const char *script);

/* Starts an engine of model file @name of the truth data and waits until it is ready. Returns false if the file is
 * missing. */
bool fixture_ready(const char *backend, const char *name, const char *script);

/* Fills the Start that fixture_ready() sends; the model's descriptor is the caller's. */
void fixture_fill_start(Sotto__Engine__Start *start, int model_fd, const char *backend, const char *script);

/* Closes the socket unless that is done, and waits for the engine's end. Returns engine_run()'s value. */
int fixture_end(void);

void fixture_bytes(const void *bytes, size_t n);
void fixture_send(const Sotto__Engine__ToEngine *order);

/* Returns the next answer, which must be of @kind. It is valid until the next call. */
const Sotto__Engine__FromEngine *fixture_get(Sotto__Engine__FromEngine__BodyCase kind);

/* Returns the next answer of any kind but Progress and Log. */
const Sotto__Engine__FromEngine *fixture_get_any(void);

/* Expects that the engine ends without another message. */
void fixture_expect_end(void);

/* Expects a Fault that contains @words, and that the engine ends with 1. */
void fixture_expect_fault(const char *words, bool hopeless);

/* ---- orders */

/* Sends the order with message @body of this kind. */
void fixture_order(Sotto__Engine__ToEngine__BodyCase kind, const void *body);

void fixture_start(Sotto__Engine__Start *start);
void fixture_fill_open(Sotto__Engine__Open *open, Sotto__Engine__Sampler *sampler, uint32_t seq, const uint32_t *tokens,
                       size_t n_tokens);
void fixture_open(Sotto__Engine__Open *open);

/* Extends a greedy sequence, with room for 40 more tokens. Does not take the answer. */
void fixture_extend(uint32_t seq, const uint32_t *tokens, size_t n_tokens);

/* Opens a greedy sequence with room for 40 more tokens, and takes Opened. */
void fixture_open_plain(uint32_t seq, const uint32_t *tokens, size_t n_tokens);

/* Sends a step of one entry: @n_prefill rows, or a decode if 0. */
void fixture_step(uint64_t id, uint32_t seq, uint32_t n_prefill, uint32_t slice_us);

/* Like fixture_step() with the endless prompt and without a slice; returns when the step is known to run. */
void fixture_step_endless(uint64_t id, uint32_t seq);
void fixture_suspend(uint64_t step);
void fixture_continue(uint64_t step, uint32_t slice_us);
void fixture_limit(uint32_t slice_us, uint64_t kv_bytes);
void fixture_withdraw(uint64_t step);
void fixture_stop(uint32_t seq);
void fixture_trim(uint32_t seq, uint32_t n_tokens);
void fixture_close(uint32_t seq);
void fixture_quit(void);

/* Queries and returns the Stats, which are valid until the next answer. */
const Sotto__Engine__Stats *fixture_query(void);

/* ---- answers */

/* Takes StepDone of step @id with one entry: done, with one token, which is returned; or with this outcome and none. */
uint32_t fixture_get_token(uint64_t id);
void fixture_get_outcome(uint64_t id, Sotto__Engine__Outcome outcome);

/* Takes Suspended or Withdrawn of this step. */
const Sotto__Engine__Suspended *fixture_get_suspended(uint64_t step);
void fixture_get_withdrawn(uint64_t step, bool done);

/* Prefills @seq whole and decodes; writes @n tokens. Steps are numbered from @id on. */
void fixture_answer(uint64_t id, uint32_t seq, uint32_t n_prompt, uint32_t *ret_tokens, size_t n);

/* Returns the first token of an answer that nothing interrupts, by a scripted engine of its own. */
uint32_t fixture_first_token(const uint32_t *tokens, size_t n);

#endif
