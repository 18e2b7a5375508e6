#include "sysfs/kobject.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "sense/source.h"
#include "sysfs/folder.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct kobject_class kobject_zones = { .folder = "/sys/class/thermal",
                                             .prefix = "thermal_zone",
                                             .name_file = "type" };
const struct kobject_class kobject_cooling = { .folder = "/sys/class/thermal",
                                               .prefix = "cooling_device",
                                               .name_file = "type" };
const struct kobject_class kobject_chips = { .folder = "/sys/class/hwmon", .prefix = "hwmon", .name_file = "name" };

void kobject_path(const struct kobject *kobject, const char *file, char *path, size_t cap)
{
    snprintf(path, cap, "%s/%s%u%s%s", kobject->class->folder, kobject->class->prefix, kobject->number,
             *file ? "/" : "", file);
}

/* Fills in what stands at place->number now. False: nothing that has a name. */
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

void kobject_id(const struct kobject *kobject, char *id, size_t cap)
{
    label_format(id, cap, "%s#%u@%s", kobject->name, kobject->twin, kobject->device);
}
