/*
 * Wire: protobuf-c under a ceiling
 *
 * Unpacking multiplies: a megabyte of two-byte fields takes up to 60 times its size from malloc. Here every unpack
 * draws from an arena of 5 times the frame plus 64 KiB, which is reset for the next frame, so an attack costs its
 * sender a refusal and us nothing. A message lives until the next wire_unpack() with the same arena.
 * One thread at a time for each struct wire.
 */
#ifndef SOTTO_PROTO_WIRE_H
#define SOTTO_PROTO_WIRE_H

#include "base/arena.h"
#include "base/buf.h"
#include "proto/frame.h"
#include <protobuf-c/protobuf-c.h>

struct wire {
    struct arena arena;
    ProtobufCAllocator allocator;
    bool starved; /* the system had no memory: not the frame's fault */
};

enum wire_outcome {
    WIRE_OK,
    WIRE_MALFORMED, /* the bytes are no such message */
    WIRE_TOO_MUCH,  /* they would unpack to more than the ceiling */
};

void wire_init(struct wire *wire, enum mem_kind kind);
void wire_finish(struct wire *wire);

/* Unpacks @frame as @type. The message is owned by @wire; never free it. An outcome, or -ENOMEM. */
int wire_unpack(struct wire *wire, const ProtobufCMessageDescriptor *type, const struct frame *frame,
                ProtobufCMessage **ret_message);

/* Appends head and packed @message to @out. BUF_FULL (nothing was changed), or -ENOMEM. */
int wire_pack(const ProtobufCMessage *message, struct buf *out);

#endif
