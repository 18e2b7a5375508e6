/*
 * The clock of a device, and three sources of it: the clock itself, the vendor's load, and an estimate from the time
 * spent at each clock.
 */
#include "load/devfreq.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "sysfs/label.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVFREQ "/sys/class/devfreq"

/* Rounding between two clocks makes 101 % of a busy device. */
#define PERCENT_MAX 105u

#define PAGE_BYTES 4097u

/* Governors that let the clock follow the load. */
static const char *const followers[] = { "simple_ondemand", "msm-adreno-tz", "mali_ondemand" };

struct devfreq {
    struct source source;
    char cur[200]; /* the file of the clock, the load, or the times */
    char governor[200];
    uint64_t factor; /* kHz per unit of @cur, or its inverse below */
    uint64_t divisor;
    struct devfreq_times before;
    bool has_before;
};

/* Devfreq folders are named after their device; that of a GPU next to a display device is recognised by its kind. */
static int fit(const struct root *root, const struct gpu *device, const char *name)
{
    static const char *const words[] = { ".gpu", "mali", "kgsl", "gpu", "img" };
    char link[sizeof(DEVFREQ) + 300];
    char real[512];

    if (device->name[0] && strcmp(name, device->name) == 0) {
        return 3;
    }
    snprintf(link, sizeof(link), DEVFREQ "/%s/device", name);
    if (root_real_path(root, link, real, sizeof(real)) == 0 && strcmp(real, device->path) == 0) {
        return 3;
    }
    for (size_t i = 0; i < COUNTOF(words) && !device->is_pci; i++) {
        if (strstr(name, words[i])) {
            return 1;
        }
    }
    return 0;
}

bool devfreq_find(const struct root *root, const struct gpu *device, char *path, size_t cap)
{
    const struct dirent *entry;
    char best_name[256];
    int best = 0;
    DIR *dir;

    if (root_open_folder(root, DEVFREQ, &dir) != 0) {
        return false;
    }
    while ((entry = readdir(dir))) {
        const int fits = entry->d_name[0] == '.' ? 0 : fit(root, device, entry->d_name);

        if (fits > best) {
            best = fits;
            memcpy(best_name, entry->d_name, strlen(entry->d_name) + 1);
        }
    }
    closedir(dir);
    return best > 0 && (size_t)snprintf(path, cap, DEVFREQ "/%s", best_name) < cap;
}

/* Returns the highest number of a list in @text. */
static uint64_t highest_of(const char *text)
{
    uint64_t highest = 0;

    while (*text) {
        char *end;
        const unsigned long long number = strtoull(text, &end, 10);

        if (end == text) {
            break;
        }
        highest = num_max(highest, number);
        text = end;
    }
    return highest;
}

static uint64_t highest_in(const struct root *root, const char *folder)
{
    char path[256];
    char text[PAGE_BYTES];
    int64_t limit;
    size_t n;

    snprintf(path, sizeof(path), "%s/available_frequencies", folder);
    if (root_read(root, path, text, sizeof(text), &n) == 0 && highest_of(text) > 0) {
        return highest_of(text);
    }
    /* The current limit, which heat or a user may have lowered; 0: not set. */
    snprintf(path, sizeof(path), "%s/max_freq", folder);
    return root_read_fixed(root, path, &limit) == 0 && limit > 0 ? (uint64_t)limit : 0;
}

uint64_t devfreq_highest_hz(const struct root *root, const struct gpu *device)
{
    char folder[200];

    return devfreq_find(root, device, folder, sizeof(folder)) ? highest_in(root, folder) : 0;
}

static void read_clock(struct source *source, uint64_t now_us, struct reading *ret_reading)
{
    const struct devfreq *devfreq = container_of(source, struct devfreq, source);
    int64_t clock = 0;
    int r = root_read_number(source->root, devfreq->cur, &clock);

    if (!r && (clock < 0 || (uint64_t)clock > INT64_MAX / devfreq->factor)) {
        r = -EPROTO;
        clock = 0;
    }
    source_give(source, r, clock * (int64_t)devfreq->factor / (int64_t)devfreq->divisor, now_us, ret_reading);
}

bool devfreq_load_parse(const char *text, uint32_t *ret_permille, uint64_t *ret_hz)
{
    unsigned long long percent;
    unsigned long long hz;
    char *end;

    if (!isdigit((unsigned char)*text)) {
        return false;
    }
    percent = strtoull(text, &end, 10);
    if (percent > PERCENT_MAX || *end != '@' || !isdigit((unsigned char)end[1])) {
        return false;
    }
    errno = 0;
    hz = strtoull(end + 1, &end, 10);
    end += strncmp(end, "Hz", 2) == 0 ? 2 : 0;
    if (errno || end[strspn(end, " \t\r\n")]) {
        return false;
    }
    *ret_permille = percent >= 100 ? 1000 : (uint32_t)percent * 10;
    *ret_hz = hz;
    return true;
}

