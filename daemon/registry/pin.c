/*
 * What requests have to do with pins: which they may find, and which they found; and the settings of pins.
 */
#include "base/clean.h"
#include "base/num.h"
#include "registry/models.h"
#include "session/pins.h"
#include "stream/stream.h"
#include <assert.h>
#include <string.h>

/* ---- settings */

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_same_audience(const struct pin_settings *a, const struct pin_settings *b)
{
    return a->n_uids == b->n_uids && (a->n_uids == 0 || memcmp(a->uids, b->uids, a->n_uids * sizeof(*a->uids)) == 0);
}

bool pin_settings_equal(const struct pin_settings *a, const struct pin_settings *b)
{
    return strcmp(a->name, b->name) == 0 && is_same_text(a->text, b->text) && a->n_chat == b->n_chat &&
           (a->n_chat == 0 || memcmp(a->chat, b->chat, a->n_chat) == 0) && is_same_audience(a, b);
}

size_t pins_bytes(const struct pin_settings *pins, size_t n)
{
    size_t n_bytes = n * sizeof(*pins);

    for (size_t i = 0; i < n; i++) {
        n_bytes += pins[i].n_uids * sizeof(*pins[i].uids);
    }
    for (size_t i = 0; i < n; i++) {
        n_bytes += strlen(pins[i].name) + 1 + (pins[i].text ? strlen(pins[i].text) + 1 : 0) + pins[i].n_chat;
    }
    return n_bytes;
}

/* Copies @n bytes to *at and moves it behind them. */
static void *put(uint8_t **at, const void *bytes, size_t n)
{
    uint8_t *start = *at;

    if (n > 0) {
        memcpy(start, bytes, n);
    }
    *at += n;
    return start;
}

/* Numbers before bytes, so that all lies where it may. */
const struct pin_settings *pins_copy(const struct pin_settings *pins, size_t n, void *block)
{
    struct pin_settings *copies = block;
    uint8_t *at = (uint8_t *)(copies + n);

    for (size_t i = 0; i < n; i++) {
        copies[i] = pins[i];
        copies[i].uids = put(&at, pins[i].uids, pins[i].n_uids * sizeof(*pins[i].uids));
    }
    for (size_t i = 0; i < n; i++) {
        copies[i].name = put(&at, pins[i].name, strlen(pins[i].name) + 1);
        copies[i].text = pins[i].text ? put(&at, pins[i].text, strlen(pins[i].text) + 1) : NULL;
        copies[i].chat = pins[i].n_chat > 0 ? put(&at, pins[i].chat, pins[i].n_chat) : NULL;
    }
    return copies;
}

/* ---- audiences */

bool pin_is_for(const struct pin_settings *settings, uint32_t uid)
{
    bool found = settings->n_uids == 0;

    for (size_t i = 0; i < settings->n_uids; i++) {
        found = found || settings->uids[i] == uid;
    }
    return found;
}

/* Everybody whom @narrow is for, @wide is for, too. */
static bool is_for_all_of(const struct pin_settings *wide, const struct pin_settings *narrow)
{
    if (narrow->n_uids == 0) {
        return wide->n_uids == 0;
    }
    for (size_t i = 0; i < narrow->n_uids; i++) {
        if (!pin_is_for(wide, narrow->uids[i])) {
            return false;
        }
    }
    return true;
}

/* A name that no user's own domain has: those are of four bytes. */
static size_t name_audience(const struct pin_settings *settings, uint8_t *bytes)
{
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

static bool may_find(const struct stream *stream, const struct pin *pin)
{
    const struct pin *own = stream->pin;

    if (!own) {
        return pin_is_for(&pin->settings, stream->grant.uid);
    }
    return is_for_all_of(&pin->settings, &own->settings) && !is_same_audience(&pin->settings, &own->settings);
}

static void add_salt(struct pin_salts *salts, const struct pin *pin)
{
    uint8_t *bytes = salts->bytes[salts->n];
    size_t n = name_audience(&pin->settings, bytes);

    for (size_t i = 0; i < salts->n; i++) {
        if (salts->list[i].len == n && memcmp(salts->list[i].data, bytes, n) == 0) {
            return;
        }
    }
    salts->list[salts->n++] = (ProtobufCBinaryData){ .data = bytes, .len = n };
}

void pins_salts(const struct stream *stream, struct pin_salts *ret_salts)
{
    struct list *link;

    ret_salts->n = 0;
    list_for_each (link, &stream->instance->pins) {
        const struct pin *pin = container_of(link, struct pin, link);

        if (may_find(stream, pin)) {
            add_salt(ret_salts, pin);
        }
    }
}

size_t pins_own_salt(const struct stream *stream, uint8_t *bytes)
{
    return name_audience(&stream->pin->settings, bytes);
}

/* ---- hits */

uint32_t pins_match(const struct stream *stream, const uint32_t *tokens, size_t n)
{
    struct list *link;
    uint32_t number = 0;
    size_t most = 0;

    list_for_each (link, &stream->instance->pins) {
        const struct pin *pin = container_of(link, struct pin, link);
        size_t n_same = 0;

        if (pin->state != PIN_HELD || !may_find(stream, pin)) {
            continue;
        }
        while (n_same < n && n_same < pin->tokens.n && tokens[n_same] == pin->tokens.ids[n_same]) {
            n_same++;
        }
        if (n_same > most) {
            most = n_same;
            number = pin->number;
        }
    }
    return number;
}

void pins_count(struct instance *instance, uint32_t number, uint32_t n_tok)
{
    struct list *link;

    if (n_tok == 0) {
        return;
    }
    instance->hub->counts[HUB_PIN_HITS]++;
    instance->hub->counts[HUB_PINNED_TOK] += n_tok;
    list_for_each (link, &instance->pins) {
        struct pin *pin = container_of(link, struct pin, link);

        if (number > 0 && pin->number == number) {
            pin->n_hits++;
            pin->n_hit_tok += n_tok;
        }
    }
}
