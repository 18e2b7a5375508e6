#include "registry/model_entry.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "registry/instance.h"
#include <errno.h>
#include <string.h>

struct model_entry *model_entry_find(const struct registry *registry, const char *name)
{
    struct model_entry *first = NULL;
    struct list *link;

    list_for_each (link, &registry->models) {
        struct model_entry *model = container_of(link, struct model_entry, link);

        if (model->is_removed) {
            continue;
        }
        if (name && name[0] != '\0' ? strcmp(model->settings.name, name) == 0 : model->settings.is_default) {
            return model;
        }
        first = first ? first : model;
    }
    return name && name[0] != '\0' ? NULL : first;
}

int model_entry_set(struct model_entry *model, const struct model_settings *settings)
{
    struct model_settings copy;
    char *strings;
    int r;

    r = settings_copy(settings, &copy, &strings);
    if (r) {
        return err_up(r);
    }
    mem_free(model->strings);
    model->strings = strings;
    model->settings = copy;
    return 0;
}

int model_entry_add(struct registry *registry, const struct model_settings *settings, struct model_entry **ret_model)
{
    cleanup(mem_freep) struct model_entry *model = mem_calloc(MEM_MISC, 1, sizeof(*model));
    int r;

    if (!model) {
        return err_new(-ENOMEM);
    }
    model->registry = registry;
    list_init(&model->instances);
    list_init(&model->waiters);
    r = model_entry_set(model, settings);
    if (r) {
        return err_up(r);
    }
    list_append(&registry->models, &model->link);
    *ret_model = steal(&model);
    return 0;
}

void model_entry_try_remove(struct model_entry *model)
{
    if (!model->is_removed || !list_is_empty(&model->instances) || model->n_tickets > 0) {
        return;
    }
    list_remove(&model->link);
    mem_free(model->strings);
    mem_free(model);
}

struct instance *model_entry_pick(const struct model_entry *model)
{
    return model->current ? model->current : model->next;
}

Sotto__V1__ModelState model_entry_state(const struct model_entry *model)
{
    const struct instance *instance = model_entry_pick(model);

    if (!instance) {
        if (!list_is_empty(&model->instances) && !model->has_failed) {
            return SOTTO__V1__MODEL_STATE__MODEL_UNLOADING;
        }
        return model->has_failed ? SOTTO__V1__MODEL_STATE__MODEL_FAILED : SOTTO__V1__MODEL_STATE__MODEL_KNOWN;
    }
    switch (instance->state) {
    case INSTANCE_LOADING:
        return SOTTO__V1__MODEL_STATE__MODEL_LOADING;
    case INSTANCE_READY:
        return SOTTO__V1__MODEL_STATE__MODEL_READY;
    case INSTANCE_RECOVERING:
        return SOTTO__V1__MODEL_STATE__MODEL_RECOVERING;
    case INSTANCE_ENDING:
    case INSTANCE_STATE_COUNT:
        break;
    }
    return SOTTO__V1__MODEL_STATE__MODEL_UNLOADING;
}
