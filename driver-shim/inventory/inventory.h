/*
 * Inventory: all sources that a machine has
 *
 * A scan walks the kernel's folders and makes a source of each thing that fits, chosen or passed over. It reads names,
 * limits, and whether a file exists, nothing that could hang. Scanning again is cheap; it is done when the kernel
 * announces a change, and once a minute.
 */
#ifndef SOTTO_INVENTORY_INVENTORY_H
#define SOTTO_INVENTORY_INVENTORY_H

#include "base/list.h"
#include "sense/policy.h"
#include "sense/source.h"
#include "sysfs/gpu.h"

/* More than any known machine has; what is found beyond is left out. */
#define INVENTORY_SOURCES_MAX 256u

/* First so many of each quantity are kept, then more of any. */
#define INVENTORY_EACH 16u

/*
 * Adds the sources that the list @sources (source::link; empty at first) does not hold yet, sorted by quantity and
 * rank. Known sources stay the same objects, with new ranks, paths and trips; one that is gone stays as well, reads as
 * absent and recovers by itself. The list owns its sources: inventory_clear().
 *
 * 0 or -ENOMEM, with what was found until then in the list. An unreadable folder counts as empty. @root, @policy and
 * what it points to must outlive the sources. Runs on the thread that makes and destroys sources; others may be in
 * source_read() meanwhile.
 */
int inventory_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources);

/*
 * Returns the index of the device that sotto computes beneath, by the rule of drm/choice.h: the one that the policy
 * names, else the one that can draw and drives a connected screen, else the first that can draw. @n: none.
 */
uint32_t inventory_ours(const struct sensor_policy *policy, const struct gpu *devices, uint32_t n);

/* Destroys all sources. */
void inventory_clear(struct list *sources);

#endif
