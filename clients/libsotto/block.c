/*
 * Block: the functions that wait, on top of the ones that never do
 */
#include "base/clean.h"
#include "base/clock.h"
#include "clients/libsotto/handle.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>

static enum sotto_code wait_ready(struct sotto *sotto, int timeout_ms, bool *ret_interrupted, struct sotto_error *error)
{
    struct pollfd poller = { .fd = sotto->fd, .events = sotto_events(sotto) };
    int n;

    *ret_interrupted = false;
    if (sotto->dispatching) {
        return error_set(error, SOTTO_FAILED_PRECONDITION, "a callback may not wait or dispatch; return from it first");
    }
    n = sotto->state == HANDLE_LOST ? 1 : poll(&poller, 1, timeout_ms);
    if (n < 0 && errno == EINTR) {
        *ret_interrupted = true;
        return SOTTO_OK;
    }
    if (n < 0) {
        return error_set(error, SOTTO_INTERNAL, "can't wait for the daemon: %s", strerror(errno));
    }
    if (n == 0) {
        return error_set(error, SOTTO_DEADLINE_EXCEEDED, "nothing came from the daemon for %d ms", timeout_ms);
    }
    return SOTTO_OK;
}

enum sotto_code sotto_wait(struct sotto *sotto, int timeout_ms, struct sotto_error *error)
{
    bool interrupted;
    enum sotto_code code = wait_ready(sotto, timeout_ms, &interrupted, error);

    if (code || interrupted) {
        return code;
    }
    return sotto_dispatch(sotto, error);
}

enum sotto_code sotto_greet(struct sotto *sotto, int timeout_ms, struct sotto_error *error)
{
    uint64_t end_us = clock_mono_us() + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * 1000;

    while (sotto->state == HANDLE_GREETING) {
        uint64_t now_us = clock_mono_us();
        uint64_t left_ms = now_us < end_us ? (end_us - now_us + 999) / 1000 : 0;
        bool interrupted;
        enum sotto_code code = wait_ready(sotto, timeout_ms < 0 ? -1 : (int)left_ms, &interrupted, error);

        if (code == SOTTO_DEADLINE_EXCEEDED) {
            return error_set(error, code, "the daemon sent no greeting within %d ms", timeout_ms);
        }
        if (code || interrupted) {
            return code;
        }
        code = sotto_dispatch(sotto, error);
        if (code) {
            return code;
        }
    }
    return sotto->state == HANDLE_LOST ? error_copy(error, &sotto->why) : SOTTO_OK;
}

/* Takes the next event out of the inbox of @call. False: there is none. */
static bool take_event(struct sotto *sotto, struct call *call, enum sotto_code *ret_code, struct sotto_error *error)
{
    struct frame frame;
    size_t used;

    while (frame_take(buf_data(&call->inbox), call->inbox.n, call->inbox.n, &frame, &used) == FRAME_OK) {
        ProtobufCMessage *message;
        int r = wire_unpack(&sotto->wire, &sotto__v1__server_frame__descriptor, &frame, &message);

        buf_eat(&call->inbox, used);
        r = r ? r : event_make(sotto, call->stream, (const Sotto__V1__ServerFrame *)message);
        if (r == EVENT_NONE) {
            continue;
        }
        if (r) {
            *ret_code = error_no_memory(error); /* nothing else can fail, since the frame was unpacked once before */
            return true;
        }
        pump_delivered(sotto, call);
        *ret_code = sotto->event.kind == SOTTO_EVENT_ERROR ? error_copy(error, sotto->event.error) : SOTTO_OK;
        return true;
    }
    return false;
}

