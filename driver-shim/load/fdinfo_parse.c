/*
 * A table of keys, and one pass over the lines. Each line is compared with at most all engines seen so far, so the cost
 * of a file is bounded by its length.
 */
#include "load/fdinfo_parse.h"
#include "base/clean.h"
#include "base/num.h"
#include <string.h>

/* A higher capacity is a driver's mistake, and would make a busy device look idle. */
#define CAPACITY_MAX 64u

enum key {
    KEY_CAPACITY,
    KEY_NS,
    KEY_TOTAL_CYCLES,
    KEY_CYCLES,
    KEY_MAXFREQ,
    KEY_CURFREQ,
    KEY_TOTAL,
    KEY_RESIDENT,
    KEY_MEMORY,
    KEY_COUNT,
};

enum unit_kind {
    UNIT_NONE,
    UNIT_TIME,
    UNIT_FREQUENCY,
    UNIT_BYTES,
};

/* A key that is a prefix of another one comes after it. */
static const struct {
    const char *prefix;
    enum unit_kind unit;
} keys[KEY_COUNT] = {
    [KEY_CAPACITY] = { "drm-engine-capacity-", UNIT_NONE },
    [KEY_NS] = { "drm-engine-", UNIT_TIME },
    [KEY_TOTAL_CYCLES] = { "drm-total-cycles-", UNIT_NONE },
    [KEY_CYCLES] = { "drm-cycles-", UNIT_NONE },
    [KEY_MAXFREQ] = { "drm-maxfreq-", UNIT_FREQUENCY },
    [KEY_CURFREQ] = { "drm-curfreq-", UNIT_FREQUENCY },
    [KEY_TOTAL] = { "drm-total-", UNIT_BYTES },
    [KEY_RESIDENT] = { "drm-resident-", UNIT_BYTES },
    [KEY_MEMORY] = { "drm-memory-", UNIT_BYTES },
};

/* The first unit of a kind is the default. */
static const struct {
    enum unit_kind kind;
    const char *name;
    uint64_t factor;
} units[] = {
    { UNIT_NONE, "", 1 },
    { UNIT_TIME, "", 1 },
    { UNIT_TIME, "ns", 1 },
    { UNIT_TIME, "us", 1000 },
    { UNIT_TIME, "ms", 1000000 },
    { UNIT_FREQUENCY, "", 1 },
    { UNIT_FREQUENCY, "Hz", 1 },
    { UNIT_FREQUENCY, "KHz", 1000 },
    { UNIT_FREQUENCY, "kHz", 1000 },
    { UNIT_FREQUENCY, "MHz", 1000000 },
    { UNIT_FREQUENCY, "GHz", 1000000000 },
    { UNIT_BYTES, "", 1 },
    { UNIT_BYTES, "KiB", 1024 },
    { UNIT_BYTES, "MiB", 1048576 },
    { UNIT_BYTES, "GiB", 1073741824 },
};

/* Bytes of the file, not 0-terminated. */
struct slice {
    const char *bytes;
    size_t n;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct slice trim(struct slice slice)
{
    while (slice.n > 0 && is_blank(slice.bytes[0])) {
        slice.bytes++;
        slice.n--;
    }
    while (slice.n > 0 && is_blank(slice.bytes[slice.n - 1])) {
        slice.n--;
    }
    return slice;
}

static bool is_word(struct slice slice, const char *word)
{
    return slice.n == strlen(word) && memcmp(slice.bytes, word, slice.n) == 0;
}

static bool starts_with(struct slice slice, const char *word)
{
    return slice.n >= strlen(word) && memcmp(slice.bytes, word, strlen(word)) == 0;
}

/* Parses "123 ns" into the smallest unit of its kind. */
static bool read_value(struct slice text, enum unit_kind kind, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t i = 0;
    struct slice unit;

    for (; i < text.n && text.bytes[i] >= '0' && text.bytes[i] <= '9'; i++) {
        if (!num_mul(value, 10, &value) || !num_add(value, (uint64_t)(text.bytes[i] - '0'), &value)) {
            return false;
        }
    }
    if (i == 0 || (i < text.n && !is_blank(text.bytes[i]))) {
        return false;
    }
    unit = trim((struct slice){ text.bytes + i, text.n - i });
    for (size_t k = 0; k < COUNTOF(units); k++) {
        if (units[k].kind == kind && is_word(unit, units[k].name)) {
            return num_mul(value, units[k].factor, ret_value);
        }
    }
    return false;
}

static void copy_word(char *to, size_t cap, struct slice from)
{
    size_t n = from.n < cap - 1 ? from.n : cap - 1;

    memcpy(to, from.bytes, n);
    to[n] = '\0';
}

/* Returns the engine of that name, added if it is new; NULL: too many, or no valid name. */
static struct fdinfo_engine *engine_of(struct fdinfo *fdinfo, struct slice name)
{
    struct fdinfo_engine *engine;

