/*
 * Folder: the numbered entries of one ("hwmon0", "hwmon1", ...), in their order
 */
#ifndef SOTTO_SENSE_FOLDER_H
#define SOTTO_SENSE_FOLDER_H

#include "sense/root.h"

#define FOLDER_NUMBERS_MAX 256u

struct folder_numbers {
    uint32_t numbers[FOLDER_NUMBERS_MAX]; /* rising */
    uint32_t n;
};

/* Numbers of the entries that are named @prefix and a decimal number and nothing else. A folder that is not there, or
 * can't be read, has none. Beyond FOLDER_NUMBERS_MAX the largest are left out. */
void folder_list(const struct root *root, const char *path, const char *prefix, struct folder_numbers *ret_list);

#endif
