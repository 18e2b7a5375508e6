#include "registry/pin.h"
#include "registry/instance.h"
#include "registry/registry.h"
#include <assert.h>
#include <string.h>

void pin_due(struct instance *instance)
{
    instance->pins_due = true;
    events_poke(instance->registry->events);
}

/* ---- audiences */

/* Returns whether @wide is for every user that @narrow is for. */
static bool is_for_all_of(const struct pin_settings *wide, const struct pin_settings *narrow)
{
    if (narrow->n_uids == 0) {
        return wide->n_uids == 0;
    }
    for (size_t i = 0; i < narrow->n_uids; i++) {
        if (!pin_settings_are_for(wide, narrow->uids[i])) {
            return false;
        }
    }
    return true;
}

/* A user's own salt has four bytes, so no audience has the name of a user. */
size_t pin_salt(const struct pin *pin, uint8_t *bytes)
{
    const struct pin_settings *settings = &pin->settings;
    size_t n = 0;

    memcpy(bytes, "pins", 4);
    n += 4;
    bytes[n++] = ':';
    assert(n + 4 * settings->n_uids <= PIN_SALT_BYTES);
    for (size_t i = 0; i < settings->n_uids; i++) {
        for (size_t k = 0; k < 4; k++) {
            bytes[n++] = (uint8_t)(settings->uids[i] >> (8 * k));
        }
    }
    return n;
}

/* A pin is computed behind the pins of wider audiences, never behind those of its own. */
static bool may_find(const struct pin *pin, const struct pin *own, uint32_t uid)
{
    if (!own) {
        return pin_settings_are_for(&pin->settings, uid);
    }
    return is_for_all_of(&pin->settings, &own->settings) && !pin_settings_same_users(&pin->settings, &own->settings);
}

static void add_salt(struct pin_salts *salts, const struct pin *pin)
{
    uint8_t *bytes = salts->bytes[salts->n];
    size_t n = pin_salt(pin, bytes);

    for (size_t i = 0; i < salts->n; i++) {
        if (salts->list[i].len == n && memcmp(salts->list[i].data, bytes, n) == 0) {
            return;
        }
    }
    salts->list[salts->n++] = (ProtobufCBinaryData){ .data = bytes, .len = n };
}

void pin_find_salts(const struct instance *instance, const struct pin *own, uint32_t uid, struct pin_salts *ret_salts)
{
    struct list *link;

    ret_salts->n = 0;
    list_for_each (link, &instance->pins) {
        const struct pin *pin = container_of(link, struct pin, link);

        if (may_find(pin, own, uid)) {
            add_salt(ret_salts, pin);
        }
    }
}

/* ---- hits */

static size_t common(const struct ids *ids, const uint32_t *tokens, size_t n)
{
    size_t n_same = 0;

    while (n_same < n && n_same < ids->n && tokens[n_same] == ids->ids[n_same]) {
        n_same++;
    }
    return n_same;
}

uint32_t pin_match(const struct instance *instance, const struct pin *own, uint32_t uid, const uint32_t *tokens,
                   size_t n)
{
    struct list *link;
    uint32_t number = 0;
    size_t most = 0;

    list_for_each (link, &instance->pins) {
        const struct pin *pin = container_of(link, struct pin, link);
        size_t n_same = pin->state == PIN_HELD && may_find(pin, own, uid) ? common(&pin->tokens, tokens, n) : 0;

        if (n_same > most) {
            most = n_same;
            number = pin->number;
        }
    }
    return number;
}

void pin_count(struct instance *instance, uint32_t number, uint32_t n_tok)
{
    struct list *link;

    if (n_tok == 0) {
        return;
    }
    instance->registry->events->counts[COUNT_PIN_HITS]++;
    instance->registry->events->counts[COUNT_PINNED_TOK] += n_tok;
    list_for_each (link, &instance->pins) {
        struct pin *pin = container_of(link, struct pin, link);

        if (number > 0 && pin->number == number) {
            pin->n_hits++;
            pin->n_hit_tok += n_tok;
        }
    }
}
