/*
 * Folder: the numbered entries of one ("hwmon0", "hwmon1", ...), in their order
 */
#ifndef SOTTO_SYSFS_FOLDER_H
#define SOTTO_SYSFS_FOLDER_H

#include "sysfs/root.h"

#define KOBJECT_NUMBERS_MAX 256u

struct kobject_numbers {
    uint32_t numbers[KOBJECT_NUMBERS_MAX]; /* rising */
    uint32_t n;
};

/* Numbers of the entries that are named @prefix and a decimal number and nothing else. A folder that is not there, or
 * can't be read, has none. Beyond KOBJECT_NUMBERS_MAX the largest are left out. */
void kobject_numbers_list(const struct root *root, const char *path, const char *prefix,
                          struct kobject_numbers *ret_list);

#endif
