/*
 * Inventory: all sources that a machine has
 *
 * A scan looks through the folders of the kernel and makes a source of each thing that fits, chosen or passed over.
 * Nothing is read that could hang: names, limits, and whether a file is there. Scanning again is cheap and is done
 * when the kernel tells of a change, and once a minute.
 */
#ifndef SOTTO_INVENTORY_INVENTORY_H
#define SOTTO_INVENTORY_INVENTORY_H

#include "base/list.h"
#include "load/load.h"
#include "sense/policy.h"
#include "sense/source.h"
#include "sysfs/root.h"

/* More than any machine that we know has of worth; what is found beyond is left out. */
#define INVENTORY_SOURCES_MAX 256u

/* So many of each quantity before more of any. */
#define INVENTORY_EACH 16u

/*
 * Adds to the list @sources (source::link; empty at first) what it does not hold yet, sorted by quantity and rank.
 * Known sources stay the objects they are, with new ranks, paths and trips; one that is gone stays as well, reads
 * as absent and finds itself again. The list owns its sources: inventory_clear().
 *
 * 0 or -ENOMEM, with what was found until then in the list. A folder that can't be read is a folder without anything.
 * @root, @policy and what it points to live longer than the sources. Thread: that which makes and destroys sources;
 * others may be in source_read() meanwhile.
 */
int inventory_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources);

/*
 * The device whose graphics sotto stays underneath, by the rule of drm/choice.h: the one that policy names, else the
 * one that drives the display (a screen is connected) and can draw, else the first that can draw. @n: none.
 */
uint32_t inventory_ours(const struct sensor_policy *policy, const struct gpu *devices, uint32_t n);

/* Destroys all. */
void inventory_clear(struct list *sources);

/* Scans of the kinds, called by inventory_scan(); each adds at the end. */
int thermal_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources);
int cooling_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources);
int hwmon_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources);
int powercap_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources);
int psi_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources);
int memory_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources);

#endif
