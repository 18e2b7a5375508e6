/*
 * Engine link: one engine process, from its start to its end
 *
 * It starts sotto-engine with one end of a socketpair as descriptor 3 and the model file as descriptor 4 (all other
 * descriptors of sottod are close-on-exec), sends Start, frames orders and answers, and keeps the watchdogs: five
 * seconds to the first message, load_stall_ms without progress while loading, the estimate of a step times 20, two
 * seconds to quit. An engine that is overdue, or sends nonsense, is killed. Whatever the way, there is one end,
 * reported once, when the process is reaped and the socket is empty. The link then frees itself.
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
    ENGINE_STARTING, /* spawned, Start is sent; no message yet */
    ENGINE_LOADING,  /* reports its progress */
    ENGINE_READY,    /* takes orders */
    ENGINE_STOPPING, /* was told to quit */
    ENGINE_DYING,    /* killed, gone, or about to be: waits for the end of process and socket */
    ENGINE_OFF,      /* no process; the end was reported */
    ENGINE_STATE_COUNT,
};

/* The end of a process, for its owner. */
struct engine_end {
    bool was_ready;       /* had sent Ready */
    bool wanted;          /* was told to quit, and did (or was killed for being slow at it) */
    bool hopeless;        /* reported that a new start would end the same */
    bool stranger;        /* by a SIGKILL that sottod did not send */
    char exit[128];       /* "signal 9 (killed) after 12.3 s" */
    char why[DIAG_BYTES]; /* a sentence for people: its own last message, or what was seen */
};

struct engine_sink {
    void (*on_progress)(void *owner, const Sotto__Engine__Progress *progress);
    void (*on_ready)(void *owner, const Sotto__Engine__Ready *ready);
    /* Takes Opened, Refused, StepDone, Suspended, Withdrawn or Stats. */
    void (*on_answer)(void *owner, const Sotto__Engine__FromEngine *answer);
    /* Is called once, last, from the loop: the link is freed when it returns. */
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

/* Starts a process and sends @start. A failure other than of memory (also the start of the process) is reported by
 * on_end. 0 or -ENOMEM. @spec and @start live for the call. */
int engine_start(struct engine_link **ret_link, uv_loop_t *loop, const struct engine_spec *spec,
                 const Sotto__Engine__Start *start, const struct engine_sink *sink, void *owner);

enum engine_state engine_state(const struct engine_link *link);
uint32_t engine_pid(const struct engine_link *link); /* 0: none */

/* Sends @order. A failure to send kills the engine; on_end follows. */
void engine_tell(struct engine_link *link, const Sotto__Engine__ToEngine *order);

/* Starts the watchdog for an answer that is estimated to take @estimated_ns: it allows the floor, or twenty times that.
 * Each call restarts it. engine_rest(): nothing is awaited. */
void engine_await(struct engine_link *link, double estimated_ns);
void engine_rest(struct engine_link *link);

/* Asks the engine to quit; kills it after two seconds. */
void engine_quit(struct engine_link *link);

/* Kills the engine now; @format becomes engine_end.why. */
void engine_kill(struct engine_link *link, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns whether the process should be gone since ten seconds and is not: the kernel holds it. */
bool engine_is_overdue(const struct engine_link *link);

#endif
