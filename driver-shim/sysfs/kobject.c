#include "sysfs/kobject.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "sysfs/label.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct kobject_class kobject_zones = { .folder = "/sys/class/thermal",
                                             .prefix = "thermal_zone",
                                             .name_file = "type" };
const struct kobject_class kobject_cooling = { .folder = "/sys/class/thermal",
                                               .prefix = "cooling_device",
                                               .name_file = "type" };
const struct kobject_class kobject_chips = { .folder = "/sys/class/hwmon", .prefix = "hwmon", .name_file = "name" };

/* Parses the number behind @prefix ("hwmon12"). False: the name is another one. */
static bool parse_name(const char *name, const char *prefix, uint32_t *ret_number)
{
    const size_t n = strlen(prefix);
    const char *digits = name + n;
    uint64_t number = 0;

    if (strncmp(name, prefix, n) != 0 || !*digits || (*digits == '0' && digits[1])) {
        return false;
    }
    for (; *digits; digits++) {
        if (*digits < '0' || *digits > '9') {
            return false;
        }
        number = number * 10 + (uint64_t)(*digits - '0');
        if (number > UINT32_MAX) {
            return false;
        }
    }
    *ret_number = (uint32_t)number;
    return true;
}

/* Inserts in ascending order; when the list is full, the largest number is dropped. */
static void insert(struct kobject_numbers *list, uint32_t number)
{
    uint32_t at = list->n;

    while (at > 0 && list->numbers[at - 1] > number) {
        at--;
    }
    if (at == KOBJECT_NUMBERS_MAX) {
        return;
    }
    if (list->n < KOBJECT_NUMBERS_MAX) {
        list->n++;
    }
    memmove(&list->numbers[at + 1], &list->numbers[at], (list->n - 1 - at) * sizeof(list->numbers[0]));
    list->numbers[at] = number;
}

void kobject_numbers_list(const struct root *root, const char *path, const char *prefix,
                          struct kobject_numbers *ret_list)
{
    cleanup(root_close_folderp) DIR *dir = NULL;

    ret_list->n = 0;
    if (root_open_folder(root, path, &dir) != 0) {
        return;
    }
    for (struct dirent *entry; (entry = readdir(dir));) {
        uint32_t number;

        if (parse_name(entry->d_name, prefix, &number)) {
            insert(ret_list, number);
        }
    }
}

void kobject_path(const struct kobject *kobject, const char *file, char *path, size_t cap)
{
    snprintf(path, cap, "%s/%s%u%s%s", kobject->class->folder, kobject->class->prefix, kobject->number,
             *file ? "/" : "", file);
}

/* Fills in the object that has kobject->number now. False: there is none with a name. */
static bool read_kobject(const struct root *root, struct kobject *kobject)
{
    char path[256];

    kobject_path(kobject, kobject->class->name_file, path, sizeof(path));
    if (root_read_word(root, path, kobject->name, sizeof(kobject->name)) != 0 || !kobject->name[0]) {
        return false;
    }
    kobject_path(kobject, "device", path, sizeof(path));
    if (root_real_path(root, path, kobject->device, sizeof(kobject->device)) != 0) {
        kobject->device[0] = '\0';
    }
    return true;
}

static bool is_alike(const struct kobject *a, const struct kobject *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->device, b->device) == 0;
}

int kobject_list(const struct root *root, const struct kobject_class *class, struct kobject **ret_kobjects,
                 uint32_t *ret_n)
{
    cleanup(mem_freep) struct kobject *kobjects = NULL;
    struct kobject_numbers numbers;
    uint32_t n = 0;

    kobject_numbers_list(root, class->folder, class->prefix, &numbers);
    *ret_kobjects = NULL;
    *ret_n = 0;
    if (numbers.n == 0) {
        return 0;
    }
    kobjects = mem_calloc(MEM_MISC, numbers.n, sizeof(*kobjects));
    if (!kobjects) {
        return err_new(-ENOMEM);
    }
    for (uint32_t i = 0; i < numbers.n; i++) {
        struct kobject *kobject = &kobjects[n];

        *kobject = (struct kobject){ .class = class, .number = numbers.numbers[i] };
        if (!read_kobject(root, kobject)) {
            continue;
        }
        for (uint32_t j = 0; j < n; j++) {
            kobject->twin += is_alike(&kobjects[j], kobject);
        }
        n++;
    }
    *ret_kobjects = steal(&kobjects);
    *ret_n = n;
    return 0;
}

bool kobject_find(const struct root *root, struct kobject *kobject)
{
    struct kobject here = { .class = kobject->class, .number = kobject->number };
    struct kobject_numbers numbers;
    uint32_t twin = 0;

    if (read_kobject(root, &here) && is_alike(&here, kobject)) {
        return true;
    }
    kobject_numbers_list(root, kobject->class->folder, kobject->class->prefix, &numbers);
    for (uint32_t i = 0; i < numbers.n; i++) {
        here.number = numbers.numbers[i];
        if (read_kobject(root, &here) && is_alike(&here, kobject) && twin++ == kobject->twin) {
            kobject->number = here.number;
            return true;
        }
    }
    return false;
}

int kobject_read_number(const struct root *root, struct kobject *kobject, const char *file, int64_t *ret_number)
{
    char path[256];

    if (!kobject_find(root, kobject)) {
        return -ENOENT;
    }
    kobject_path(kobject, file, path, sizeof(path));
    return root_read_number(root, path, ret_number);
}

void kobject_id(const struct kobject *kobject, char *id, size_t cap)
{
    label_format(id, cap, "%s#%u@%s", kobject->name, kobject->twin, kobject->device);
}