static void read_load(struct source *source, uint64_t now_us, struct reading *ret_reading)
{
    const struct devfreq *devfreq = container_of(source, struct devfreq, source);
    char word[64];
    uint32_t permille = 0;
    uint64_t hz;
    int r = root_read_word(source->root, devfreq->cur, word, sizeof(word));

    if (!r && !devfreq_load_parse(word, &permille, &hz)) {
        r = -EPROTO;
    }
    source_give(source, r, permille, now_us, ret_reading);
}

/* Parses "* 200000000:   0   5   12345": a clock, the transitions to each other clock, and the time spent there. */
static bool parse_row(const char *line, uint64_t *ret_hz, uint64_t *ret_ms)
{
    const char *text = line + strspn(line, " \t*");
    char *end;
    bool has_time = false;

    if (!isdigit((unsigned char)*text)) {
        return false;
    }
    *ret_hz = strtoull(text, &end, 10);
    if (*end != ':') {
        return false;
    }
    for (text = end + 1;; text = end) {
        const unsigned long long number = strtoull(text, &end, 10);

        if (end == text) {
            break;
        }
        *ret_ms = number;
        has_time = true;
    }
    return has_time && text[strspn(text, " \t\r")] == '\0';
}

bool devfreq_times_parse(struct devfreq_times *ret_times, const char *bytes, size_t n)
{
    *ret_times = (struct devfreq_times){ 0 };
    while (n > 0 && ret_times->n < DEVFREQ_STATES_MAX) {
        const char *end = memchr(bytes, '\n', n);
        const size_t n_line = end ? (size_t)(end - bytes) : n;
        char line[1024];

        if (n_line < sizeof(line)) {
            memcpy(line, bytes, n_line);
            line[n_line] = '\0';
            ret_times->n += parse_row(line, &ret_times->hz[ret_times->n], &ret_times->ms[ret_times->n]);
        }
        bytes += n_line + (end != NULL);
        n -= n_line + (end != NULL);
    }
    return ret_times->n > 0;
}

bool devfreq_times_mean(const struct devfreq_times *before, const struct devfreq_times *after, uint32_t *ret_permille)
{
    uint64_t highest = 0;
    double all = 0;
    double sum = 0;

    if (before->n != after->n || before->n == 0) {
        return false;
    }
    for (uint32_t i = 0; i < after->n; i++) {
        if (before->hz[i] != after->hz[i] || after->ms[i] < before->ms[i]) {
            return false;
        }
        highest = num_max(highest, after->hz[i]);
        all += (double)(after->ms[i] - before->ms[i]);
        sum += (double)(after->ms[i] - before->ms[i]) * (double)after->hz[i];
    }
    if (all <= 0 || highest == 0) {
        return false;
    }
    *ret_permille = (uint32_t)(sum / all * 1000 / (double)highest);
    return true;
}

