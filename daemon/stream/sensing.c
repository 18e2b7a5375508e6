#include "stream/sensing.h"
#include "base/err.h"
#include "stream/models.h"
#include <string.h>

static void on_event(void *owner, const char *name, const char *const *pairs, size_t n_pairs)
{
    struct hub *hub = owner;

    if (hub->on_event) {
        hub->on_event(hub->owner, "sense", name, pairs, n_pairs, UINT32_MAX);
    }
}

static bool is_engine(const struct model *model, uint32_t pid)
{
    struct list *link;

    list_for_each (link, &model->editions) {
        const struct edition *edition = container_of(link, struct edition, link);

        if (edition->engine && engine_pid(edition->engine) == pid) {
            return true;
        }
    }
    return false;
}

static bool is_ours(void *owner, uint32_t minor, uint64_t client, uint32_t pid)
{
    const struct hub *hub = owner;
    struct list *link;

    (void)minor;
    (void)client;
    list_for_each (link, &hub->models) {
        if (pid != 0 && is_engine(container_of(link, struct model, link), pid)) {
            return true;
        }
    }
    return false;
}

static void on_sample(void *owner, bool early)
{
    governing_on_sample(owner, early);
}

static const struct senses_sink sink = { .on_sample = on_sample, .on_event = on_event, .is_ours = is_ours };

int sensing_create(struct hub *hub, const struct senses_config *config)
{
    int r = senses_create(&hub->senses, hub->loop, config, &sink, hub);

    return r ? err_up(r) : 0;
}

static void on_ended(void *owner)
{
    hub_handle_closed(owner);
}

void sensing_end(struct hub *hub)
{
    senses_end(hub->senses, on_ended, hub);
}
