/*
 * Cooling devices of the GPU: above state 0 the kernel takes its clock away already, which is the strongest sign
 * there is to step back.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "sense/inventory.h"
#include "sense/place.h"
#include <errno.h>
#include <string.h>

/* No device has more states than this; sysfs would give any number. */
#define STATE_MAX 100000

struct cooling {
    struct source source;
    const struct root *root;
    struct place place; /* the reader's */
    struct reading last;
};

static void read_cooling(struct source *source, uint64_t now_us, struct reading *ret_reading)
{
    struct cooling *cooling = container_of(source, struct cooling, source);
    char path[256];
    int64_t state = 0;
    int r = -ENOENT;

    if (place_find(cooling->root, &cooling->place)) {
        place_path(&cooling->place, "cur_state", path, sizeof(path));
        r = root_read_number(cooling->root, path, &state);
    }
    if (!r && (state < 0 || state > STATE_MAX)) {
        r = -EPROTO;
    }
    if (r) {
        reading_fail(ret_reading, r, cooling->last.at_us ? &cooling->last : NULL);
        return;
    }
    reading_set(&cooling->last, state, now_us);
    *ret_reading = cooling->last;
}

static void destroy_cooling(struct source *source)
{
    mem_free(container_of(source, struct cooling, source));
}

static const struct source_table cooling_table = { .kind = "cooling",
                                                   .read = read_cooling,
                                                   .destroy = destroy_cooling };

static struct source *make_cooling(const struct root *root, const struct place *place, const char *id)
{
    struct cooling *cooling = mem_calloc(MEM_MISC, 1, sizeof(*cooling));

    if (!cooling) {
        return NULL;
    }
    source_init(&cooling->source, &cooling_table, READING_THROTTLE);
    cooling->root = root;
    cooling->place = *place;
    source_say(cooling->source.id, sizeof(cooling->source.id), "%s", id);
    source_say(cooling->source.name, sizeof(cooling->source.name), "cooling %s", place->name);
    return &cooling->source;
}

int cooling_scan(const struct root *root, const struct inventory_policy *policy, struct list *sources)
{
    cleanup(mem_freep) struct place *places = NULL;
    uint32_t n;
    int r = place_list(root, &place_cooling, &places, &n);

    if (r) {
        return err_up(r);
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t rank = policy_rank(&policy->throttle, places[i].name);
        struct source *source;
        char id[192];
        int64_t most;

        if (rank == UINT32_MAX) {
            continue; /* processors, fans: not about the GPU, and there may be dozens */
        }
        place_id(&places[i], id, sizeof(id));
        source = source_find(sources, cooling_table.kind, id);
        if (!source) {
            source = make_cooling(root, &places[i], id);
            if (!source) {
                return err_new(-ENOMEM);
            }
            list_append(sources, &source->link);
        }
        source->rank = rank;
        place_path(&places[i], "max_state", source->path, sizeof(source->path));
        source->most = root_read_fixed(root, source->path, &most) == 0 && most > 0 ? most : 0;
        place_path(&places[i], "cur_state", source->path, sizeof(source->path));
        source_say(source->why, sizeof(source->why), "chosen by \"%s\"", policy->throttle.patterns[rank]);
    }
    return 0;
}
