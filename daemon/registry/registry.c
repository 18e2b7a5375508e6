#include "registry/registry.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "registry/instance.h"
#include "registry/model_entry.h"
#include "registry/orders.h"
#include <errno.h>
#include <string.h>

#define DEFAULT_LOAD_STALL_MS 30000u
#define DEFAULT_STEP_FLOOR_MS 2000u

static const uint32_t default_pause_ms[3] = { 100, 1000, 10000 };

static char *copy(const char *text)
{
    return mem_strndup(MEM_MISC, text ? text : "", text ? strlen(text) : 0);
}

int registry_init(struct registry *registry, struct events *events, struct text_pool *pool, struct tickets *tickets,
                  const char *engine_path, const char *cpu_mask)
{
    *registry = (struct registry){ .events = events, .pool = pool, .tickets = tickets, .kv_permille = 1000 };
    list_init(&registry->models);
    registry->engine_path = copy(engine_path);
    registry->cpu_mask = copy(cpu_mask);
    return registry->engine_path && registry->cpu_mask ? 0 : err_new(-ENOMEM);
}

void registry_finish(struct registry *registry)
{
    struct list *link;
    struct list *after;

    list_for_each_safe (link, after, &registry->models) {
        struct model_entry *model = container_of(link, struct model_entry, link);

        model->is_removed = true;
        model_entry_try_remove(model);
    }
    mem_free(registry->engine_path);
    mem_free(registry->cpu_mask);
}

void registry_configure(struct registry *registry, const struct registry_limits *limits)
{
    struct registry_limits *own = &registry->limits;

    *own = *limits;
    for (size_t i = 0; i < COUNTOF(own->pause_ms); i++) {
        own->pause_ms[i] = own->pause_ms[i] ? own->pause_ms[i] : default_pause_ms[i];
    }
    own->load_stall_ms = own->load_stall_ms ? own->load_stall_ms : DEFAULT_LOAD_STALL_MS;
    own->step_floor_ms = own->step_floor_ms ? own->step_floor_ms : DEFAULT_STEP_FLOOR_MS;
}

struct instance *registry_next(const struct registry *registry, const struct instance *instance)
{
    const struct list *models = &registry->models;
    const struct list *model = models->next;

    if (instance) {
        if (instance->link.next != &instance->model->instances) {
            return container_of(instance->link.next, struct instance, link);
        }
        model = instance->model->link.next;
    }
    for (; model != models; model = model->next) {
        struct list *first = list_first(&container_of(model, struct model_entry, link)->instances);

        if (first) {
            return container_of(first, struct instance, link);
        }
    }
    return NULL;
}

void registry_limit_pages(struct registry *registry, uint32_t permille)
{
    struct instance *instance = NULL;

    registry->kv_permille = permille;
    while ((instance = registry_next(registry, instance))) {
        pin_due(instance);
        if (instance_takes_orders(instance)) {
            orders_limit_pages(instance);
        }
    }
}
