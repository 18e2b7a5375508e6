/*
 * Frame: a 4-byte little-endian length, then so many bytes of one message
 *
 * Bytes in, frames out: no socket, no copy, no allocation. Whoever reads calls frame_take() on what came so far;
 * whoever writes puts frame_head() before the packed message. Pure, any thread.
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
    FRAME_MORE,      /* not all there yet; *ret_used then is how many bytes the whole frame will have, 0 if unknown */
    FRAME_TOO_LARGE, /* its length passes @max_body; known from the head alone */
};

/*
 * Looks for one whole frame at the head of @bytes. The body points into @bytes and lives as long as they do.
 * FRAME_OK: *ret_used is how many bytes the caller may forget. FRAME_TOO_LARGE: ret_frame->n is the length claimed.
 */
int frame_take(const uint8_t *bytes, size_t n, size_t max_body, struct frame *ret_frame, size_t *ret_used);

void frame_head(uint8_t head[FRAME_HEAD_BYTES], uint32_t n_body);

#endif
