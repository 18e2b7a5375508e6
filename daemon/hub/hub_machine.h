/*
 * Sensing: the hub's side of sotto-sense
 *
 * It hands on what the senses tell (to those who watch, and to whoever governs), and says which clients of the device
 * are our own engines.
 */
#ifndef SOTTO_HUB_HUB_MACHINE_H
#define SOTTO_HUB_HUB_MACHINE_H

#include "hub/hub_state.h"

/* Makes hub->senses. 0 or -ENOMEM. */
int sensing_create(struct hub *hub, const struct machine_config *config);

/* Ends them; the hub's n_handles counts them as one. */
void sensing_end(struct hub *hub);

#endif
