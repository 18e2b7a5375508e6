/*
 * Trace: a seqlock for each slot
 *
 * A thread that has claimed a number writes its slot: it clears the ticket first and sets it last, so a reader that
 * finds the same ticket before and after has read one whole event. A writer that others overtake by a whole ring may
 * leave a mixed event; with this many slots that is acceptable for a ring without locks.
 */
#include "base/trace.h"
#include "base/clock.h"
#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>

#define TRACE_SLOTS 4096 /* some ten seconds of steady work; a power of two */

struct slot {
    atomic_uint_fast64_t ticket; /* number of the event plus 1; 0: being written */
    atomic_uint_fast64_t at_us;
    atomic_uint_fast64_t a;
    atomic_uint_fast64_t b;
    atomic_int what;
};

static struct slot slots[TRACE_SLOTS];
static atomic_uint_fast64_t n_events;

static const char *const what_names[TRACE_WHAT_COUNT] = {
    [TRACE_STEP_SENT] = "step-sent",
    [TRACE_STEP_DONE] = "step-done",
    [TRACE_TOKEN] = "token",
    [TRACE_PARK] = "park",
    [TRACE_ENGINE_LOST] = "engine-lost",
    [TRACE_MODE] = "mode",
    [TRACE_LIMITS] = "limits",
    [TRACE_SLICE] = "slice",
    [TRACE_SENSE] = "sense",
    [TRACE_SENSE_STATE] = "sense-state",
};

void trace_add(enum trace_what what, uint64_t a, uint64_t b)
{
    uint64_t number = atomic_fetch_add_explicit(&n_events, 1, memory_order_relaxed);
    struct slot *slot = &slots[number % TRACE_SLOTS];

    assert(what < TRACE_WHAT_COUNT);

    atomic_store_explicit(&slot->ticket, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->at_us, clock_mono_us(), memory_order_release);
    atomic_store_explicit(&slot->a, a, memory_order_release);
    atomic_store_explicit(&slot->b, b, memory_order_release);
    atomic_store_explicit(&slot->what, (int)what, memory_order_release);
    atomic_store_explicit(&slot->ticket, number + 1, memory_order_release);
}

/* Reads event @number. Returns false if its slot holds another event, or is being written. */
static bool read_slot(uint64_t number, struct trace_event *out)
{
    struct slot *slot = &slots[number % TRACE_SLOTS];

    if (atomic_load_explicit(&slot->ticket, memory_order_acquire) != number + 1) {
        return false;
    }
    out->at_us = atomic_load_explicit(&slot->at_us, memory_order_acquire);
    out->a = atomic_load_explicit(&slot->a, memory_order_acquire);
    out->b = atomic_load_explicit(&slot->b, memory_order_acquire);
    out->what = (enum trace_what)atomic_load_explicit(&slot->what, memory_order_acquire);
    return atomic_load_explicit(&slot->ticket, memory_order_relaxed) == number + 1;
}

size_t trace_copy(struct trace_event *out, size_t cap)
{
    uint64_t end = atomic_load_explicit(&n_events, memory_order_acquire);
    uint64_t most = cap < TRACE_SLOTS ? cap : TRACE_SLOTS;
    size_t n = 0;

    for (uint64_t number = end > most ? end - most : 0; number < end; number++) {
        if (read_slot(number, &out[n])) {
            n++;
        }
    }
    return n;
}

const char *trace_what_name(enum trace_what what)
{
    return what < TRACE_WHAT_COUNT ? what_names[what] : "unknown";
}
