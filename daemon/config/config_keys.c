/*
 * Config keys: reads, compares and copies the value of a row, and describes what it allows
 */
#include "config/config_keys.h"
#include "base/clean.h"
#include "base/err.h"
#include "config/config.h"
#include "config/config_units.h"
#include "proto/check.h"
#include "proto/limit.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MOST 64u

/* Names of classes, by number. */
static const char *const class_names[] = {
    [SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND] = "background",
    [SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE] = "interactive",
    [SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME] = "realtime",
};

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit byte_units[] = {
    { "B", 1 }, { "KiB", KIB }, { "MiB", MIB }, { "GiB", GIB }, { "TiB", TIB },
};

static const struct unit time_units[] = {
    { "ms", 1 },
    { "s", SECOND },
    { "min", MINUTE },
    { "h", HOUR },
};

/* ---- reading a value */

/* Reads "512MiB": digits and a unit without a blank. Returns false if it is neither, or outside @key's range. */
static bool read_units(const json_t *value, const struct config_key *key, const struct unit *units, size_t n,
                       uint64_t *ret_number)
{
    const char *text = json_string_value(value);
    uint64_t number = 0;

    if (!text || *text < '0' || *text > '9') {
        return false;
    }
    for (; *text >= '0' && *text <= '9'; text++) {
        number = number * 10 + (uint64_t)(*text - '0');
        if (number > TIB) {
            return false; /* above the range of every key, far below a wrap */
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (strcmp(text, units[i].name) == 0) {
            if (number > key->max / units[i].factor || number * units[i].factor < key->min) {
                return false;
            }
            *ret_number = number * units[i].factor;
            return true;
        }
    }
    return false;
}

static bool read_count(const json_t *value, const struct config_key *key, uint32_t *ret_count)
{
    json_int_t number = json_integer_value(value);

    if (!json_is_integer(value) || number < 0 || (uint64_t)number < key->min || (uint64_t)number > key->max) {
        return false;
    }
    *ret_count = (uint32_t)number;
    return true;
}

/* Reads a number such as 16.667: no finer than thousandths, so that nothing is rounded silently. */
static bool read_milli(const json_t *value, const struct config_key *key, void *field)
{
    double milli = json_number_value(value) * 1000.0;
    double whole = round(milli);
    uint32_t number;

    if (!json_is_number(value) || !(whole >= (double)key->min && whole <= (double)key->max) ||
        fabs(milli - whole) > 1e-6 * (1.0 + whole)) {
        return false;
    }
    number = (uint32_t)whole;
    memcpy(field, &number, sizeof(number)); /* fits both kinds of fields */
    return true;
}

static bool read_class(const json_t *value, Sotto__V1__PriorityClass *ret_class)
{
    const char *text = json_string_value(value);

    for (size_t i = 1; text && i < COUNTOF(class_names); i++) {
        if (strcmp(text, class_names[i]) == 0) {
            *ret_class = (Sotto__V1__PriorityClass)i;
            return true;
        }
    }
    return false;
}

static bool read_times(const json_t *value, const struct config_key *key, uint32_t *times)
{
    uint64_t read[CONFIG_TIMES_N];

    if (json_array_size(value) != CONFIG_TIMES_N) {
        return false;
    }
    for (size_t i = 0; i < CONFIG_TIMES_N; i++) {
        if (!read_units(json_array_get(value, i), key, time_units, COUNTOF(time_units), &read[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < CONFIG_TIMES_N; i++) {
        times[i] = (uint32_t)read[i];
    }
    return true;
}

static bool is_choice(const char *text, const char *choices)
{
    size_t n = strlen(text);

    for (; n && *choices; choices += *choices == '|') {
        size_t here = strcspn(choices, "|");

        if (here == n && memcmp(choices, text, n) == 0) {
            return true;
        }
        choices += here;
    }
    return false;
}

static bool text_is_allowed(const struct config_key *key, const char *text)
{
    switch (key->kind) {
    case CONFIG_NAME:
        return check_name(text);
    case CONFIG_ACCOUNT:
        return *text != '\0';
    case CONFIG_PATH:
        return *text == '/';
    case CONFIG_CHOICE:
        return is_choice(text, key->choices);
    case CONFIG_PART:
    case CONFIG_CLASS:
    case CONFIG_FLAG:
    case CONFIG_COUNT:
    case CONFIG_MILLI:
    case CONFIG_BYTES:
    case CONFIG_TIME:
    case CONFIG_TIMES:
    case CONFIG_TEXTS:
        break;
    }
    return false;
}

const char *config_copy_text(struct arena *arena, const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = arena_alloc(arena, n);

    return copy ? memcpy(copy, text, n) : NULL;
}

static int set_text(const struct config_key *key, const json_t *value, const char **ret_text, struct arena *arena)
{
    const char *text = json_string_value(value);
    const char *copy;

    if (!text || !text_is_allowed(key, text)) {
        return CONFIG_KEY_BAD;
    }
    copy = config_copy_text(arena, text);
    if (!copy) {
        return err_new(-ENOMEM);
    }
    *ret_text = copy;
    return CONFIG_KEY_OK;
}

static int set_texts(const struct config_key *key, const json_t *value, struct config_texts *ret_texts,
                     struct arena *arena)
{
    size_t n = json_array_size(value);
    const char **list;

    if (!json_is_array(value) || n > key->max) {
        return CONFIG_KEY_BAD;
    }
    list = arena_alloc(arena, (n + 1) * sizeof(*list));
    for (size_t i = 0; list && i < n; i++) {
        const char *text = json_string_value(json_array_get(value, i));

        if (!text || !*text || strlen(text) > TEXT_MOST) {
            return CONFIG_KEY_BAD;
        }
        list[i] = config_copy_text(arena, text);
        list = list[i] ? list : NULL;
    }
    if (!list) {
        return err_new(-ENOMEM);
    }
    *ret_texts = (struct config_texts){ .list = list, .n = n };
    return CONFIG_KEY_OK;
}

static void *field_of(const struct config_key *key, void *target)
{
    return (char *)target + key->offset;
}

int config_key_set(const struct config_key *key, const json_t *value, void *target, struct arena *arena)
{
    void *field = field_of(key, target);
    uint64_t number;
    bool good = false;

    switch (key->kind) {
    case CONFIG_PART:
        return CONFIG_KEY_OK;
    case CONFIG_NAME:
    case CONFIG_ACCOUNT:
    case CONFIG_PATH:
    case CONFIG_CHOICE:
        return set_text(key, value, field, arena);
    case CONFIG_CLASS:
        good = read_class(value, field);
        break;
    case CONFIG_FLAG:
        good = json_is_boolean(value);
        if (good) {
            *(bool *)field = json_is_true(value);
        }
        break;
    case CONFIG_COUNT:
        good = read_count(value, key, field);
        break;
    case CONFIG_MILLI:
        good = read_milli(value, key, field);
        break;
    case CONFIG_BYTES:
        good = read_units(value, key, byte_units, COUNTOF(byte_units), field);
        break;
    case CONFIG_TIME:
        good = read_units(value, key, time_units, COUNTOF(time_units), &number);
        if (good) {
            *(uint32_t *)field = (uint32_t)number;
        }
        break;
    case CONFIG_TIMES:
        good = read_times(value, key, field);
        break;
    case CONFIG_TEXTS:
        return set_texts(key, value, field, arena);
    }
    return good ? CONFIG_KEY_OK : CONFIG_KEY_BAD;
}

/* ---- fields as bytes */

static bool is_text(enum config_kind kind)
{
    return kind == CONFIG_NAME || kind == CONFIG_ACCOUNT || kind == CONFIG_PATH || kind == CONFIG_CHOICE;
}

static size_t field_bytes(enum config_kind kind)
{
    switch (kind) {
    case CONFIG_PART:
        return 0;
    case CONFIG_NAME:
    case CONFIG_ACCOUNT:
    case CONFIG_PATH:
    case CONFIG_CHOICE:
        return sizeof(const char *);
    case CONFIG_CLASS:
        return sizeof(Sotto__V1__PriorityClass);
    case CONFIG_FLAG:
        return sizeof(bool);
    case CONFIG_COUNT:
    case CONFIG_MILLI:
    case CONFIG_TIME:
        return sizeof(uint32_t);
    case CONFIG_BYTES:
        return sizeof(uint64_t);
    case CONFIG_TIMES:
        return CONFIG_TIMES_N * sizeof(uint32_t);
    case CONFIG_TEXTS:
        return sizeof(struct config_texts);
    }
    return 0;
}

void config_key_copy(const struct config_key *key, const void *from, void *to)
{
    memcpy(field_of(key, to), (const char *)from + key->offset, field_bytes(key->kind));
}

static int keep_texts(struct config_texts *texts, struct arena *arena)
{
    const char **list = arena_alloc(arena, (texts->n + 1) * sizeof(*list));

    if (!list) {
        return err_new(-ENOMEM);
    }
    for (size_t i = 0; i < texts->n; i++) {
        list[i] = config_copy_text(arena, texts->list[i]);
        if (!list[i]) {
            return err_new(-ENOMEM);
        }
    }
    texts->list = list;
    return 0;
}

int config_key_keep(const struct config_key *key, const void *from, void *to, struct arena *arena)
{
    const char **text = field_of(key, to);

    config_key_copy(key, from, to);
    if (key->kind == CONFIG_TEXTS) {
        return keep_texts(field_of(key, to), arena);
    }
    if (!is_text(key->kind) || !*text) {
        return 0;
    }
    *text = config_copy_text(arena, *text);
    return *text ? 0 : err_new(-ENOMEM);
}

static bool same_texts(const struct config_texts *a, const struct config_texts *b)
{
    if (a->n != b->n) {
        return false;
    }
    for (size_t i = 0; i < a->n; i++) {
        if (strcmp(a->list[i], b->list[i]) != 0) {
            return false;
        }
    }
    return true;
}

bool config_key_equal(const struct config_key *key, const void *a, const void *b)
{
    const char *x = (const char *)a + key->offset;
    const char *y = (const char *)b + key->offset;

    if (is_text(key->kind)) {
        const char *left = *(const char *const *)(const void *)x;
        const char *right = *(const char *const *)(const void *)y;

        return left == right || (left && right && strcmp(left, right) == 0);
    }
    if (key->kind == CONFIG_TEXTS) {
        return same_texts((const void *)x, (const void *)y);
    }
    return memcmp(x, y, field_bytes(key->kind)) == 0;
}

/* ---- text for people */

/* Writes @number with the largest unit that divides it: "512MiB". */
static const char *with_unit(uint64_t number, const struct unit *units, size_t n, char out[32])
{
    while (n > 1 && (number < units[n - 1].factor || number % units[n - 1].factor)) {
        n--;
    }
    snprintf(out, 32, "%" PRIu64 "%s", number / units[n - 1].factor, units[n - 1].name);
    return out;
}

static void allow_units(const struct config_key *key, const char *before, const struct unit *units, size_t n, char *out,
                        size_t cap)
{
    char least[32];
    char most[32];
    size_t at;

    with_unit(key->min, units, n, least);
    with_unit(key->max, units, n, most);
    at = (size_t)snprintf(out, cap, "%s from \"%s\" to \"%s\", with a unit (", before, least, most);
    for (size_t i = 0; i < n && at < cap; i++) {
        at += (size_t)snprintf(out + at, cap - at, "%s%s", i ? ", " : "", units[i].name);
    }
    if (at < cap) {
        snprintf(out + at, cap - at, ")");
    }
}

const char *config_key_allowed(const struct config_key *key, char *out, size_t cap)
{
    switch (key->kind) {
    case CONFIG_PART:
        snprintf(out, cap, "an object or array");
        break;
    case CONFIG_NAME:
        snprintf(out, cap, "a name: 1 to 64 characters of A-Z a-z 0-9 . _ : / -");
        break;
    case CONFIG_ACCOUNT:
        snprintf(out, cap, "the name of a user or group");
        break;
    case CONFIG_PATH:
        snprintf(out, cap, "an absolute path");
        break;
    case CONFIG_CHOICE:
        snprintf(out, cap, "one of %s", key->choices);
        break;
    case CONFIG_CLASS:
        snprintf(out, cap, "one of background|interactive|realtime");
        break;
    case CONFIG_FLAG:
        snprintf(out, cap, "true or false");
        break;
    case CONFIG_COUNT:
        snprintf(out, cap, "a whole number from %" PRIu64 " to %" PRIu64, key->min, key->max);
        break;
    case CONFIG_MILLI:
        snprintf(out, cap, "a number from %g to %g, no finer than 0.001", (double)key->min / 1000.0,
                 (double)key->max / 1000.0);
        break;
    case CONFIG_BYTES:
        allow_units(key, "a size", byte_units, COUNTOF(byte_units), out, cap);
        break;
    case CONFIG_TIME:
        allow_units(key, "a time", time_units, COUNTOF(time_units), out, cap);
        break;
    case CONFIG_TIMES:
        allow_units(key, "an array of 3 times", time_units, COUNTOF(time_units), out, cap);
        break;
    case CONFIG_TEXTS:
        snprintf(out, cap, "an array of at most %" PRIu64 " texts of 1 to %u bytes", key->max, TEXT_MOST);
        break;
    }
    return out;
}

#define NAME_MOST 32u /* longer than any key */

/* Returns the edit distance (Levenshtein 1966), computed with one row of its table. */
static size_t distance(const char *a, const char *b)
{
    size_t row[NAME_MOST + 1];
    size_t n = strlen(b);

    assert(n <= NAME_MOST);
    for (size_t k = 0; k <= n; k++) {
        row[k] = k;
    }
    for (size_t i = 0; a[i]; i++) {
        size_t corner = row[0];

        row[0] = i + 1;
        for (size_t k = 1; k <= n; k++) {
            size_t change = corner + (a[i] != b[k - 1]);
            size_t other = (row[k] < row[k - 1] ? row[k] : row[k - 1]) + 1;

            corner = row[k];
            row[k] = change < other ? change : other;
        }
    }
    return row[n];
}

const char *config_key_near(const struct config_list *list, const char *name)
{
    const char *best = NULL;
    size_t least = 3; /* two wrong letters are a misspelling, three another word */

    if (strlen(name) > NAME_MOST) {
        return NULL;
    }
    for (size_t i = 0; i < list->n; i++) {
        size_t now = distance(name, list->keys[i].name);

        if (now < least && now < strlen(list->keys[i].name)) {
            least = now;
            best = list->keys[i].name;
        }
    }
    return best;
}
