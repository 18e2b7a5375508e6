#include "hub/hub_machine.h"
#include "base/err.h"
#include "registry/models.h"
#include <string.h>

static void on_event(void *owner, const char *name, const char *const *pairs, size_t n_pairs)
{
    struct hub *hub = owner;

    if (hub->on_event) {
        hub->on_event(hub->owner, "sense", name, pairs, n_pairs, UINT32_MAX);
    }
}

/* The kernel's number of a descriptor is sure, where the engine has told it; else the process that holds it. */
static bool is_of(const struct instance *instance, uint32_t minor, uint64_t client, uint32_t pid)
{
    const struct instance_facts *facts = &instance->facts;

    if (!instance->engine) {
        return false;
    }
    for (uint32_t i = 0; i < facts->n_drm_clients; i++) {
        if (facts->drm_clients[i].minor == minor && facts->drm_clients[i].id == client) {
            return true;
        }
    }
    return pid != 0 && engine_pid(instance->engine) == pid;
}

static bool is_ours(void *owner, uint32_t minor, uint64_t client, uint32_t pid)
{
    const struct hub *hub = owner;
    struct list *link;
    struct list *at;

    list_for_each (link, &hub->models) {
        const struct model *model = container_of(link, struct model, link);

        list_for_each (at, &model->instances) {
            if (is_of(container_of(at, struct instance, link), minor, client, pid)) {
                return true;
            }
        }
    }
    return false;
}

static void on_sample(void *owner, bool early)
{
    governor_loop_on_sample(owner, early);
}

static const struct machine_watch_sink sink = { .on_sample = on_sample, .on_event = on_event, .is_ours = is_ours };

int sensing_create(struct hub *hub, const struct machine_config *config)
{
    int r = machine_watch_create(&hub->watch, hub->loop, config, &sink, hub);

    return r ? err_up(r) : 0;
}

static void on_ended(void *owner)
{
    hub_handle_closed(owner);
}

void sensing_end(struct hub *hub)
{
    machine_watch_end(hub->watch, on_ended, hub);
}
