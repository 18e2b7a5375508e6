/*
 * Wire: protobuf-c under a ceiling
 *
 * Unpacking multiplies: a megabyte of two-byte fields takes up to 60 times its size from malloc. Here every unpack
 * draws from an arena of LIMIT_UNPACK_FACTOR times the frame plus LIMIT_UNPACK_EXTRA, which is reset for the next
 * frame, so an attack costs its sender a refusal and us nothing. A message lives until the next wire_unpack() with the
 * same struct wire, which one thread may use at a time.
 */
#ifndef SOTTO_PROTO_WIRE_H
#define SOTTO_PROTO_WIRE_H

#include "base/arena.h"
#include "base/buf.h"
#include "proto/frame.h"
#include <protobuf-c/protobuf-c.h>
#include <stdint.h>

struct wire {
    struct arena arena;
    ProtobufCAllocator allocator;
    bool starved; /* the system had no memory, which is not the fault of the frame */
};

enum wire_outcome {
    WIRE_OK,
    WIRE_MALFORMED, /* the bytes are not a message of that type */
    WIRE_TOO_MUCH,  /* the message would unpack to more than the ceiling */
};

void wire_init(struct wire *wire, enum mem_kind kind);
void wire_finish(struct wire *wire);

/* Unpacks @frame as a message of @type, which @wire owns. An outcome, or -ENOMEM. */
int wire_unpack(struct wire *wire, const ProtobufCMessageDescriptor *type, const struct frame *frame,
                ProtobufCMessage **ret_message);

/* Appends the head and the packed @message to @out. BUF_OK, BUF_FULL (nothing was changed), or -ENOMEM. */
int wire_pack(const ProtobufCMessage *message, struct buf *out);

/* Strings, messages and bytes inside a message that is only packed: protobuf-c's pointers are not const, but packing
 * does not write. */
static inline char *wire_str(const char *text)
{
    return (char *)(uintptr_t)text;
}

static inline void *wire_message(const void *message)
{
    return (void *)(uintptr_t)message;
}

#endif
