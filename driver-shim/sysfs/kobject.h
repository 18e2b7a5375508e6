/*
 * Kobject: a numbered object in a class of the kernel, identified by its name
 *
 * "thermal_zone3" may be another zone after the next start. What stays is the name that its driver gave it and the
 * device that it belongs to. Objects with the same name and device are told apart only by their order: the first is the
 * one with the lowest number.
 */
#ifndef SOTTO_SYSFS_KOBJECT_H
#define SOTTO_SYSFS_KOBJECT_H

#include "sysfs/root.h"

#define KOBJECT_NUMBERS_MAX 256u

struct kobject_numbers {
    uint32_t numbers[KOBJECT_NUMBERS_MAX]; /* ascending */
    uint32_t n;
};

/*
 * Lists the numbers of the entries of the folder @path that are named @prefix and a decimal number: "hwmon0",
 * "hwmon1", ... A folder that is missing or unreadable has none. Beyond KOBJECT_NUMBERS_MAX the largest are left out.
 */
void kobject_numbers_list(const struct root *root, const char *path, const char *prefix,
                          struct kobject_numbers *ret_list);

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
    char device[160]; /* real path below the root, or "" */
    uint32_t twin;    /* number of objects with the same name and device before it */
    uint32_t number;  /* the last one known */
};

/*
 * Lists the objects of @class that have a name, by number. *ret_kobjects is freed with mem_free() (MEM_MISC); it is
 * NULL when there are none. 0 or -ENOMEM.
 */
int kobject_list(const struct root *root, const struct kobject_class *class, struct kobject **ret_kobjects,
                 uint32_t *ret_n);

/* Returns true if @kobject still has its number, or was found under another one, which is then stored in it. */
bool kobject_find(const struct root *root, struct kobject *kobject);

/* Prints the path of a file of the object: "/sys/class/thermal/thermal_zone3/temp". */
void kobject_path(const struct kobject *kobject, const char *file, char *path, size_t cap);

/* Finds the object and reads a number from its file @file, as root_read_number() does. -ENOENT: it is gone. */
int kobject_read_number(const struct root *root, struct kobject *kobject, const char *file, int64_t *ret_number);

/* Prints a text that identifies the object independently of its number. */
void kobject_id(const struct kobject *kobject, char *id, size_t cap);

#endif
