/*
 * Pump: reads the socket and delivers to the calls, without ever waiting
 *
 * Callbacks run here and nowhere else. A callback may send, cancel, drop or close, so nothing that was looked up before
 * it is used after it.
 */
#include "base/clean.h"
#include "base/num.h"
#include "clients/libsotto/handle.h"
#include "proto/limit.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>

/* Bytes of one read, and reads in one dispatch: a fast daemon must not keep the caller's loop for itself. */
#define READ_BYTES  (64u << 10)
#define READ_ROUNDS 4

/* Ends the connection for @code; its calls get an error before the dispatch ends. The first reason counts. */
__attribute__((format(printf, 3, 4))) static void lose(struct sotto *sotto, enum sotto_code code, const char *format,
                                                       ...)
{
    va_list args;

    if (sotto->state == HANDLE_LOST) {
        return;
    }
    sotto->state = HANDLE_LOST;
    sotto->why = (struct sotto_error){ .code = code };
    va_start(args, format);
    vsnprintf(sotto->why.message, sizeof(sotto->why.message), format, args);
    va_end(args);
}

static void lose_memory(struct sotto *sotto)
{
    lose(sotto, SOTTO_RESOURCE_EXHAUSTED, "this program has no memory left");
}

void pump_delivered(struct sotto *sotto, struct call *call)
{
    const struct sotto_event *event = &sotto->event;

    if (event->kind == SOTTO_EVENT_DELTA) {
        call->have_token = event->delta->first + (uint32_t)event->delta->n_tokens;
        call->have_byte += event->delta->n_text;
    }
    if (event->last) {
        call_close(sotto, call);
    }
}

static void push(struct sotto *sotto, struct call *call, const Sotto__V1__ServerFrame *message)
{
    sotto_event_fn fn = call->fn;
    void *owner = call->owner;
    int r = event_make(sotto, call->stream, message);

    if (r == EVENT_NONE) {
        return;
    }
    if (r) {
        lose_memory(sotto);
        return;
    }
    pump_delivered(sotto, call);
    fn(owner, &sotto->event);
}

/* Gives a frame to its call: to the callback as an event, or into the inbox as it is. */
static void deliver(struct sotto *sotto, struct call *call, const Sotto__V1__ServerFrame *message,
                    const struct frame *frame)
{
    if (call->dropped) {
        if (event_is_last(message)) {
            call_close(sotto, call);
        }
        return;
    }
    if (call->fn) {
        push(sotto, call, message);
        return;
    }
    /* The head lies right before the body. */
    if (buf_append(&call->inbox, frame->body - FRAME_HEAD_BYTES, FRAME_HEAD_BYTES + frame->n)) {
        lose(sotto, SOTTO_RESOURCE_EXHAUSTED,
             "%zu bytes of answers to request %u were not fetched, which is too much; call sotto_next() for it more "
             "often",
             call->inbox.n, call->stream);
    }
}

static void on_welcome(struct sotto *sotto, const Sotto__V1__Welcome *welcome)
{
    int r;

    if (sotto->state != HANDLE_GREETING) {
        return;
    }
    if (welcome->version != PROTO_VERSION) {
        lose(sotto, SOTTO_UNIMPLEMENTED,
             "the daemon (%s) speaks version %u of the protocol, this library version %u; update the older one",
             welcome->server, welcome->version, PROTO_VERSION);
        return;
    }
    r = event_welcome(sotto, welcome);
    if (r == 0 && sotto->held.n) {
        r = buf_append(&sotto->out, buf_data(&sotto->held), sotto->held.n);
    }
    if (r) {
        lose_memory(sotto);
        return;
    }
    buf_finish(&sotto->held);
    sotto->state = HANDLE_READY;
    call_flush(sotto);
}

static void on_error(struct sotto *sotto, const Sotto__V1__ServerFrame *message, const struct frame *frame)
{
    const Sotto__V1__Error *error = message->error;
    struct call *call = error->about_stream ? call_find(sotto, error->about_stream) : NULL;

    if (error->fatal) {
        error_from_wire(&sotto->why, error);
        sotto->state = HANDLE_LOST;
    } else if (call) {
        deliver(sotto, call, message, frame);
    }
}

