/*
 * Parses line by line; rows of data masters belong to the device named last. Each reading reads the file once, since
 * that restarts the driver's figures.
 */
#include "load/pvr_status.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "load/pair.h"
#include "sysfs/label.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for statistics of processes and memory behind the figures; eight guests make rows of 60 bytes. */
#define STATUS_BYTES 65536u

/* Builds without debugfs use procfs. */
static const char *const paths[] = { "/sys/kernel/debug/pvr/status", "/proc/pvr/status" };

enum line_kind {
    LINE_DRIVER,
    LINE_DEVICE,
    LINE_FIRMWARE,
    LINE_TOTAL,
    LINE_ROWS, /* header of the rows, names the guests */
    LINE_TDM,
    LINE_2D,
    LINE_GEOM, /* also GEOM2 to GEOM4, of chips with several */
    LINE_3D,
    LINE_RAY,
    LINE_CDM,
    LINE_COUNT,
};

static const char *const names[LINE_COUNT] = {
    [LINE_DRIVER] = "Driver Status",
    [LINE_DEVICE] = "Device ID",
    [LINE_FIRMWARE] = "Firmware Status",
    [LINE_TOTAL] = "GPU Utilisation",
    [LINE_ROWS] = "DM Utilisation",
    [LINE_TDM] = "TDM",
    [LINE_2D] = "2D",
    [LINE_GEOM] = "GEOM",
    [LINE_3D] = "3D",
    [LINE_RAY] = "RAY",
    [LINE_CDM] = "CDM",
};

static enum line_kind kind_of(const char *name, size_t n)
{
    for (enum line_kind kind = 0; kind < LINE_COUNT; kind++) {
        size_t n_plain = n;

        /* Further units of a kind are numbered: GEOM2. */
        while (kind == LINE_GEOM && n_plain > 0 && isdigit((unsigned char)name[n_plain - 1])) {
            n_plain--;
        }
        if (strlen(names[kind]) == n_plain && memcmp(names[kind], name, n_plain) == 0) {
            return kind;
        }
    }
    return LINE_COUNT;
}

/* Adds up the columns of guests, "12%" or "-". False: no number among them. */
static bool add_columns(const char *text, uint32_t *ret_permille)
{
    uint64_t permille = 0;
    bool has = false;

    for (;;) {
        char *end;
        unsigned long long percent;

        text += strspn(text, " \t\r");
        if (*text == '-') {
            text++;
            continue;
        }
        if (!isdigit((unsigned char)*text)) {
            break;
        }
        percent = strtoull(text, &end, 10);
        permille = num_saturate(permille, num_min(percent, 100) * 10, 1000);
        has = true;
        text = end + (*end == '%');
    }
    *ret_permille = (uint32_t)permille;
    return has;
}

static void put_row(struct pvr_device *device, bool is_compute, const char *text)
{
    uint32_t *side = is_compute ? &device->compute_permille : &device->graphics_permille;
    uint32_t permille;

    device->has_rows = true;
    if (add_columns(text, &permille)) {
        device->has_sides = true;
        *side = (uint32_t)num_max(*side, permille);
    }
}

static void put_health(struct pvr_device *device, const char *text)
{
    snprintf(device->health_words, sizeof(device->health_words), "%s", text);
    if (strcmp(text, "OK") == 0) {
        device->health = PVR_HEALTH_OK;
    } else if (strncmp(text, "UNDEFINED", 9) == 0) {
        device->health = PVR_HEALTH_UNKNOWN;
    } else {
        device->health = PVR_HEALTH_BAD;
    }
}

static void put_device(struct pvr_device *device, enum line_kind kind, const char *text)
{
    switch (kind) {
    case LINE_FIRMWARE:
        put_health(device, text);
        break;
    case LINE_TOTAL:
        device->has_total = add_columns(text, &device->total_permille);
        break;
    case LINE_TDM:
    case LINE_2D:
    case LINE_GEOM:
    case LINE_3D:
    case LINE_RAY:
        put_row(device, false, text);
        break;
    case LINE_CDM:
        put_row(device, true, text);
        break;
    case LINE_ROWS:
    case LINE_DRIVER:
    case LINE_DEVICE:
    case LINE_COUNT:
        break;
    }
}

static void put_line(struct pvr_status *status, char *line)
{
    char *name = line + strspn(line, " \t");
    char *colon = strchr(name, ':');
    enum line_kind kind;
    char *text;
    size_t n;

    if (!colon) {
        return;
    }
    kind = kind_of(name, (size_t)(colon - name));
    text = colon + 1 + strspn(colon + 1, " \t");
    for (n = strlen(text); n > 0 && isspace((unsigned char)text[n - 1]); n--) {
        text[n - 1] = '\0';
    }
    if (kind == LINE_DRIVER) {
        status->is_driver_ok = strcmp(text, "OK") == 0;
    } else if (kind == LINE_DEVICE && status->n_devices < PVR_DEVICES_MAX) {
        struct pvr_device *device = &status->devices[status->n_devices];

        if (sscanf(text, "%u:%u", &device->index, &device->minor) == 2) {
            status->n_devices++;
        }
    } else if (status->n_devices == 0 && kind >= LINE_TOTAL && kind <= LINE_CDM) {
        /* The oldest drivers have one device and no device line. */
        status->devices[status->n_devices++].minor = GPU_NO_MINOR;
        put_device(&status->devices[0], kind, text);
    } else if (status->n_devices > 0) {
        put_device(&status->devices[status->n_devices - 1], kind, text);
    }
}

