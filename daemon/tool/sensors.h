/*
 * Sensors: shows the readings of load, heat, power and memory
 *
 * This is the command of that name; doctor prints the same lines.
 */
#ifndef SOTTO_TOOL_SENSORS_H
#define SOTTO_TOOL_SENSORS_H

#include "tool/probe.h"
#include <jansson.h>

/* Prints one line. */
void sensors_print(const struct channel *channel);

/* Returns a new object; NULL: no memory. */
json_t *sensors_json(const struct channel *channel);

#endif
