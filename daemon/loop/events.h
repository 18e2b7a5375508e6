/*
 * Events: the loop's tick, what watchers hear, and the counters
 *
 * Everything is driven from three places: calls of connections, answers of engines, and jobs of the text pool that
 * come back. Each changes state and pokes. Once an iteration of the loop the tick then attends to all that changed,
 * so no callback is made from inside a call, and one tick plans for everything that happened before it.
 *
 * The loop's thread. Knows nothing of models or streams.
 */
#ifndef SOTTO_LOOP_EVENTS_H
#define SOTTO_LOOP_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

/* The user of events that concern no single stream. */
#define EVENTS_NO_UID UINT32_MAX

/* Totals since the start, for Status. */
enum count {
    COUNT_STREAMS,
    COUNT_STREAMS_DONE,
    COUNT_STREAMS_CANCELLED,
    COUNT_STREAMS_FAILED,
    COUNT_REFUSED,
    COUNT_PROMPT_TOK,
    COUNT_CACHED_TOK,
    COUNT_PREFIX_HITS,
    COUNT_PINNED_TOK,
    COUNT_PIN_HITS,
    COUNT_GENERATED_TOK,
    COUNT_STEPS,
    COUNT_REBUILDS,
    COUNT_PREEMPTIONS,
    COUNT_SUSPENDS,
    COUNT_WITHDRAWS,
    COUNT_LATE,
    COUNT_SLIDES,
    COUNT_ENGINE_STARTS,
    COUNT_ENGINE_CRASHES,
    COUNT_TOKENISED,
    COUNT_EMBEDDED,
    COUNT_MODE_CHANGES,
    COUNT_THROTTLED,
    COUNT_TICKS,
    COUNT_HINTS,
    COUNT_SLEEPS,
    COUNT_SESSIONS,
    COUNT_SESSION_TURNS,
    COUNT_SESSION_KEPT_TOK,
    COUNT_SESSIONS_GIVEN_UP,
    COUNT_COUNT,
};

/* Receives an event for Watch. @pairs alternate key and value, @n_pairs of them; @uid is the user of the stream, or
 * EVENTS_NO_UID. */
typedef void (*events_fn)(void *owner, const char *topic, const char *name, const char *const *pairs, size_t n_pairs,
                          uint32_t uid);

struct events {
    uv_loop_t *loop;
    uv_idle_t idle;
    bool is_poked;    /* @idle runs */
    bool is_stopping; /* no new requests */
    bool is_closing;  /* handles are being closed: pokes do nothing */
    void (*tick)(void *owner);
    void *tick_owner;
    events_fn on_event; /* or NULL */
    void *owner;
    uint64_t counts[COUNT_COUNT];
};

void events_init(struct events *events, uv_loop_t *loop, events_fn on_event, void *owner);

/* Puts the handle into the loop; @tick is called once an iteration in which something was poked. */
void events_start(struct events *events, void (*tick)(void *owner), void *owner);

/* Closes the handle and gives it @data for @closed. */
void events_close(struct events *events, uv_close_cb closed, void *data);

/* Schedules a tick. */
void events_poke(struct events *events);

/* Schedules a tick if the daemon is stopping: something is gone that its end waits for. */
void events_poke_end(struct events *events);

/* Sends an event to the watchers; the pairs of strings end with NULL. */
void events_tell(struct events *events, uint32_t uid, const char *topic, const char *name, ...);

/* Sends an event of @n_pairs pairs. */
void events_pass(struct events *events, const char *topic, const char *name, const char *const *pairs, size_t n_pairs,
                 uint32_t uid);

#endif
