/*
 * Sensors: what this machine tells of load, heat, power and memory, and how far it may be trusted
 *
 * The command of that name, and a line of its page for doctor's.
 */
#ifndef SOTTO_TOOL_SENSORS_H
#define SOTTO_TOOL_SENSORS_H

#include "tool/probe.h"
#include <jansson.h>

/* One line on standard output. */
void sensors_print(const struct channel *channel);

/* NULL: no memory. */
json_t *sensors_json(const struct channel *channel);

#endif
