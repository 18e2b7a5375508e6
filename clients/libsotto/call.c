/*
 * Call: an open request, from its frame to its last event
 */
#include "clients/libsotto/handle.h"
#include "proto/limit.h"
#include <errno.h>
#include <sys/socket.h>

/* A caller that pulls may leave this much unread of one request; beyond it the connection counts as lost. */
#define INBOX_MAX (16u << 20)

struct call *call_find(const struct sotto *sotto, uint32_t stream)
{
    const union map_value *value = map_find(&sotto->calls, stream);

    return value ? value->pointer : NULL;
}

void call_close(struct sotto *sotto, struct call *call)
{
    map_remove(&sotto->calls, call->stream);
    buf_finish(&call->inbox);
    mem_free(call);
}

/* Numbers rise and begin again after 2^32 of them; those still in use are passed over. */
static uint32_t new_stream(struct sotto *sotto)
{
    do {
        sotto->last_stream++;
    } while (sotto->last_stream == 0 || call_find(sotto, sotto->last_stream));
    return sotto->last_stream;
}

static enum sotto_code check_size(const struct sotto *sotto, size_t n, struct sotto_error *error)
{
    size_t max = sotto->welcome.frame_bytes ? sotto->welcome.frame_bytes : LIMIT_FRAME;

    if (n > max) {
        return error_set(error, SOTTO_INVALID_ARGUMENT,
                         "the request has %zu bytes, the daemon takes at most %zu; send a shorter one", n, max);
    }
    return SOTTO_OK;
}

void call_flush(struct sotto *sotto)
{
    while (sotto->out.n && !sotto->mute) {
        ssize_t n = send(sotto->fd, buf_data(&sotto->out), sotto->out.n, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n >= 0) {
            buf_eat(&sotto->out, (size_t)n);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        } else if (errno != EINTR) {
            sotto->mute = true;
        }
    }
}

enum sotto_code call_queue(struct sotto *sotto, uint32_t stream, Sotto__V1__ClientFrame__BodyCase body,
                           const void *message, struct sotto_error *error)
{
    struct buf *out = sotto->state == HANDLE_GREETING ? &sotto->held : &sotto->out;
    Sotto__V1__ClientFrame frame = SOTTO__V1__CLIENT_FRAME__INIT;
    enum sotto_code code;
    int r;

    frame.stream = stream;
    frame.body_case = body;
    frame.hello = wire_message(message); /* all bodies share this pointer */
    if (sotto->state == HANDLE_LOST) {
        return error_copy(error, &sotto->why);
    }
    if (sotto->mute) {
        return SOTTO_OK; /* the end of the connection is about to be read, and will end every call */
    }
    code = check_size(sotto, sotto__v1__client_frame__get_packed_size(&frame), error);
    if (code) {
        return code;
    }
    r = wire_pack(&frame.base, out);
    if (r == BUF_FULL) {
        return error_set(error, SOTTO_RESOURCE_EXHAUSTED,
                         "%zu bytes of earlier requests still wait to be read by the daemon; send this one again later",
                         out->n);
    }
    if (r) {
        return error_no_memory(error);
    }
    call_flush(sotto);
    return SOTTO_OK;
}

static struct call *create(struct sotto *sotto, sotto_event_fn fn, void *owner)
{
    struct call *call = mem_calloc(MEM_WIRE, 1, sizeof(*call));

    if (!call) {
        return NULL;
    }
    call->stream = new_stream(sotto);
    call->fn = fn;
    call->owner = owner;
    buf_init(&call->inbox, MEM_WIRE, INBOX_MAX);
    if (map_put(&sotto->calls, call->stream, (union map_value){ .pointer = call })) {
        mem_free(call);
        return NULL;
    }
    return call;
}

enum sotto_code call_open(struct sotto *sotto, Sotto__V1__ClientFrame__BodyCase body, const void *message,
                          sotto_event_fn fn, void *owner, uint32_t *ret_stream, struct sotto_error *error)
{
    struct call *call = create(sotto, fn, owner);
    enum sotto_code code;

    if (!call) {
        return error_no_memory(error);
    }
    code = call_queue(sotto, call->stream, body, message, error);
    if (code) {
        call_close(sotto, call);
        return code;
    }
    if (ret_stream) {
        *ret_stream = call->stream;
    }
    return SOTTO_OK;
}

enum sotto_code sotto_cancel(struct sotto *sotto, uint32_t stream, struct sotto_error *error)
{
    Sotto__V1__Cancel cancel = SOTTO__V1__CANCEL__INIT;

    if (!call_find(sotto, stream)) {
        return SOTTO_OK;
    }
    return call_queue(sotto, stream, SOTTO__V1__CLIENT_FRAME__BODY_CANCEL, &cancel, error);
}

void sotto_drop(struct sotto *sotto, uint32_t stream)
{
    struct call *call = call_find(sotto, stream);

    if (!call) {
        return;
    }
    if (sotto->state == HANDLE_LOST) {
        call_close(sotto, call);
        return;
    }
    sotto_cancel(sotto, stream, NULL);
    call->dropped = true;
    buf_finish(&call->inbox);
}

enum sotto_code sotto_grant(struct sotto *sotto, uint32_t stream, uint32_t tokens, struct sotto_error *error)
{
    Sotto__V1__Credit credit = SOTTO__V1__CREDIT__INIT;
    const struct call *call = call_find(sotto, stream);

    if (!call) {
        return SOTTO_OK; /* the grant has crossed the last event */
    }
    credit.tokens = tokens;
    credit.opt_have_token_case = SOTTO__V1__CREDIT__OPT_HAVE_TOKEN_HAVE_TOKEN;
    credit.have_token = call->have_token;
    credit.opt_have_byte_case = SOTTO__V1__CREDIT__OPT_HAVE_BYTE_HAVE_BYTE;
    credit.have_byte = call->have_byte;
    return call_queue(sotto, stream, SOTTO__V1__CLIENT_FRAME__BODY_CREDIT, &credit, error);
}
