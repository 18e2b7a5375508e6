#include "sense/place.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "sense/folder.h"
#include "sense/source.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct place_class place_zones = { .folder = "/sys/class/thermal",
                                         .prefix = "thermal_zone",
                                         .name_file = "type" };
const struct place_class place_cooling = { .folder = "/sys/class/thermal",
                                           .prefix = "cooling_device",
                                           .name_file = "type" };
const struct place_class place_chips = { .folder = "/sys/class/hwmon", .prefix = "hwmon", .name_file = "name" };

void place_path(const struct place *place, const char *file, char *path, size_t cap)
{
    snprintf(path, cap, "%s/%s%u%s%s", place->class->folder, place->class->prefix, place->number, *file ? "/" : "",
             file);
}

/* Fills in what stands at place->number now. False: nothing that has a name. */
static bool look(const struct root *root, struct place *place)
{
    char path[256];

    place_path(place, place->class->name_file, path, sizeof(path));
    if (root_read_word(root, path, place->name, sizeof(place->name)) != 0 || !place->name[0]) {
        return false;
    }
    place_path(place, "device", path, sizeof(path));
    if (root_real_path(root, path, place->device, sizeof(place->device)) != 0) {
        place->device[0] = '\0';
    }
    return true;
}

static bool is_alike(const struct place *a, const struct place *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->device, b->device) == 0;
}

int place_list(const struct root *root, const struct place_class *class, struct place **ret_places, uint32_t *ret_n)
{
    cleanup(mem_freep) struct place *places = NULL;
    struct folder_numbers numbers;
    uint32_t n = 0;

    folder_list(root, class->folder, class->prefix, &numbers);
    *ret_places = NULL;
    *ret_n = 0;
    if (numbers.n == 0) {
        return 0;
    }
    places = mem_calloc(MEM_MISC, numbers.n, sizeof(*places));
    if (!places) {
        return err_new(-ENOMEM);
    }
    for (uint32_t i = 0; i < numbers.n; i++) {
        struct place *place = &places[n];

        *place = (struct place){ .class = class, .number = numbers.numbers[i] };
        if (!look(root, place)) {
            continue;
        }
        for (uint32_t j = 0; j < n; j++) {
            place->twin += is_alike(&places[j], place);
        }
        n++;
    }
    *ret_places = steal(&places);
    *ret_n = n;
    return 0;
}

bool place_find(const struct root *root, struct place *place)
{
    struct place here = { .class = place->class, .number = place->number };
    struct folder_numbers numbers;
    uint32_t twin = 0;

    if (look(root, &here) && is_alike(&here, place)) {
        return true;
    }
    folder_list(root, place->class->folder, place->class->prefix, &numbers);
    for (uint32_t i = 0; i < numbers.n; i++) {
        here.number = numbers.numbers[i];
        if (look(root, &here) && is_alike(&here, place) && twin++ == place->twin) {
            place->number = here.number;
            return true;
        }
    }
    return false;
}

void place_id(const struct place *place, char *id, size_t cap)
{
    source_say(id, cap, "%s#%u@%s", place->name, place->twin, place->device);
}
