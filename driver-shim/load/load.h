/*
 * Load: the sources of load that a device has, best first
 *
 * A device may report the time of each client (fdinfo), how busy each of its sides is (the vendor's status file), when
 * jobs begin and end (trace events), one figure for everything (a busy percentage), or only whether it has power and at
 * which clock. load_find() makes a source for each way that this device could have. A source says in its `why` what it
 * is good for, and in each reading whether it works now. Ranks are fixed (load_source.h), so the best source that is OK
 * decides.
 */
#ifndef SOTTO_LOAD_LOAD_H
#define SOTTO_LOAD_LOAD_H

#include "sense/source.h"
#include "sysfs/gpu.h"

/*
 * Appends to @sources (source::link) everything that could report load and clock of @device, best first. The caller
 * owns the sources; @root must outlive them. 0 or -ENOMEM (then nothing is appended).
 */
int load_find(struct list *sources, const struct root *root, const struct gpu *device);

/*
 * Returns true if @sources already has a source of @device's load. That source then walks over all processes soon: a
 * caller scans because something changed. Any thread.
 */
bool load_refresh(const struct list *sources, const struct gpu *device);

/* Returns a sentence for people about a driver that reports nothing ("powervr"), or NULL. */
const char *load_note(const struct gpu *device);

#endif
