/*
 * Machine config: copies and compares the settings of the machine watch
 */
#ifndef SOTTO_MACHINE_MACHINE_CONFIG_H
#define SOTTO_MACHINE_MACHINE_CONFIG_H

#include "machine/machine_watch.h"

/* Copies @from with its texts into @arena; pauses of 0 become the usual ones. 0 or -ENOMEM. */
int machine_config_copy(struct arena *arena, const struct machine_config *from, struct machine_config *to);

/* Returns whether both start or connect to the same sotto-sense. The names of zones matter to a child, which is started
 * with them. */
bool machine_config_same_link(const struct machine_config *a, const struct machine_config *b);

#endif
