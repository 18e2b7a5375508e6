/*
 * Drive: an engine in a thread, and the test in sottod's place at the other end of the socket
 *
 * One engine at a time: the log goes to the latest. An answer that does not come within ten seconds fails the test.
 */
#ifndef SOTTO_TESTS_DRIVE_H
#define SOTTO_TESTS_DRIVE_H

#include "sotto/engine.pb-c.h"
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct drive {
    int fd;
    int engine_fd; /* the other end; closed by the engine's thread when it is over */
    pthread_t thread;
    Sotto__Engine__FromEngine *last; /* what drive_get() gave */
    unsigned n_progress;             /* Progress and Log are counted and passed over */
    unsigned n_logs;
    char script[64]; /* path of a temporary file, or empty */
};

/* An engine that has been told nothing yet. */
void drive_begin(struct drive *drive);

/* And one that is ready: model file @name of the truth data, @script (text, or NULL). False: the file is not here. */
bool drive_ready(struct drive *drive, const char *backend, const char *name, const char *script);

/* The Start that drive_ready() sends; the model's descriptor is the caller's. */
void drive_fill_start(struct drive *drive, Sotto__Engine__Start *start, int model_fd, const char *backend,
                      const char *script);

/* Closes the socket unless that is done, and waits for the engine's end. Returns engine_run()'s value. */
int drive_end(struct drive *drive);

void drive_bytes(struct drive *drive, const void *bytes, size_t n);
void drive_send(struct drive *drive, const Sotto__Engine__ToEngine *order);

/* The next answer, which must be of @kind. It lives until the next call. */
const Sotto__Engine__FromEngine *drive_get(struct drive *drive, Sotto__Engine__FromEngine__BodyCase kind);

/* The next answer, whatever it is but Progress and Log. */
const Sotto__Engine__FromEngine *drive_get_any(struct drive *drive);

/* The engine must end without another word. */
void drive_expect_end(struct drive *drive);

/* Expects a Fault that holds @words, and that the engine ends with 1. */
void drive_expect_fault(struct drive *drive, const char *words, bool hopeless);

/* ---- orders */

void drive_start(struct drive *drive, Sotto__Engine__Start *start);
void drive_fill_open(Sotto__Engine__Open *open, Sotto__Engine__Sampler *sampler, uint32_t seq, const uint32_t *tokens,
                     size_t n_tokens);
void drive_open(struct drive *drive, Sotto__Engine__Open *open);

/* Greedy, with room for 40 more tokens; the answer is left to be taken. */
void drive_extend(struct drive *drive, uint32_t seq, const uint32_t *tokens, size_t n_tokens);

/* Opens a greedy sequence with room for 40 more tokens, and takes Opened. */
void drive_open_plain(struct drive *drive, uint32_t seq, const uint32_t *tokens, size_t n_tokens);

/* A step of one entry: @n_prefill rows, or a decode where it is 0. */
void drive_step(struct drive *drive, uint64_t id, uint32_t seq, uint32_t n_prefill, uint32_t slice_us);
void drive_suspend(struct drive *drive, uint64_t step);
void drive_continue(struct drive *drive, uint64_t step, uint32_t slice_us);
void drive_limit(struct drive *drive, uint32_t slice_us, uint64_t kv_bytes);
void drive_withdraw(struct drive *drive, uint64_t step);
void drive_stop(struct drive *drive, uint32_t seq);
void drive_trim(struct drive *drive, uint32_t seq, uint32_t n_tokens);
void drive_close(struct drive *drive, uint32_t seq);
void drive_quit(struct drive *drive);

/* Queries, and returns the Stats; live until the next answer. */
const Sotto__Engine__Stats *drive_query(struct drive *drive);

/* ---- answers */

/* Takes StepDone of step @id with one entry, whose outcome and tokens must be these; @n_tokens 0 or 1. */
uint32_t drive_get_token(struct drive *drive, uint64_t id);
void drive_get_outcome(struct drive *drive, uint64_t id, Sotto__Engine__Outcome outcome);

/* Prefills @seq whole and decodes; writes @n tokens. Steps are numbered from @id on. */
void drive_answer(struct drive *drive, uint64_t id, uint32_t seq, uint32_t n_prompt, uint32_t *ret_tokens, size_t n);

#endif
