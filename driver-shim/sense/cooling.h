/*
 * Cooling: the kernel's own brake on the device's clock
 *
 * A cooling device of the GPU above state 0 means that the kernel throttles already: the strongest sign to back off.
 */
#ifndef SOTTO_SENSE_COOLING_H
#define SOTTO_SENSE_COOLING_H

#include "sense/load.h"

/* READING_THROTTLE; source::most is the deepest state. -ENOENT: there is none for @device. */
int cooling_open(struct source **ret_source, const struct root *root, const struct load_device *device);

#endif
