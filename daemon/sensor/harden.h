/*
 * Harden: rights that sotto-sense gives up
 *
 * It may look at other processes, so it must be useless to an attacker that takes it over: no exec, no debugging of
 * other processes, no new privileges. Its unit takes more away: systemd/sotto-sense.service.in.
 */
#ifndef SOTTO_SENSOR_HARDEN_H
#define SOTTO_SENSOR_HARDEN_H

#include <stdbool.h>

/* Gives the rights up; before any thread is started. @is_child: also end when the parent process ends. */
void harden(bool is_child);

/* Returns true if other users' processes can be looked at. */
bool harden_sees_others(void);

#endif
