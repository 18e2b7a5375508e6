/*
 * Place: a numbered thing of the kernel's, known by its name
 *
 * "thermal_zone3" is another zone after the next start. What stays is the name that its driver gave it and the device
 * that it belongs to. Things with the same name and no device can't be told apart; the first of them is the one
 * with the lowest number, and so on.
 */
#ifndef SOTTO_SYSFS_KOBJECT_H
#define SOTTO_SYSFS_KOBJECT_H

#include "sysfs/root.h"

struct kobject_class {
    const char *folder;    /* "/sys/class/thermal" */
    const char *prefix;    /* "thermal_zone" */
    const char *name_file; /* "type" */
};

extern const struct kobject_class kobject_zones;   /* thermal zones */
extern const struct kobject_class kobject_cooling; /* cooling devices */
extern const struct kobject_class kobject_chips;   /* hwmon */

struct kobject {
    const struct kobject_class *class;
    char name[64];
    char device[160]; /* real path below the root, or empty */
    uint32_t twin;    /* how many of the same name and device come before it */
    uint32_t number;  /* where it was last */
};

/* All of @class that have a name, by number. A block of MEM_MISC, mem_free(); NULL with *ret_n 0: there are none. 0
 * or -ENOMEM. */
int kobject_list(const struct root *root, const struct kobject_class *class, struct kobject **ret_kobjects,
                 uint32_t *ret_n);

/* True if @kobject is where it was, or was found under another number, which it has now. */
bool kobject_find(const struct root *root, struct kobject *kobject);

/* "/sys/class/thermal/thermal_zone3/temp". */
void kobject_path(const struct kobject *kobject, const char *file, char *path, size_t cap);

/* Text that is equal for the same thing only, whatever its number. */
void kobject_id(const struct kobject *kobject, char *id, size_t cap);

#endif
