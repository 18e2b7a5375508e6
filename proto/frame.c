/*
 * The length is checked from the head alone, before any memory is set aside for the body. A length of 0 is a frame: the
 * empty message is a valid message.
 */
#include "proto/frame.h"

static uint32_t read_length(const uint8_t *head)
{
    return (uint32_t)head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 24;
}

int frame_take(const uint8_t *bytes, size_t n, size_t max_body, struct frame *ret_frame, size_t *ret_used)
{
    size_t n_body;

    if (n < FRAME_HEAD_BYTES) {
        *ret_used = 0;
        return FRAME_MORE;
    }
    n_body = read_length(bytes);
    if (n_body > max_body) {
        ret_frame->body = NULL;
        ret_frame->n = n_body;
        return FRAME_TOO_LARGE;
    }
    *ret_used = FRAME_HEAD_BYTES + n_body;
    if (n - FRAME_HEAD_BYTES < n_body) {
        return FRAME_MORE;
    }
    ret_frame->body = bytes + FRAME_HEAD_BYTES;
    ret_frame->n = n_body;
    return FRAME_OK;
}

void frame_head(uint8_t head[FRAME_HEAD_BYTES], uint32_t n_body)
{
    head[0] = (uint8_t)n_body;
    head[1] = (uint8_t)(n_body >> 8);
    head[2] = (uint8_t)(n_body >> 16);
    head[3] = (uint8_t)(n_body >> 24);
}
