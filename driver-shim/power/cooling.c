/*
 * Cooling devices of the GPU
 *
 * Above state 0 the kernel already lowers its clock, which is the strongest reason to step back.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "power/power.h"
#include "sysfs/kobject.h"
#include "sysfs/label.h"
#include <errno.h>
#include <string.h>

/* Larger than any device's number of states; sysfs would give any number. */
#define STATE_MAX 100000

struct cooling {
    struct source source;
    struct kobject kobject; /* the reading thread's */
};

static void read_cooling(struct source *source, uint64_t now_us, struct reading *ret_reading)
{
    struct cooling *cooling = container_of(source, struct cooling, source);
    int64_t state = 0;
    int r = kobject_read_number(source->root, &cooling->kobject, "cur_state", &state);

    if (!r && (state < 0 || state > STATE_MAX)) {
        r = -EPROTO;
    }
    source_give(source, r, state, now_us, ret_reading);
}

static const struct source_table cooling_table = { .kind = "cooling", .read = read_cooling };

static struct source *make_cooling(const struct root *root, const struct kobject *kobject, const char *id)
{
    struct source *source = source_create(sizeof(struct cooling), &cooling_table, READING_THROTTLE, root);

    if (source) {
        container_of(source, struct cooling, source)->kobject = *kobject;
        label_set(source->id, "%s", id);
        label_set(source->name, "cooling %s", kobject->name);
    }
    return source;
}

int cooling_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources)
{
    cleanup(mem_freep) struct kobject *kobjects = NULL;
    uint32_t n;
    int r = kobject_list(root, &kobject_cooling, &kobjects, &n);

    if (r) {
        return err_up(r);
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t rank = policy_rank(&policy->throttle, kobjects[i].name);
        struct source *source;
        char id[192];
        int64_t most;

        if (rank == UINT32_MAX) {
            continue; /* processors and fans, of which there may be dozens */
        }
        kobject_id(&kobjects[i], id, sizeof(id));
        source = source_find(sources, cooling_table.kind, id);
        if (!source) {
            source = make_cooling(root, &kobjects[i], id);
            if (!source) {
                return err_new(-ENOMEM);
            }
            list_append(sources, &source->link);
        }
        source->rank = rank;
        kobject_path(&kobjects[i], "max_state", source->path, sizeof(source->path));
        source->most = root_read_fixed(root, source->path, &most) == 0 && most > 0 ? most : 0;
        kobject_path(&kobjects[i], "cur_state", source->path, sizeof(source->path));
        label_set(source->why, "chosen by \"%s\"", policy->throttle.patterns[rank]);
    }
    return 0;
}
