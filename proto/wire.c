/*
 * protobuf-c draws from an arena. The library frees piece by piece, and returns NULL for every failure. Here free does
 * nothing, since the arena is reset before the next frame, and the arena remembers whether its ceiling was the cause.
 */
#include "proto/wire.h"
#include "base/err.h"
#include "proto/limit.h"
#include <errno.h>

static void *alloc_from_arena(void *owner, size_t size)
{
    struct wire *wire = owner;
    void *block = arena_alloc(&wire->arena, size);

    if (!block && !wire->arena.exceeded) {
        wire->starved = true;
    }
    return block;
}

static void free_nothing(void *owner, void *block)
{
    (void)owner;
    (void)block;
}

void wire_init(struct wire *wire, enum mem_kind kind)
{
    arena_init(&wire->arena, kind, LIMIT_UNPACK_EXTRA);
    wire->allocator = (ProtobufCAllocator){
        .alloc = alloc_from_arena,
        .free = free_nothing,
    };
    wire->starved = false;
}

void wire_finish(struct wire *wire)
{
    arena_finish(&wire->arena);
}

/* The ceiling is set for each frame: a small one may not use what a large one before it was allowed. */
static void begin(struct wire *wire, size_t n_frame)
{
    arena_reset(&wire->arena);
    wire->arena.max = n_frame * LIMIT_UNPACK_FACTOR + LIMIT_UNPACK_EXTRA;
    wire->starved = false;
    wire->allocator.allocator_data = wire; /* set here, so that the struct may move in memory between frames */
}

int wire_unpack(struct wire *wire, const ProtobufCMessageDescriptor *type, const struct frame *frame,
                ProtobufCMessage **ret_message)
{
    ProtobufCMessage *message;

    begin(wire, frame->n);
    message = protobuf_c_message_unpack(type, &wire->allocator, frame->n, frame->body);
    if (!message && wire->starved) {
        return err_new(-ENOMEM);
    }
    if (!message) {
        return wire->arena.exceeded ? WIRE_TOO_MUCH : WIRE_MALFORMED;
    }
    *ret_message = message;
    return WIRE_OK;
}

int wire_pack(const ProtobufCMessage *message, struct buf *out)
{
    size_t n = protobuf_c_message_get_packed_size(message);
    uint8_t *room;
    int r;

    if (n > UINT32_MAX) {
        return BUF_FULL;
    }
    r = buf_reserve(out, FRAME_HEAD_BYTES + n, &room);
    if (r == BUF_FULL) {
        return BUF_FULL;
    }
    if (r) {
        return err_up(r);
    }
    frame_head(room, (uint32_t)n);
    protobuf_c_message_pack(message, room + FRAME_HEAD_BYTES);
    buf_grew(out, FRAME_HEAD_BYTES + n);
    return BUF_OK;
}
