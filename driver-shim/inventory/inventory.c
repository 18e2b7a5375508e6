#include "inventory/inventory.h"
#include "base/clean.h"
#include "base/err.h"
#include "load/load.h"
#include "memory/memory.h"
#include "memory/psi.h"
#include "power/power.h"
#include <stdio.h>
#include <string.h>

typedef int (*scan_fn)(const struct root *root, const struct sensor_policy *policy, struct list *sources);

/* Render nodes have minors from here on. */
#define RENDER_MINOR 128u

static bool can_draw(const struct gpu *device)
{
    /* True also for a device without a DRM node (kgsl); false for vgem, which only shares buffers in tests. */
    return device->minor >= RENDER_MINOR && strcmp(device->driver, "vgem") != 0;
}

static bool is_named(const struct gpu *device, const char *node)
{
    char card[24];

    snprintf(card, sizeof(card), "card%u", device->card);
    return strcmp(device->node, node) == 0 || (device->card != GPU_NO_MINOR && strcmp(card, node) == 0);
}

uint32_t inventory_ours(const struct sensor_policy *policy, const struct gpu *devices, uint32_t n)
{
    uint32_t ours = n;

    for (uint32_t i = 0; i < n; i++) {
        if (policy->node) {
            ours = is_named(&devices[i], policy->node) ? i : ours;
        } else if (can_draw(&devices[i]) && (ours == n || (devices[i].is_lit && !devices[ours].is_lit))) {
            ours = i;
        }
    }
    return ours;
}

static uint32_t device_of(const struct source *source, const struct gpu *devices, uint32_t n)
{
    uint32_t i = 0;

    while (i < n && strcmp(devices[i].path, source->device) != 0) {
        i++;
    }
    return i;
}

/*
 * Sets aside the load sources of all devices but ours: the load of another device bounds nothing. Which one is ours may
 * change when devices come and go. Sources of a device that is gone keep counting while there is no other: a device
 * that disappeared is not idle.
 */
static void set_aside(struct list *sources, const struct gpu *devices, uint32_t n, uint32_t ours)
{
    struct list *link;

    list_for_each (link, sources) {
        struct source *source = container_of(link, struct source, link);
        const uint32_t device = source->device[0] ? device_of(source, devices, n) : ours;

        if (device < n || ours < n) {
            source->is_aside = device != ours;
        }
    }
}

/*
 * A known device is not opened again: its sources find out for themselves what works, and a second look would disturb
 * them.
 */
static int load_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources)
{
    struct gpu devices[GPUS_MAX];
    const uint32_t n = gpu_list(root, devices, GPUS_MAX);
    int r = 0;

    for (uint32_t i = 0; i < n && !r; i++) {
        if (!load_refresh(sources, &devices[i])) {
            r = load_find(sources, root, &devices[i]);
        }
    }
    set_aside(sources, devices, n, inventory_ours(policy, devices, n));
    return err_up(r);
}

static const scan_fn scans[] = {
    psi_scan, memory_scan, load_scan, thermal_scan, cooling_scan, hwmon_scan, powercap_scan,
};

typedef bool (*is_behind_fn)(const struct source *a, const struct source *b);

/* Order of the list: by quantity, then by rank. */
static bool is_listed_behind(const struct source *a, const struct source *b)
{
    return a->quantity != b->quantity ? a->quantity > b->quantity : source_rank(a) > source_rank(b);
}

/* Order by worth, for sources that compete for room. */
static bool is_worth_less(const struct source *a, const struct source *b)
{
    return source_rank(a) > source_rank(b);
}

/* Sorts the sources; stable. */
static void sort(struct list *sources, is_behind_fn is_behind)
{
    struct list sorted;
    struct list *link;

    list_init(&sorted);
    while ((link = list_first(sources))) {
        const struct source *source = container_of(link, struct source, link);
        struct list *at = sorted.prev;

        while (at != &sorted && is_behind(container_of(at, struct source, link), source)) {
            at = at->prev;
        }
        list_remove(link);
        list_insert(at, link);
    }
    while ((link = list_first(&sorted))) {
        list_remove(link);
        list_append(sources, link);
    }
}

static uint32_t count(const struct list *sources)
{
    const struct list *link;
    uint32_t n = 0;

    list_for_each (link, sources) {
        n++;
    }
    return n;
}

/* Moves the best of @fresh to @sources: at most @each of a quantity, and *n_room in all. */
static void keep(struct list *sources, struct list *fresh, uint32_t each, uint32_t *n_room)
{
    uint32_t n_of[READING_QUANTITY_COUNT] = { 0 };
    struct list *link = fresh->next;

    while (link != fresh && *n_room > 0) {
        struct source *source = container_of(link, struct source, link);

        link = link->next;
        if (n_of[source->quantity] < each) {
            n_of[source->quantity]++;
            list_remove(&source->link);
            list_append(sources, &source->link);
            (*n_room)--;
        }
    }
}

/*
 * Keeps the first @n_old, which a reader may be reading, and the best of the others up to the bound: first some of each
 * quantity, so that none is crowded out by thousands of another one.
 */
static void bound(struct list *sources, uint32_t n_old)
{
    uint32_t n_room = INVENTORY_SOURCES_MAX > n_old ? INVENTORY_SOURCES_MAX - n_old : 0;
    struct list fresh;
    struct list *link;

    list_init(&fresh);
    for (uint32_t n = count(sources); n > n_old; n--) {
        link = sources->prev;
        list_remove(link);
        list_insert(&fresh, link);
    }
    sort(&fresh, is_worth_less);
    keep(sources, &fresh, INVENTORY_EACH, &n_room);
    keep(sources, &fresh, UINT32_MAX, &n_room);
    inventory_clear(&fresh);
}

int inventory_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources)
{
    const uint32_t n_old = count(sources);
    int r = 0;

    for (size_t i = 0; i < COUNTOF(scans) && !r; i++) {
        r = scans[i](root, policy, sources);
    }
    bound(sources, n_old);
    sort(sources, is_listed_behind);
    return err_up(r);
}

void inventory_clear(struct list *sources)
{
    struct list *link;

    while ((link = list_first(sources))) {
        list_remove(link);
        source_destroy(container_of(link, struct source, link));
    }
}