bool pvr_status_parse(struct pvr_status *ret_status, const char *bytes, size_t n)
{
    *ret_status = (struct pvr_status){ 0 };
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        const size_t n_line = end ? (size_t)(end - bytes) : n;
        char line[256];

        if (n_line < sizeof(line)) {
            memcpy(line, bytes, n_line);
            line[n_line] = '\0';
            put_line(ret_status, line);
        }
        bytes += n_line + (end != NULL);
        n -= n_line + (end != NULL);
    }
    return ret_status->n_devices > 0;
}

const struct pvr_device *pvr_status_device(const struct pvr_status *status, uint32_t minor)
{
    for (uint32_t i = 0; i < status->n_devices; i++) {
        if (status->devices[i].minor == minor) {
            return &status->devices[i];
        }
    }
    return status->n_devices == 1 ? &status->devices[0] : NULL;
}

struct pvr_source {
    const struct root *root;
    struct gpu device;
    const char *path;
    bool is_one; /* one figure for everything */
    char *text;  /* owned, STATUS_BYTES */
    struct pvr_device now;
    struct reading last_graphics;
    struct reading last_compute;
};

/* Turns the file's figures into readings. */
static void judge(struct pvr_source *pvr, uint64_t now_us, struct reading *graphics, struct reading *compute)
{
    const struct pvr_device *now = &pvr->now;

    if (now->health == PVR_HEALTH_BAD) {
        reading_not(graphics, READING_ABSENT, now_us, "firmware: %s", now->health_words);
        *compute = *graphics;
    } else if (now->has_sides) {
        reading_set(graphics, now->graphics_permille, now_us);
        reading_set(compute, now->compute_permille, now_us);
    } else if (now->has_total && !now->has_rows) {
        reading_set(graphics, now->total_permille, now_us);
        reading_not(compute, READING_ABSENT, now_us, "this driver reports one figure for everything");
    } else if (now->has_total && now->total_permille == 0) {
        /* Nothing ran, so no row has a number. */
        reading_set(graphics, 0, now_us);
        reading_set(compute, 0, now_us);
    } else {
        reading_not(graphics, READING_ABSENT, now_us, "the driver reports \"-\": it has no figure");
        *compute = *graphics;
    }
}

static void measure(void *body, uint64_t now_us, struct reading *ret_graphics, struct reading *ret_compute)
{
    struct pvr_source *pvr = body;
    const struct pvr_device *device;
    struct pvr_status status;
    size_t n = 0;
    int r = root_read(pvr->root, pvr->path, pvr->text, STATUS_BYTES, &n);

    if (r) {
        reading_fail(ret_graphics, r, &pvr->last_graphics);
        reading_fail(ret_compute, r, &pvr->last_compute);
        return;
    }
    device = pvr_status_parse(&status, pvr->text, n) ? pvr_status_device(&status, pvr->device.minor) : NULL;
    if (!device) {
        reading_not(ret_graphics, READING_ABSENT, now_us, "pvr/status does not list the device");
        *ret_compute = *ret_graphics;
        return;
    }
    pvr->now = *device;
    judge(pvr, now_us, ret_graphics, ret_compute);
    if (ret_graphics->state == READING_OK) {
        pvr->last_graphics = *ret_graphics;
    }
    if (ret_compute->state == READING_OK) {
        pvr->last_compute = *ret_compute;
    }
}

static void destroy(void *body)
{
    struct pvr_source *pvr = body;

    mem_free(pvr->text);
    mem_free(pvr);
}

static void describe(struct source *source, const void *body)
{
    const struct pvr_source *pvr = body;
    const bool is_graphics = source->quantity == READING_GRAPHICS_LOAD;
    const char *of = is_graphics ? "3D alone" : "compute, including our own";

    label_set(source->name, "pvr-status %s%s", pvr->device.node, is_graphics ? "" : " compute");
    label_set(source->path, "%s", pvr->path);
    label_set(source->why, "the vendor's figure of %s", pvr->is_one ? "everything, including our own load" : of);
    load_describe(source, LOAD_RANK_VENDOR, &pvr->device);
    source->may_block = true; /* the driver asks its firmware */
    source->is_mixed = !is_graphics || pvr->is_one;
}

static const struct pair_table table = {
    .kind = "pvr-status",
    .measure = measure,
    .describe = describe,
    .destroy = destroy,
};

/* Returns true for older drivers, which have one figure for everything. */
static bool has_one_figure(struct pvr_source *pvr)
{
    const struct pvr_device *device;
    struct pvr_status status;
    size_t n;

    if (root_read(pvr->root, pvr->path, pvr->text, STATUS_BYTES, &n) != 0 || !pvr_status_parse(&status, pvr->text, n)) {
        return false;
    }
    device = pvr_status_device(&status, pvr->device.minor);
    return device && device->has_total && !device->has_rows;
}

int pvr_status_open(struct source **ret_graphics, struct source **ret_compute, const struct root *root,
                    const struct gpu *device)
{
    struct pvr_source *pvr = mem_calloc(MEM_MISC, 1, sizeof(*pvr));

    if (!pvr) {
        return err_new(-ENOMEM);
    }
    pvr->root = root;
    pvr->device = *device;
    pvr->path = !root_has(root, paths[0]) && root_has(root, paths[1]) ? paths[1] : paths[0];
    pvr->text = mem_alloc(MEM_MISC, STATUS_BYTES);
    if (!pvr->text) {
        destroy(pvr);
        return err_new(-ENOMEM);
    }
    pvr->is_one = has_one_figure(pvr);
    return err_up(pair_open(ret_graphics, ret_compute, &table, pvr));
}
