/*
 * Compositor: the hints of one connection about the screen it draws, and what all hints mean together
 *
 * A head unit may have several screens with a compositor each, and none of them knows of the others. So the hints of
 * each are kept by themselves, with its connection, and are forgotten with it. Together they mean what suits the most
 * demanding compositor: the least frame budget, the latest end of hard drawing.
 *
 * A missed frame is no state but an event, so the governor loop counts the frames of all.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_MACHINE_COMPOSITOR_H
#define SOTTO_MACHINE_COMPOSITOR_H

#include "base/clean.h"
#include "base/list.h"
#include "govern/governor.h"
#include <sotto/v1/sotto.pb-c.h>

/* A frame budget holds so long, if the same compositor gives no other. */
#define COMPOSITOR_FRAME_US 1000000u

/* A compositor without a hint is all zero. */
struct compositor {
    struct list link; /* governor_loop::compositors, from the first hint on */
    uint64_t at_us;   /* of its last hint; 0: none yet */
    uint64_t frame_at_us;
    uint32_t frame_us;
    uint64_t busy_until_us;
};

/* Takes @hint. A hint without a frame budget leaves the last one; a hint without "busy for" ends the last. */
void compositor_take(struct compositor *compositor, const Sotto__V1__GraphicsHint *hint, uint64_t now_us);

/* Fills what all of @compositors mean together: at_us, frame_us and busy_until_us of @input's hint. */
void compositors_fill(const struct list *compositors, uint64_t now_us, struct governor_input *input);

#endif
