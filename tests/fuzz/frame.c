/*
 * Fuzzer: the frames of a peer
 *
 * The input is a connection, cut into frames as the bytes arrive; each frame is unpacked under its ceiling and checked
 * against the table of requests. The first byte chooses the peer: a client, the daemon, or an engine.
 */
#include "base/diag.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "proto/check.h"
#include "proto/limit.h"
#include "proto/wire.h"
#include "sotto/engine.pb-c.h"
#include <string.h>

enum speaker {
    SPEAKER_CLIENT,
    SPEAKER_ENGINE,
    SPEAKER_DAEMON, /* to an engine */
    SPEAKER_COUNT,
};

static const ProtobufCMessageDescriptor *const types[SPEAKER_COUNT] = {
    [SPEAKER_CLIENT] = &sotto__v1__client_frame__descriptor,
    [SPEAKER_ENGINE] = &sotto__engine__from_engine__descriptor,
    [SPEAKER_DAEMON] = &sotto__engine__to_engine__descriptor,
};

static void check_sentence(const struct diag *diag)
{
    FUZZ_PROMISE(diag_is_set(diag));
    FUZZ_PROMISE(utf8_is_valid(diag->text, strlen(diag->text), NULL));
    FUZZ_PROMISE(utf8_is_valid(diag->field, strlen(diag->field), NULL));
}

/*
 * Empties the lists of unknown fields, at every depth. protobuf-c keeps them as it found them, including tags in an
 * overlong form, which it writes back in another form.
 */
static void forget_unknown(ProtobufCMessage *message)
{
    message->n_unknown_fields = 0;
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        char *quantifier = (char *)message + field->quantifier_offset;
        ProtobufCMessage **parts = (ProtobufCMessage **)(void *)((char *)message + field->offset);
        size_t n = 1;

        if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
            continue;
        }
        if (field->label == PROTOBUF_C_LABEL_REPEATED) {
            n = *(size_t *)(void *)quantifier;
            parts = *(ProtobufCMessage ***)(void *)parts;
        } else if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
            n = *(uint32_t *)(void *)quantifier == field->id;
        }
        for (size_t j = 0; j < n; j++) {
            if (parts[j]) {
                forget_unknown(parts[j]);
            }
        }
    }
}

/* Checks that an unpacked message can be packed and unpacked again. */
static void say_again(const ProtobufCMessage *message, const ProtobufCMessageDescriptor *type)
{
    struct buf out;
    struct wire wire;
    struct frame frame;
    ProtobufCMessage *again;
    size_t used;
    int r;

    buf_init(&out, MEM_WIRE, 8 * LIMIT_FRAME);
    FUZZ_PROMISE(wire_pack(message, &out) == 0);
    FUZZ_PROMISE(frame_take(buf_data(&out), out.n, 8 * LIMIT_FRAME, &frame, &used) == FRAME_OK);
    FUZZ_PROMISE(used == out.n);
    wire_init(&wire, MEM_WIRE);
    r = wire_unpack(&wire, type, &frame, &again);
    FUZZ_PROMISE(r == WIRE_OK || r == WIRE_TOO_MUCH);
    wire_finish(&wire);
    buf_finish(&out);
}

static void take_message(struct wire *wire, enum speaker speaker, const struct frame *frame)
{
    ProtobufCMessage *message = NULL;
    struct diag diag = DIAG_INIT;
    int r = wire_unpack(wire, types[speaker], frame, &message);

    FUZZ_PROMISE(r >= 0);
    FUZZ_PROMISE((r == WIRE_OK) == (message != NULL));
    if (r != WIRE_OK) {
        return;
    }
    if (speaker == SPEAKER_CLIENT && check_client_frame((const Sotto__V1__ClientFrame *)message, &diag) != CHECK_OK) {
        check_sentence(&diag);
    }
    forget_unknown(message);
    say_again(message, types[speaker]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    enum speaker speaker = n ? (enum speaker)(bytes[0] % SPEAKER_COUNT) : SPEAKER_CLIENT;
    size_t at = n ? 1 : 0;
    struct wire wire;

    wire_init(&wire, MEM_WIRE);
    while (at < n) {
        struct frame frame;
        size_t used;
        int r = frame_take(bytes + at, n - at, LIMIT_FRAME, &frame, &used);

        if (r != FRAME_OK) {
            FUZZ_PROMISE(r == FRAME_MORE || r == FRAME_TOO_LARGE);
            break;
        }
        FUZZ_PROMISE(used == frame.n + FRAME_HEAD_BYTES && used <= n - at);
        FUZZ_PROMISE(frame.body == bytes + at + FRAME_HEAD_BYTES);
        take_message(&wire, speaker, &frame);
        at += used;
    }
    wire_finish(&wire);
    return 0;
}
