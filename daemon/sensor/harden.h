/*
 * Harden: what sotto-sense gives up
 *
 * It may look at other processes, so it must be of no use to whoever gets hold of it: no exec, no debugging of others,
 * no new rights. What its unit takes away besides stands in systemd/sotto-sense.service.in.
 */
#ifndef SOTTO_SENSOR_HARDEN_H
#define SOTTO_SENSOR_HARDEN_H

#include <stdbool.h>

/* @is_child: ends with the process that started it. Before any thread. */
void harden(bool is_child);

/* True if other users' processes can be looked at. */
bool harden_sees_others(void);

#endif
