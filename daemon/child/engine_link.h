/*
 * Engine link: one engine process, from its start to its end
 *
 * It starts sotto-engine with one end of a socketpair as descriptor 3 and the model file as descriptor 4 (all else
 * of sottod's is close-on-exec), says Start, frames orders out and answers in, and keeps the watchdogs: five seconds
 * to the first word, so long without progress while loading, so long for a step, two seconds to quit. An engine that
 * is overdue, or speaks nonsense, is killed. Whatever the way, there is one end, told once, when the process is
 * reaped and the socket is empty. The link then frees itself.
 *
 * The loop's thread.
 */
#ifndef SOTTO_CHILD_ENGINE_LINK_H
#define SOTTO_CHILD_ENGINE_LINK_H

#include "base/diag.h"
#include "sotto/engine.pb-c.h"
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

enum engine_state {
    ENGINE_STARTING, /* spawned, Start is sent; no word yet */
    ENGINE_LOADING,  /* tells its progress */
    ENGINE_READY,    /* obeys orders */
    ENGINE_STOPPING, /* was told to quit */
    ENGINE_DYING,    /* killed, gone, or about to be: waits for the end of process and socket */
    ENGINE_OFF,      /* no process; the end was told */
    ENGINE_STATE_COUNT,
};

/* How it ended. */
struct engine_end {
    bool was_ready; /* had said Ready */
    bool wanted;    /* was told to quit, and did (or was killed for being slow at it) */
    bool hopeless;  /* said that a new start would end the same */
    bool stranger;  /* by a SIGKILL that was not ours */
    uint64_t lived_us;
    char exit[128];       /* "signal 9 (killed) after 12.3 s" */
    char why[DIAG_BYTES]; /* a sentence for people: its own last word, or what was seen */
};

struct engine_sink {
    void (*on_progress)(void *owner, const Sotto__Engine__Progress *progress);
    void (*on_ready)(void *owner, const Sotto__Engine__Ready *ready);
    /* Opened, Refused, StepDone, Suspended, Withdrawn, Stats. */
    void (*on_answer)(void *owner, const Sotto__Engine__FromEngine *answer);
    /* Once, last, from the loop: the link is freed when it returns. */
    void (*on_end)(void *owner, const struct engine_end *end);
};

struct engine_spec {
    const char *path; /* of the program */
    const char *name; /* of the model, for lines and sentences */
    int model_fd;     /* the caller's */
    uint32_t load_stall_ms;
    uint32_t step_floor_ms;
};

struct engine_link;

/* Starts a process and says @start. What fails later than memory (also the start of the process) is told by on_end.
 * 0 or -ENOMEM. @spec and @start live for the call. */
int engine_start(struct engine_link **ret_link, uv_loop_t *loop, const struct engine_spec *spec,
                 const Sotto__Engine__Start *start, const struct engine_sink *sink, void *owner);

enum engine_state engine_state(const struct engine_link *link);
uint32_t engine_pid(const struct engine_link *link); /* 0: none */

/* Says @order. What can't be said kills the engine; on_end follows. */
void engine_tell(struct engine_link *link, const Sotto__Engine__ToEngine *order);

/* An answer is awaited that was foretold to take @estimated_ns; the watchdog allows the floor, or twenty times that.
 * Each call starts the count anew. engine_rest(): nothing is awaited. */
void engine_await(struct engine_link *link, double estimated_ns);
void engine_rest(struct engine_link *link);

/* Asks it to quit; kills it after two seconds. */
void engine_quit(struct engine_link *link);

/* Kills it now; @format becomes engine_end.why. */
void engine_kill(struct engine_link *link, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Should be gone since ten seconds and is not: the kernel holds it. */
bool engine_is_overdue(const struct engine_link *link);

#endif