static void on_frame(struct sotto *sotto, const struct frame *frame)
{
    ProtobufCMessage *unpacked;
    const Sotto__V1__ServerFrame *message;
    struct call *call;
    int r = wire_unpack(&sotto->wire, &sotto__v1__server_frame__descriptor, frame, &unpacked);

    if (r < 0) {
        lose_memory(sotto);
        return;
    }
    if (r) {
        lose(sotto, SOTTO_DATA_LOSS,
             "the daemon sent a frame of %zu bytes that is no message; its version may differ from the library's",
             frame->n);
        return;
    }
    message = (const Sotto__V1__ServerFrame *)unpacked;
    if (message->stream == 0 && message->body_case == SOTTO__V1__SERVER_FRAME__BODY_WELCOME) {
        on_welcome(sotto, message->welcome);
    } else if (message->body_case == SOTTO__V1__SERVER_FRAME__BODY_ERROR &&
               (message->stream == 0 || message->error->fatal)) {
        on_error(sotto, message, frame);
    } else {
        call = call_find(sotto, message->stream);
        if (call) {
            deliver(sotto, call, message, frame);
        }
    }
}

static void take_frames(struct sotto *sotto)
{
    size_t max = num_max(LIMIT_FRAME, sotto->welcome.frame_bytes);
    struct frame frame;
    size_t used;

    while (sotto->state != HANDLE_LOST && !sotto->doomed) {
        int r = frame_take(buf_data(&sotto->in), sotto->in.n, max, &frame, &used);

        if (r == FRAME_MORE) {
            return;
        }
        if (r == FRAME_TOO_LARGE) {
            lose(sotto, SOTTO_DATA_LOSS, "the daemon announced a frame of %zu bytes; at most %zu are allowed", frame.n,
                 max);
            return;
        }
        on_frame(sotto, &frame);
        buf_eat(&sotto->in, used);
    }
}

/* Reads once. False: there is nothing more to read now. */
static bool read_once(struct sotto *sotto)
{
    uint8_t *room;
    ssize_t n;

    sotto->in.max = num_max(LIMIT_FRAME, sotto->welcome.frame_bytes) + FRAME_HEAD_BYTES + READ_BYTES;
    if (buf_reserve(&sotto->in, READ_BYTES, &room)) {
        lose_memory(sotto);
        return false;
    }
    do {
        n = recv(sotto->fd, room, READ_BYTES, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n > 0) {
        buf_grew(&sotto->in, (size_t)n);
        take_frames(sotto);
        return n == READ_BYTES;
    }
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        return false;
    }
    lose(sotto, SOTTO_UNAVAILABLE, "the daemon has closed the connection%s%s",
         sotto->in.n ? " in the middle of a frame" : "", sotto->state == HANDLE_GREETING ? " before it greeted" : "");
    return false;
}

static struct call *first_with_callback(const struct sotto *sotto)
{
    const struct map_entry *entry;
    size_t at = 0;

    while ((entry = map_next(&sotto->calls, &at))) {
        struct call *call = entry->value.pointer;

        if (call->fn || call->dropped) {
            return call;
        }
    }
    return NULL;
}

/* Ends the calls with a callback. The others stay: sotto_next() gives what their inboxes hold, then the reason. */
static void tell_lost(struct sotto *sotto)
{
    struct call *call;

    while (!sotto->doomed && (call = first_with_callback(sotto))) {
        sotto_event_fn fn = call->dropped ? NULL : call->fn;
        void *owner = call->owner;

        sotto->last = sotto->why;
        sotto->event = (struct sotto_event){
            .kind = SOTTO_EVENT_ERROR,
            .stream = call->stream,
            .last = true,
            .error = &sotto->last,
        };
        call_close(sotto, call);
        if (fn) {
            fn(owner, &sotto->event);
        }
    }
}

enum sotto_code sotto_dispatch(struct sotto *sotto, struct sotto_error *error)
{
    if (sotto->dispatching) {
        return error_set(error, SOTTO_FAILED_PRECONDITION, "a callback may not wait or dispatch; return from it first");
    }
    sotto->dispatching = true;
    if (sotto->state != HANDLE_LOST) {
        call_flush(sotto);
        for (int i = 0; i < READ_ROUNDS && sotto->state != HANDLE_LOST && !sotto->doomed; i++) {
            if (!read_once(sotto)) {
                break;
            }
        }
    }
    if (sotto->state == HANDLE_LOST) {
        tell_lost(sotto);
    }
    sotto->dispatching = false;
    if (sotto->doomed) {
        handle_free(sotto);
        return error_set(error, SOTTO_CANCELLED, "the connection was closed in a callback");
    }
    return sotto->state == HANDLE_LOST ? error_copy(error, &sotto->why) : SOTTO_OK;
}
