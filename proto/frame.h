/*
 * Frame: a 4-byte little-endian length, then that many bytes of one message
 *
 * Bytes go in and frames come out, without a socket, a copy or an allocation. A reader calls frame_take() on the bytes
 * that have come; a writer puts frame_head() before the packed message. Pure, any thread.
 */
#ifndef SOTTO_PROTO_FRAME_H
#define SOTTO_PROTO_FRAME_H

#include <stddef.h>
#include <stdint.h>

#define FRAME_HEAD_BYTES 4

struct frame {
    const uint8_t *body; /* points into the caller's bytes */
    size_t n;
};

enum frame_outcome {
    FRAME_OK,
    FRAME_MORE,      /* not complete; *ret_used is the size of the whole frame, 0 if unknown */
    FRAME_TOO_LARGE, /* its length is above @max_body, as the head says */
};

/*
 * Looks for one complete frame at the beginning of @bytes. The body points into @bytes.
 * FRAME_OK: the caller may discard *ret_used bytes. FRAME_TOO_LARGE: ret_frame->n is the claimed length.
 */
int frame_take(const uint8_t *bytes, size_t n, size_t max_body, struct frame *ret_frame, size_t *ret_used);

/* Writes the head of a frame of @n_body bytes. */
void frame_head(uint8_t head[FRAME_HEAD_BYTES], uint32_t n_body);

#endif