static bool follows_load(const struct devfreq *devfreq, char *word, size_t cap)
{
    snprintf(word, cap, "unknown");
    if (root_read_word(devfreq->source.root, devfreq->governor, word, cap) != 0) {
        return false;
    }
    for (size_t i = 0; i < COUNTOF(followers); i++) {
        if (strcmp(word, followers[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void read_guess(struct source *source, uint64_t now_us, struct reading *ret_reading)
{
    struct devfreq *devfreq = container_of(source, struct devfreq, source);
    const bool had_before = devfreq->has_before;
    struct devfreq_times now;
    char text[PAGE_BYTES];
    char word[32];
    uint32_t permille;
    size_t n = 0;
    int r;

    devfreq->has_before = false;
    if (!follows_load(devfreq, word, sizeof(word))) {
        reading_not(ret_reading, READING_ABSENT, now_us, "the clock doesn't follow the load (governor %s)", word);
        return;
    }
    r = root_read(source->root, devfreq->cur, text, sizeof(text), &n);
    if (!r && !devfreq_times_parse(&now, text, n)) {
        r = -ENODATA;
    }
    if (r) {
        reading_fail(ret_reading, r, &source->last);
        return;
    }
    if (!had_before) {
        reading_early(ret_reading, "no interval yet: this was the first reading");
    } else if (devfreq_times_mean(&devfreq->before, &now, &permille)) {
        source_give(source, 0, permille, now_us, ret_reading);
    } else {
        reading_not(ret_reading, READING_ABSENT, now_us, "the times stand still or ran back");
    }
    devfreq->before = now;
    devfreq->has_before = true;
}

static const struct source_table clock_table = { .kind = "clock", .read = read_clock };
static const struct source_table load_table = { .kind = "devfreq", .read = read_load };
static const struct source_table guess_table = { .kind = "trans-stat", .read = read_guess };

/* Opens a source that reads the file @path. */
static int open_at(struct devfreq **ret_devfreq, const struct root *root, const struct gpu *device,
                   const struct source_table *table, uint32_t rank, const char *path)
{
    const enum reading_quantity quantity = table == &clock_table ? READING_CLOCK : READING_GRAPHICS_LOAD;
    struct source *source;

    if (!root_has(root, path)) {
        return -ENOENT;
    }
    source = load_source_create(sizeof(struct devfreq), table, quantity, rank, root, device);
    if (!source) {
        return err_new(-ENOMEM);
    }
    *ret_devfreq = container_of(source, struct devfreq, source);
    (*ret_devfreq)->factor = 1;
    (*ret_devfreq)->divisor = 1;
    snprintf((*ret_devfreq)->cur, sizeof((*ret_devfreq)->cur), "%s", path);
    label_set(source->path, "%s", path);
    return 0;
}

/* Opens a source that reads @file in the devfreq folder of @device, which is put into @folder. */
static int open_file(struct devfreq **ret_devfreq, const struct root *root, const struct gpu *device,
                     const struct source_table *table, uint32_t rank, const char *file, char folder[160])
{
    char path[200];

    if (!devfreq_find(root, device, folder, 160)) {
        return -ENOENT;
    }
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    return open_at(ret_devfreq, root, device, table, rank, path);
}

/* Files of drivers that report a clock in MHz but have no devfreq; %u is the card. */
static const struct {
    const char *cur;
    const char *most;
} own_clocks[] = {
    { "/sys/class/drm/card%u/gt_act_freq_mhz", "/sys/class/drm/card%u/gt_RP0_freq_mhz" }, /* i915 */
    { "/sys/class/drm/card%u/device/tile0/gt0/freq0/act_freq",
      "/sys/class/drm/card%u/device/tile0/gt0/freq0/rp0_freq" }, /* xe */
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void put_card(char *path, size_t cap, const char *format, uint32_t card)
{
    snprintf(path, cap, format, card);
}
#pragma GCC diagnostic pop

static int open_own_clock(struct devfreq **ret_devfreq, const struct root *root, const struct gpu *device)
{
    char path[160];
    int64_t most;

    for (size_t i = 0; i < COUNTOF(own_clocks) && device->card != GPU_NO_MINOR; i++) {
        int r;

        put_card(path, sizeof(path), own_clocks[i].cur, device->card);
        r = open_at(ret_devfreq, root, device, &clock_table, LOAD_RANK_DEVFREQ, path);
        if (r == -ENOENT) {
            continue;
        }
        if (r) {
            return err_up(r);
        }
        (*ret_devfreq)->factor = 1000;
        put_card(path, sizeof(path), own_clocks[i].most, device->card);
        (*ret_devfreq)->source.most = root_read_fixed(root, path, &most) == 0 && most > 0 ? most * 1000 : 0;
        return 0;
    }
    return -ENOENT;
}

int devfreq_clock_open(struct source **ret_source, const struct root *root, const struct gpu *device)
{
    struct devfreq *devfreq;
    char folder[160];
    int r;

    if (devfreq_find(root, device, folder, sizeof(folder))) {
        r = open_file(&devfreq, root, device, &clock_table, LOAD_RANK_DEVFREQ, "cur_freq", folder);
        if (!r) {
            devfreq->divisor = 1000;
            devfreq->source.most = (int64_t)(highest_in(root, folder) / 1000);
        }
    } else {
        r = open_own_clock(&devfreq, root, device);
    }
    if (r) {
        return r;
    }
    label_set(devfreq->source.name, "clock %s", device->node);
    label_set(devfreq->source.why, "highest %" PRId64 " kHz", devfreq->source.most);
    *ret_source = &devfreq->source;
    return 0;
}

int devfreq_load_open(struct source **ret_source, const struct root *root, const struct gpu *device)
{
    struct devfreq *devfreq;
    char folder[160];
    int r = open_file(&devfreq, root, device, &load_table, LOAD_RANK_DEVFREQ, "load", folder);

    if (r) {
        return r;
    }
    devfreq->source.is_mixed = true;
    label_set(devfreq->source.name, "devfreq load %s", device->node);
    label_set(devfreq->source.why, "one figure of the clock's governor, including our own load");
    *ret_source = &devfreq->source;
    return 0;
}

int devfreq_guess_open(struct source **ret_source, const struct root *root, const struct gpu *device)
{
    struct devfreq *devfreq;
    char folder[160];
    int r = open_file(&devfreq, root, device, &guess_table, LOAD_RANK_CLOCK, "trans_stat", folder);

    if (r) {
        return r;
    }
    devfreq->source.is_mixed = true;
    devfreq->source.is_bound = true;
    devfreq->source.slow_ms = 1000;
    snprintf(devfreq->governor, sizeof(devfreq->governor), "%s/governor", folder);
    label_set(devfreq->source.name, "devfreq clocks %s", device->node);
    label_set(devfreq->source.why, "mean clock: a rough upper bound, including our own load");
    *ret_source = &devfreq->source;
    return 0;
}
