/*
 * Drive: an engine in a thread, and the test in sottod's place at the other end of the socket
 *
 * One engine at a time: the log goes to the latest. An answer that does not come within ten seconds fails the test.
 */
#ifndef SOTTO_ENGINE_FIXTURE_H
#define SOTTO_ENGINE_FIXTURE_H

#include "sotto/engine.pb-c.h"
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fixture {
    int fd;
    int engine_fd; /* the other end; closed by the engine's thread when it is over */
    pthread_t thread;
    Sotto__Engine__FromEngine *last; /* what fixture_get() gave */
    unsigned n_progress;             /* Progress and Log are counted and passed over */
    unsigned n_logs;
    char script[64]; /* path of a temporary file, or empty */
};

/* An engine that has been told nothing yet. */
void fixture_begin(struct fixture *fixture);

/* And one that is ready: model file @name of the truth data, @script (text, or NULL). False: the file is not here. */
bool fixture_ready(struct fixture *fixture, const char *backend, const char *name, const char *script);

/* The Start that fixture_ready() sends; the model's descriptor is the caller's. */
void fixture_fill_start(struct fixture *fixture, Sotto__Engine__Start *start, int model_fd, const char *backend,
                        const char *script);

/* Closes the socket unless that is done, and waits for the engine's end. Returns engine_run()'s value. */
int fixture_end(struct fixture *fixture);

void fixture_bytes(struct fixture *fixture, const void *bytes, size_t n);
void fixture_send(struct fixture *fixture, const Sotto__Engine__ToEngine *order);

/* The next answer, which must be of @kind. It lives until the next call. */
const Sotto__Engine__FromEngine *fixture_get(struct fixture *fixture, Sotto__Engine__FromEngine__BodyCase kind);

/* The next answer, whatever it is but Progress and Log. */
const Sotto__Engine__FromEngine *fixture_get_any(struct fixture *fixture);

/* The engine must end without another word. */
void fixture_expect_end(struct fixture *fixture);

/* Expects a Fault that holds @words, and that the engine ends with 1. */
void fixture_expect_fault(struct fixture *fixture, const char *words, bool hopeless);

/* ---- orders */

void fixture_start(struct fixture *fixture, Sotto__Engine__Start *start);
void fixture_fill_open(Sotto__Engine__Open *open, Sotto__Engine__Sampler *sampler, uint32_t seq, const uint32_t *tokens,
                       size_t n_tokens);
void fixture_open(struct fixture *fixture, Sotto__Engine__Open *open);

/* Greedy, with room for 40 more tokens; the answer is left to be taken. */
void fixture_extend(struct fixture *fixture, uint32_t seq, const uint32_t *tokens, size_t n_tokens);

/* Opens a greedy sequence with room for 40 more tokens, and takes Opened. */
void fixture_open_plain(struct fixture *fixture, uint32_t seq, const uint32_t *tokens, size_t n_tokens);

/* A step of one entry: @n_prefill rows, or a decode where it is 0. */
void fixture_step(struct fixture *fixture, uint64_t id, uint32_t seq, uint32_t n_prefill, uint32_t slice_us);
void fixture_suspend(struct fixture *fixture, uint64_t step);
void fixture_continue(struct fixture *fixture, uint64_t step, uint32_t slice_us);
void fixture_limit(struct fixture *fixture, uint32_t slice_us, uint64_t kv_bytes);
void fixture_withdraw(struct fixture *fixture, uint64_t step);
void fixture_stop(struct fixture *fixture, uint32_t seq);
void fixture_trim(struct fixture *fixture, uint32_t seq, uint32_t n_tokens);
void fixture_close(struct fixture *fixture, uint32_t seq);
void fixture_quit(struct fixture *fixture);

/* Queries, and returns the Stats; live until the next answer. */
const Sotto__Engine__Stats *fixture_query(struct fixture *fixture);

/* ---- answers */

/* Takes StepDone of step @id with one entry, whose outcome and tokens must be these; @n_tokens 0 or 1. */
uint32_t fixture_get_token(struct fixture *fixture, uint64_t id);
void fixture_get_outcome(struct fixture *fixture, uint64_t id, Sotto__Engine__Outcome outcome);

/* Prefills @seq whole and decodes; writes @n tokens. Steps are numbered from @id on. */
void fixture_answer(struct fixture *fixture, uint64_t id, uint32_t seq, uint32_t n_prompt, uint32_t *ret_tokens,
                    size_t n);

#endif
