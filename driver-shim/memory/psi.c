/*
 * /proc/pressure/memory: "some avg10=0.25 avg60=0.00 avg300=0.00 total=123456", and the same for "full".
 */
#include "memory/psi.h"
#include "base/err.h"
#include "sysfs/label.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PSI_PATH "/proc/pressure/memory"

/* Two lines of some 70 bytes. */
#define PSI_BYTES 512u

/* Parses "12.34" percent into 123 permille. False: out of range. */
static bool parse_percent(const char *text, uint32_t *ret_permille)
{
    char *end;
    unsigned long whole = strtoul(text, &end, 10);
    uint32_t tenths = 0;

    if (end == text || whole > 100) {
        return false;
    }
    if (*end == '.') {
        if (end[1] < '0' || end[1] > '9') {
            return false;
        }
        tenths = (uint32_t)(end[1] - '0');
    }
    *ret_permille = whole == 100 ? 1000 : (uint32_t)whole * 10 + tenths;
    return true;
}

/* Returns the text behind @key in the line at @line, or NULL. */
static const char *find_value(const char *line, const char *key)
{
    const char *end = line + strcspn(line, "\n");
    const char *at = strstr(line, key);

    return at && at < end ? at + strlen(key) : NULL;
}

/* Returns the line that begins with @word, or NULL. */
static const char *find_line(const char *text, const char *word)
{
    const size_t n = strlen(word);

    for (const char *line = text; *line; line += *line == '\n') {
        if (strncmp(line, word, n) == 0) {
            return line;
        }
        line += strcspn(line, "\n");
    }
    return NULL;
}

int psi_parse(const char *text, struct psi *ret_psi)
{
    const char *some = find_line(text, "some ");
    const char *full = find_line(text, "full ");
    const char *share = some ? find_value(some, "avg10=") : NULL;
    const char *total = some ? find_value(some, "total=") : NULL;
    const char *full_share = full ? find_value(full, "avg10=") : NULL;
    struct psi psi = { 0 };
    char *end;

    if (!share || !total || !parse_percent(share, &psi.some_permille)) {
        return -EPROTO;
    }
    if (full_share && !parse_percent(full_share, &psi.full_permille)) {
        return -EPROTO;
    }
    if (*total < '0' || *total > '9') {
        return -EPROTO;
    }
    errno = 0;
    psi.some_us = strtoull(total, &end, 10);
    if (errno || (*end && *end != '\n')) {
        return -EPROTO;
    }
    *ret_psi = psi;
    return 0;
}

static void read_psi(struct source *source, uint64_t now_us, struct reading *ret_reading)
{
    struct psi psi = { 0 };
    char text[PSI_BYTES];
    size_t n;
    int r = root_read(source->root, PSI_PATH, text, sizeof(text), &n);

    if (!r) {
        r = psi_parse(text, &psi);
    }
    source_give(source, r, psi.some_permille, now_us, ret_reading);
}

static const struct source_table psi_table = { .kind = "psi", .read = read_psi };

int psi_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources)
{
    struct source *source;

    if (source_find(sources, psi_table.kind, PSI_PATH) || !root_has(root, PSI_PATH)) {
        return 0;
    }
    source = source_create(sizeof(*source), &psi_table, READING_MEMORY_PRESSURE, root);
    if (!source) {
        return err_new(-ENOMEM);
    }
    label_set(source->name, "psi memory");
    label_set(source->id, PSI_PATH);
    label_set(source->path, PSI_PATH);
    label_set(source->why, "the kernel's own accounting");
    list_append(sources, &source->link);
    return 0;
}