    if (name.n == 0 || name.n >= sizeof(engine->name)) {
        fdinfo->n_unparsed++;
        return NULL;
    }
    for (uint32_t i = 0; i < fdinfo->n_engines; i++) {
        if (is_word(name, fdinfo->engines[i].name)) {
            return &fdinfo->engines[i];
        }
    }
    if (fdinfo->n_engines == FDINFO_ENGINES_MAX) {
        fdinfo->is_cut = true;
        return NULL;
    }
    engine = &fdinfo->engines[fdinfo->n_engines++];
    *engine = (struct fdinfo_engine){ .capacity = 1 };
    copy_word(engine->name, sizeof(engine->name), name);
    return engine;
}

static void put_engine(struct fdinfo *fdinfo, struct fdinfo_engine *engine, enum key key, uint64_t value)
{
    switch (key) {
    case KEY_CAPACITY:
        if (value >= 1 && value <= CAPACITY_MAX) {
            engine->capacity = (uint32_t)value;
        } else {
            fdinfo->n_unparsed++;
        }
        break;
    case KEY_NS:
        engine->has_ns = true;
        engine->ns = value;
        break;
    case KEY_TOTAL_CYCLES:
        engine->has_total = true;
        engine->total_cycles = value;
        break;
    case KEY_CYCLES:
        engine->has_cycles = true;
        engine->cycles = value;
        break;
    case KEY_MAXFREQ:
        engine->max_hz = value;
        break;
    case KEY_CURFREQ:
        engine->cur_hz = value;
        break;
    case KEY_TOTAL:
    case KEY_RESIDENT:
    case KEY_MEMORY:
    case KEY_COUNT:
        break;
    }
}

/* Sums over all regions, for each of the three keys that kernels have used. */
struct memory {
    bool has[KEY_COUNT];
    uint64_t bytes[KEY_COUNT];
};

static void put_prefixed(struct fdinfo *fdinfo, struct memory *memory, struct slice name, struct slice text)
{
    for (enum key key = 0; key < KEY_COUNT; key++) {
        const size_t n = strlen(keys[key].prefix);
        struct fdinfo_engine *engine;
        uint64_t value;

        if (!starts_with(name, keys[key].prefix)) {
            continue;
        }
        if (keys[key].unit == UNIT_BYTES) {
            if (read_value(text, UNIT_BYTES, &value)) {
                memory->has[key] = true;
                memory->bytes[key] = num_saturate(memory->bytes[key], value, UINT64_MAX);
            }
            return;
        }
        if (!read_value(text, keys[key].unit, &value)) {
            fdinfo->n_unparsed++;
            return;
        }
        engine = engine_of(fdinfo, (struct slice){ name.bytes + n, name.n - n });
        if (engine) {
            put_engine(fdinfo, engine, key, value);
        }
        return;
    }
}

/* Takes one line. Returns true if it has a DRM key. */
static bool put_line(struct fdinfo *fdinfo, struct memory *memory, struct slice line)
{
    const char *colon = memchr(line.bytes, ':', line.n);
    struct slice name;
    struct slice text;

    if (!colon || !starts_with(line, "drm-")) {
        return false;
    }
    name = (struct slice){ line.bytes, (size_t)(colon - line.bytes) };
    text = trim((struct slice){ colon + 1, line.n - name.n - 1 });
    if (is_word(name, "drm-driver")) {
        copy_word(fdinfo->driver, sizeof(fdinfo->driver), text);
    } else if (is_word(name, "drm-pdev")) {
        copy_word(fdinfo->pdev, sizeof(fdinfo->pdev), text);
    } else if (is_word(name, "drm-client-id")) {
        fdinfo->has_client = read_value(text, UNIT_NONE, &fdinfo->client);
    } else {
        put_prefixed(fdinfo, memory, name, text);
    }
    return true;
}

/* Removes engines without a counter. */
static void keep_counters(struct fdinfo *fdinfo)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < fdinfo->n_engines; i++) {
        if (fdinfo->engines[i].has_ns || fdinfo->engines[i].has_cycles) {
            fdinfo->engines[n++] = fdinfo->engines[i];
        }
    }
    fdinfo->n_engines = n;
}

bool fdinfo_parse(struct fdinfo *ret_fdinfo, const char *bytes, size_t n)
{
    struct memory memory = { 0 };
    bool is_drm = false;

    /* The engines are cleared as they come: this runs for each client at each reading. */
    memset(ret_fdinfo, 0, offsetof(struct fdinfo, engines));
    ret_fdinfo->n_engines = 0;
    ret_fdinfo->n_unparsed = 0;
    ret_fdinfo->is_cut = false;
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        const size_t n_line = end ? (size_t)(end - bytes) : n;

        is_drm |= put_line(ret_fdinfo, &memory, (struct slice){ bytes, n_line });
        bytes += end ? n_line + 1 : n_line;
        n -= end ? n_line + 1 : n_line;
    }
    keep_counters(ret_fdinfo);
    for (enum key key = KEY_TOTAL; key <= KEY_MEMORY; key++) {
        if (memory.has[key]) {
            ret_fdinfo->memory_kb = memory.bytes[key] / 1024;
            break;
        }
    }
    return is_drm;
}