enum sotto_code sotto_next(struct sotto *sotto, uint32_t stream, const struct sotto_event **ret_event,
                           struct sotto_error *error)
{
    *ret_event = NULL;
    for (;;) {
        struct call *call = call_find(sotto, stream);
        enum sotto_code code;
        bool interrupted;

        if (!call) {
            return error_set(error, SOTTO_NOT_FOUND, "request %u is not open: its last event was already given",
                             stream);
        }
        if (call->fn || call->dropped) {
            return error_set(error, SOTTO_FAILED_PRECONDITION,
                             "the events of request %u can't be fetched: it has a callback, or was dropped", stream);
        }
        if (take_event(sotto, call, &code, error)) {
            *ret_event = code ? NULL : &sotto->event;
            return code;
        }
        if (sotto->state == HANDLE_LOST) {
            call_close(sotto, call);
            return error_copy(error, &sotto->why);
        }
        code = wait_ready(sotto, -1, &interrupted, error);
        if (code || interrupted) {
            return code;
        }
        if (sotto_dispatch(sotto, error) == SOTTO_CANCELLED) {
            return SOTTO_CANCELLED; /* closed by a callback */
        }
    }
}

/* An answer that is not complete yet. */
struct growing {
    struct buf text;
    struct buf tokens;
    struct sotto_answer *answer;
};

static void growing_finish(struct growing *growing)
{
    buf_finish(&growing->text);
    buf_finish(&growing->tokens);
    sotto_answer_destroy(growing->answer);
}

void sotto_answer_destroy(struct sotto_answer *answer)
{
    if (answer) {
        mem_free(answer->text);
        mem_free(answer->tokens);
        mem_free(answer);
    }
}

static enum sotto_code add_delta(struct growing *growing, const struct sotto_delta *delta, struct sotto_error *error)
{
    if (buf_append(&growing->text, delta->text, delta->n_text) ||
        buf_append(&growing->tokens, delta->tokens, delta->n_tokens * sizeof(*delta->tokens))) {
        return error_no_memory(error);
    }
    return SOTTO_OK;
}

static enum sotto_code end(struct growing *growing, const struct sotto_done *done, struct sotto_error *error)
{
    struct sotto_answer *answer = growing->answer;

    answer->n_text = growing->text.n;
    answer->text = mem_strndup(MEM_WIRE, (const char *)buf_data(&growing->text), growing->text.n);
    answer->n_tokens = growing->tokens.n / sizeof(*answer->tokens);
    answer->tokens = mem_alloc(MEM_WIRE, growing->tokens.n);
    if (!answer->text || !answer->tokens) {
        return error_no_memory(error);
    }
    if (growing->tokens.n) {
        memcpy(answer->tokens, buf_data(&growing->tokens), growing->tokens.n);
    }
    answer->reason = done->reason;
    answer->reason_name = done->reason_name;
    answer->usage = done->usage;
    answer->tokens_per_second = done->tokens_per_second;
    return SOTTO_OK;
}

static enum sotto_code grow_by(struct growing *growing, const struct sotto_event *event, struct sotto_error *error)
{
    if (event->kind == SOTTO_EVENT_ACCEPTED) {
        growing->answer->seed = event->accepted->seed;
    } else if (event->kind == SOTTO_EVENT_DELTA) {
        return add_delta(growing, event->delta, error);
    } else if (event->kind == SOTTO_EVENT_DONE) {
        return end(growing, event->done, error);
    }
    return SOTTO_OK;
}

enum sotto_code sotto_ask(struct sotto *sotto, const struct sotto_generate *request, struct sotto_answer **ret_answer,
                          struct sotto_error *error)
{
    cleanup(growing_finish) struct growing growing = { .answer = NULL };
    uint32_t stream = 0;
    enum sotto_code code;
    bool last = false;

    buf_init(&growing.text, MEM_WIRE, SIZE_MAX / 4);
    buf_init(&growing.tokens, MEM_WIRE, SIZE_MAX / 4);
    growing.answer = mem_calloc(MEM_WIRE, 1, sizeof(*growing.answer));
    if (!growing.answer) {
        return error_no_memory(error);
    }
    code = sotto_send_generate(sotto, request, NULL, NULL, &stream, error);
    while (code == SOTTO_OK && !last) {
        const struct sotto_event *event;

        code = sotto_next(sotto, stream, &event, error);
        if (code == SOTTO_OK && event) {
            last = event->last;
            code = grow_by(&growing, event, error);
        }
    }
    if (code) {
        sotto_drop(sotto, stream); /* its other events will not be fetched */
        return code;
    }
    *ret_answer = steal(&growing.answer);
    return SOTTO_OK;
}
