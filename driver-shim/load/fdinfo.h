/*
 * Fdinfo source: graphics and compute load of a device, client by client
 *
 * Each reading walks /proc when that is due, else reads the known clients that are due, and adds up. Between readings
 * nothing runs.
 *
 * States: OK with a blind share; ABSENT while there is no interval yet, when the driver reports nothing, when its
 * counters are switched off, and when they stand still on a device that is known to be busy; FORBIDDEN when no process
 * but our own could be looked into.
 */
#ifndef SOTTO_LOAD_FDINFO_H
#define SOTTO_LOAD_FDINFO_H

#include "load/load_source.h"

/* source_table::kind of both sources. */
#define FDINFO_KIND "fdinfo"

/* Opens both sources of @device. 0 or -ENOMEM. */
int fdinfo_open(struct source **ret_graphics, struct source **ret_compute, const struct root *root,
                const struct gpu *device);

/* Requests a walk at the next reading, after an event. @source: made by fdinfo_open(). Any thread. */
void fdinfo_walk_soon(struct source *source);

#endif
