/*
 * Compositor: what one connection has said of the screen it draws, and what all of them together mean
 *
 * A head unit may have several screens with a compositor each, and none of them knows of the others. So each is
 * remembered by itself, in its connection, and is forgotten with it: as many as there may be connections. Together they
 * mean what suits the most exacting of them: the least frame budget, the latest end of hard drawing.
 *
 * A missed frame is no state but an event, so the hub counts those of all.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_MACHINE_COMPOSITOR_H
#define SOTTO_MACHINE_COMPOSITOR_H

#include "base/clean.h"
#include "base/list.h"
#include "govern/governor.h"
#include <sotto/v1/sotto.pb-c.h>

/* What a hint says of frames holds so long, if no other comes from the same one. */
#define COMPOSITOR_FRAME_US 1000000u

/* All zero: it has said nothing. */
struct compositor {
    struct list link; /* governor_loop::compositors, once it has spoken */
    uint64_t at_us;   /* of its last hint; 0: none yet */
    uint64_t frame_at_us;
    uint32_t frame_us;
    uint64_t busy_until_us;
};

/* It gives @hint. A hint that tells no frame budget leaves the last one; one that tells no "busy for" ends the last. */
void compositor_said(struct compositor *compositor, const Sotto__V1__GraphicsHint *hint, uint64_t now_us);

/* What all of @compositors mean together: at_us, frame_us and busy_until_us of @input's hint. */
void compositors_fill(const struct list *compositors, uint64_t now_us, struct governor_input *input);

#endif
