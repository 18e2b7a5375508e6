/*
 * Power: scans for sources of temperature, power, energy and throttling
 *
 * Each adds to the list @sources (source::link) the sources that it does not hold yet, and refreshes rank, path and
 * limits of those that it does. 0 or -ENOMEM, with what was found until then in the list.
 */
#ifndef SOTTO_POWER_POWER_H
#define SOTTO_POWER_POWER_H

#include "sense/policy.h"
#include "sense/source.h"

int thermal_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources);
int cooling_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources);
int hwmon_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources);
int powercap_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources);

#endif
