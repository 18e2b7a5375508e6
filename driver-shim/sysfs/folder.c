#include "sysfs/folder.h"
#include "base/clean.h"
#include <stdlib.h>
#include <string.h>

static void close_dirp(DIR **dir)
{
    if (*dir) {
        closedir(*dir);
    }
}

/* The number in "hwmon12" behind @prefix; false: the name is another one. */
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

/* Keeps the smallest, in their order. */
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
    cleanup(close_dirp) DIR *dir = NULL;

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
