/*
 * Sense link: one sotto-sense, as a child or behind a socket, from its start to its end
 *
 * It carries frames and guards what is cheap to abuse: bytes, frames a second, and the identity of the peer. The owner
 * judges the contents of the frames, and calls sense_link_drop() if they are false.
 *
 * The loop's thread.
 */
#ifndef SOTTO_CHILD_SENSE_LINK_H
#define SOTTO_CHILD_SENSE_LINK_H

#include "base/diag.h"
#include <sotto/sense.pb-c.h>
#include <uv.h>

#define SENSE_FROM_MAX (256u << 10)

/* Arguments of a child at most: the program, --fd, --root, --device, two for each of 32 zones and 16 scales. */
#define SENSE_ARGS_MAX (1u + 3 * 2 + 32 * 2 + 16 * 2)

struct sense_link_sink {
    void (*on_message)(void *owner, const Sotto__Sense__FromSense *message);
    /* Is called once, last, from the loop: nothing of the link is left when it returns. @was_open: a message had
     * come. */
    void (*on_end)(void *owner, bool was_open, const char *why);
};

struct sense_link;

/* Starts @argv[0] (@argv ends with NULL) with a socket at descriptor 3. A failure other than of memory is reported by
 * on_end. 0 or -ENOMEM. */
int sense_link_start(struct sense_link **ret_link, uv_loop_t *loop, const char *const *argv,
                     const struct sense_link_sink *sink, void *owner);

/* Connects to the socket @path, which must belong to root, our own user, or @uid. Results as of sense_link_start(). */
int sense_link_connect(struct sense_link **ret_link, uv_loop_t *loop, const char *path, uint32_t uid,
                       const struct sense_link_sink *sink, void *owner);

/* Asks for load every @period_ms. */
void sense_link_rate(struct sense_link *link, uint32_t period_ms);

/* Ends the link: the socket is closed, a child killed. on_end follows when the child is reaped, with the first @why. */
void sense_link_drop(struct sense_link *link, const char *why);

/* Ends the link without waiting for a child that the kernel holds: on_end follows as soon as the handles are closed. */
void sense_link_abandon(struct sense_link *link);

/* Counts frames from zero again: a second has passed. */
void sense_link_tick(struct sense_link *link);

#endif
