/*
 * The answers of Status and ListModels about pins.
 */
#include "base/err.h"
#include "hub/hub_arena.h"
#include "hub/hub_state.h"
#include "registry/pin.h"
#include <errno.h>
#include <string.h>

static Sotto__V1__PinState state_of(enum pin_state state)
{
    switch (state) {
    case PIN_WAITING:
    case PIN_TOKENIZING:
        return SOTTO__V1__PIN_STATE__PIN_STATE_WAITING;
    case PIN_COMPUTING:
        return SOTTO__V1__PIN_STATE__PIN_STATE_COMPUTING;
    case PIN_HELD:
        return SOTTO__V1__PIN_STATE__PIN_STATE_HELD;
    case PIN_REFUSED:
        return SOTTO__V1__PIN_STATE__PIN_STATE_REFUSED;
    case PIN_STATE_COUNT:
        break;
    }
    return SOTTO__V1__PIN_STATE__PIN_STATE_UNSPECIFIED;
}

/* Fills one row. @pin: NULL for a model that is not loaded. */
static void fill(const struct pin_settings *settings, const struct pin *pin, const struct grant *grant,
                 struct arena *arena, Sotto__V1__PinInfo *info)
{
    *info = (Sotto__V1__PinInfo)SOTTO__V1__PIN_INFO__INIT;
    info->name = hub_arena_copy(arena, settings->name);
    info->state = state_of(pin ? pin->state : PIN_WAITING);
    if (pin) {
        info->reason = hub_arena_copy(arena, pin->why);
        info->tokens = (uint32_t)pin->tokens.n;
        info->pages = pin->n_pages;
        info->hits = pin->n_hits;
        info->hit_tokens = pin->n_hit_tok;
    }
    if (grant->observe && settings->n_uids > 0) {
        info->users = arena_alloc(arena, settings->n_uids * sizeof(*info->users));
        info->n_users = info->users ? settings->n_uids : 0;
        for (size_t i = 0; i < info->n_users; i++) {
            info->users[i] = settings->uids[i];
        }
    }
}

int hub_pins_fill(const struct model_entry *model, const struct grant *grant, struct arena *arena,
                  Sotto__V1__ModelInfo *info)
{
    const struct instance *instance = model_entry_pick(model);
    struct list *link = instance ? instance->pins.next : NULL;
    Sotto__V1__PinInfo *infos;
    void **list;
    size_t n = 0;

    infos = hub_arena_list(arena, PINS_MAX, sizeof(*infos), &list);
    if (!infos) {
        return err_new(-ENOMEM);
    }
    info->pins = (Sotto__V1__PinInfo **)list;
    for (size_t i = 0; i < model->settings.n_pins; i++) {
        const struct pin *pin = NULL;
        const struct pin_settings *settings = &model->settings.pins[i];

        if (instance && link != &instance->pins) {
            pin = container_of(link, struct pin, link);
            settings = &pin->settings;
            link = link->next;
        }
        if (!grant->observe && !pin_settings_are_for(settings, grant->uid)) {
            continue;
        }
        fill(settings, pin, grant, arena, &infos[n++]);
    }
    info->n_pins = n;
    return arena->exceeded ? err_new(-ENOMEM) : 0;
}
