#include "registry/settings.h"
#include "base/err.h"
#include "base/mem.h"
#include <errno.h>
#include <string.h>

/* ---- pins */

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool pin_settings_same_users(const struct pin_settings *a, const struct pin_settings *b)
{
    return a->n_uids == b->n_uids && (a->n_uids == 0 || memcmp(a->uids, b->uids, a->n_uids * sizeof(*a->uids)) == 0);
}

bool pin_settings_equal(const struct pin_settings *a, const struct pin_settings *b)
{
    return strcmp(a->name, b->name) == 0 && is_same_text(a->text, b->text) && a->n_chat == b->n_chat &&
           (a->n_chat == 0 || memcmp(a->chat, b->chat, a->n_chat) == 0) && pin_settings_same_users(a, b);
}

bool pin_settings_are_for(const struct pin_settings *settings, uint32_t uid)
{
    bool found = settings->n_uids == 0;

    for (size_t i = 0; i < settings->n_uids; i++) {
        found = found || settings->uids[i] == uid;
    }
    return found;
}

size_t settings_pins_bytes(const struct pin_settings *pins, size_t n)
{
    size_t n_bytes = n * sizeof(*pins);

    for (size_t i = 0; i < n; i++) {
        n_bytes += pins[i].n_uids * sizeof(*pins[i].uids);
        n_bytes += strlen(pins[i].name) + 1 + (pins[i].text ? strlen(pins[i].text) + 1 : 0) + pins[i].n_chat;
    }
    return n_bytes;
}

/* Copies @n bytes to *at and moves *at behind them. */
static void *put(uint8_t **at, const void *bytes, size_t n)
{
    uint8_t *start = *at;

    if (n > 0) {
        memcpy(start, bytes, n);
    }
    *at += n;
    return start;
}

/* Numbers lie before bytes, so that all are aligned. */
const struct pin_settings *settings_copy_pins(const struct pin_settings *pins, size_t n, void *block)
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

/* ---- models */

static size_t length(const char *text)
{
    return (text ? strlen(text) : 0) + 1;
}

/* Copies @text (NULL: empty) to *at and moves *at behind it. */
static const char *put_text(uint8_t **at, const char *text)
{
    return put(at, text ? text : "", length(text));
}

int settings_copy(const struct model_settings *settings, struct model_settings *ret_settings, char **ret_strings)
{
    size_t n_pins = settings_pins_bytes(settings->pins, settings->n_pins);
    size_t n = length(settings->name) + length(settings->file) + length(settings->backend) +
               length(settings->kv_format) + length(settings->fake_script);
    char *strings = mem_alloc(MEM_MISC, n_pins + n);
    uint8_t *at;

    if (!strings) {
        return err_new(-ENOMEM);
    }
    at = (uint8_t *)strings + n_pins;
    *ret_strings = strings;
    *ret_settings = *settings;
    ret_settings->pins = settings_copy_pins(settings->pins, settings->n_pins, strings);
    ret_settings->name = put_text(&at, settings->name);
    ret_settings->file = put_text(&at, settings->file);
    ret_settings->backend = put_text(&at, settings->backend);
    ret_settings->kv_format = put_text(&at, settings->kv_format);
    ret_settings->fake_script = put_text(&at, settings->fake_script);
    return 0;
}
