/*
 * Fdinfo source: graphics and compute load of a device, client by client
 *
 * Each reading is a turn: it walks /proc when that is due, else reads the known clients that are due, and adds up. It
 * does nothing between turns.
 *
 * States: OK with a blind share; ABSENT while there is no interval yet, when the driver tells nothing, when its
 * counters are switched off, and when they stand still on a device that is known to be busy; FORBIDDEN when nothing
 * but our own could be looked into.
 */
#ifndef SOTTO_LOAD_FDINFO_H
#define SOTTO_LOAD_FDINFO_H

#include "load/load.h"

/* source_table::kind of both. */
#define FDINFO_KIND "fdinfo"

/* Both sources of @device. -ENOMEM. */
int fdinfo_open(struct source **ret_graphics, struct source **ret_compute, const struct root *root,
                const struct gpu *device);

/* Walk at the next reading: the kernel told of something. @source: one that fdinfo_open() made. Any thread. */
void fdinfo_walk_soon(struct source *source);

#endif
