#include "load/busy_percent.h"
#include "base/clean.h"
#include "base/err.h"
#include "sysfs/label.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rounding between two clocks makes 101 %; more is no percentage. */
#define PERCENT_MAX 105u

struct percent_source {
    struct source source;
    struct gpu device;
};

/* Parses an unsigned number at *text, which is moved behind it. */
static bool take_number(const char **text, uint64_t *ret_number)
{
    char *end;
    unsigned long long number;

    while (isspace((unsigned char)**text)) {
        (*text)++;
    }
    if (!isdigit((unsigned char)**text)) {
        return false;
    }
    errno = 0;
    number = strtoull(*text, &end, 10);
    if (errno) {
        return false;
    }
    *text = end;
    *ret_number = number;
    return true;
}

static bool is_end(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

bool busy_percent_parse(const char *text, uint32_t *ret_permille)
{
    uint64_t percent;

    if (!take_number(&text, &percent) || percent > PERCENT_MAX) {
        return false;
    }
    text += strspn(text, " \t");
    text += *text == '%';
    if (!is_end(text)) {
        return false;
    }
    *ret_permille = percent >= 100 ? 1000 : (uint32_t)percent * 10;
    return true;
}

bool busy_percent_parse_pair(const char *text, uint32_t *ret_permille)
{
    uint64_t busy;
    uint64_t total;
    double permille;

    if (!take_number(&text, &busy) || !take_number(&text, &total) || !is_end(text)) {
        return false;
    }
    if (total == 0) {
        *ret_permille = 0;
        return busy == 0;
    }
    permille = (double)busy * 1000 / (double)total;
    *ret_permille = permille >= 1000 ? 1000 : (uint32_t)permille;
    return true;
}

enum form {
    FORM_PERCENT,
    FORM_PAIR,
};

/* Picks the first file that exists. */
static bool file_of(const struct root *root, const struct gpu *device, char *path, size_t cap, enum form *ret_form)
{
    const bool is_adreno = strcmp(device->driver, "kgsl") == 0 || strcmp(device->driver, "msm") == 0;

    *ret_form = FORM_PERCENT;
    snprintf(path, cap, "%s/gpu_busy_percent", device->path);
    if (root_has(root, path)) {
        return true;
    }
    if (!is_adreno) {
        return false;
    }
    snprintf(path, cap, GPU_KGSL "/gpubusy");
    if (root_has(root, path)) {
        *ret_form = FORM_PAIR;
        return true;
    }
    snprintf(path, cap, GPU_KGSL "/gpu_busy_percentage");
    return root_has(root, path);
}

int busy_percent_read(const struct root *root, const struct gpu *device, uint32_t *ret_permille)
{
    char path[sizeof(device->path) + 40];
    enum form form;
    char text[64];
    size_t n;
    int r;

    if (!file_of(root, device, path, sizeof(path), &form)) {
        return -ENOENT;
    }
    r = root_read(root, path, text, sizeof(text), &n);
    if (r) {
        return r;
    }
    if (form == FORM_PAIR ? busy_percent_parse_pair(text, ret_permille) : busy_percent_parse(text, ret_permille)) {
        return 0;
    }
    return -EPROTO;
}

static void read_percent(struct source *source, uint64_t now_us, struct reading *ret_reading)
{
    const struct percent_source *percent = container_of(source, struct percent_source, source);
    uint32_t permille = 0;
    int r = busy_percent_read(source->root, &percent->device, &permille);

    source_give(source, r, permille, now_us, ret_reading);
}

static const struct source_table table = { .kind = "busy-percent", .read = read_percent };

int busy_percent_open(struct source **ret_source, const struct root *root, const struct gpu *device)
{
    struct source *source;
    char path[sizeof(device->path) + 40];
    enum form form;

    if (!file_of(root, device, path, sizeof(path), &form)) {
        return -ENOENT;
    }
    source =
        load_source_create(sizeof(struct percent_source), &table, READING_GRAPHICS_LOAD, LOAD_RANK_BUSY, root, device);
    if (!source) {
        return err_new(-ENOMEM);
    }
    container_of(source, struct percent_source, source)->device = *device;
    label_set(source->name, "busy %s", device->node);
    label_set(source->path, "%s", path);
    label_set(source->why, "one figure of the device, including our own load");
    source->is_mixed = true;
    source->may_block = true; /* the figure may come from firmware */
    *ret_source = source;
    return 0;
}
