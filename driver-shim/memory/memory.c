/*
 * MemAvailable is the kernel's own estimate. There is none for control groups, so it is computed: what is left below
 * the limit, plus the file pages on the inactive list, which the kernel drops first when the group reaches its limit.
 */
#include "memory/memory.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "sysfs/label.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMINFO_PATH "/proc/meminfo"

/* meminfo has some 60 lines; memory.stat some 80, and twice that in a hierarchy of version 1. */
#define TEXT_BYTES 16384u

/* Version 1 writes the largest multiple of a page for "no limit"; no machine has half an exabyte. */
#define V1_NO_LIMIT (UINT64_C(1) << 60)

/* Depth to which groups are followed. */
#define LEVELS_MAX 64

/* Parses at most 19 digits. False: none. */
static bool parse_digits(const char *text, uint64_t *ret_number)
{
    char *end;
    unsigned long long number;

    if (!isdigit((unsigned char)*text)) {
        return false;
    }
    errno = 0;
    number = strtoull(text, &end, 10);
    if (errno || (*end && !isspace((unsigned char)*end))) {
        return false;
    }
    *ret_number = number;
    return true;
}

bool memory_find(const char *text, const char *key, uint64_t *ret_number)
{
    const size_t n = strlen(key);

    for (const char *line = text; *line; line += *line == '\n') {
        if (strncmp(line, key, n) == 0 && (line[n] == ':' || line[n] == ' ')) {
            const char *number = line + n + 1;

            number += strspn(number, " \t");
            return parse_digits(number, ret_number);
        }
        line += strcspn(line, "\n");
    }
    return false;
}

bool memory_parse_limit(const char *text, uint64_t *ret_bytes)
{
    uint64_t bytes;

    if (strncmp(text, "max", 3) == 0 && (!text[3] || isspace((unsigned char)text[3]))) {
        *ret_bytes = MEMORY_NO_LIMIT;
        return true;
    }
    if (!parse_digits(text, &bytes)) {
        return false;
    }
    *ret_bytes = bytes >= V1_NO_LIMIT ? MEMORY_NO_LIMIT : bytes;
    return true;
}

/* Returns true if the comma-separated @list of @n bytes contains @word. */
static bool list_names(const char *list, size_t n, const char *word)
{
    const size_t n_word = strlen(word);

    for (size_t at = 0; at <= n;) {
        const char *comma = memchr(list + at, ',', n - at);
        size_t n_part = comma ? (size_t)(comma - list) - at : n - at;

        if (n_part == n_word && memcmp(list + at, word, n_word) == 0) {
            return true;
        }
        at += n_part + 1;
    }
    return false;
}

bool memory_find_group(const char *text, const char *controller, char *path, size_t cap)
{
    for (const char *line = text; *line; line += *line == '\n') {
        const char *end = line + strcspn(line, "\n");
        const char *list = memchr(line, ':', (size_t)(end - line));
        const char *group = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;

        if (group && list_names(list + 1, (size_t)(group - list - 1), controller) &&
            (controller[0] || list == line + 1) && (controller[0] || line[0] == '0')) {
            size_t n = (size_t)(end - group - 1);

            if (n == 0 || n >= cap || group[1] != '/') {
                return false;
            }
            memcpy(path, group + 1, n);
            path[n] = '\0';
            return true;
        }
        line = end;
    }
    return false;
}

/* Names that a version of control groups uses. */
struct group_words {
    const char *controller; /* in /proc/PID/cgroup; "" is version 2's "0::" */
    const char *mounts[3];  /* mount points; the first that exists counts */
    const char *limits[2];  /* limit files */
    const char *used;
    const char *inactive; /* key in memory.stat */
};

static const struct group_words versions[] = {
    {
        .controller = "",
        .mounts = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified", NULL },
        .limits = { "memory.max", "memory.high" },
        .used = "memory.current",
        .inactive = "inactive_file",
    },
    {
        .controller = "memory",
        .mounts = { "/sys/fs/cgroup/memory", NULL, NULL },
        .limits = { "memory.limit_in_bytes", NULL },
        .used = "memory.usage_in_bytes",
        .inactive = "total_inactive_file",
    },
};

/* Reads the bytes in the file @name of the group @folder; false: it does not exist, or holds no number. */
static bool read_bytes(const struct root *root, const char *folder, const char *name, uint64_t *ret_bytes)
{
    char path[PATH_MAX];
    char word[64];

    return (size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) < sizeof(path) &&
           root_read_word(root, path, word, sizeof(word)) == 0 && memory_parse_limit(word, ret_bytes);
}

/* Returns the bytes that the kernel drops first; 0: unknown. */
static uint64_t read_droppable(const struct root *root, const char *folder, const char *key)
{
    cleanup(mem_freep) char *text = mem_alloc(MEM_MISC, TEXT_BYTES);
    char path[PATH_MAX];
    uint64_t bytes = 0;
    size_t n;

    if (!text || (size_t)snprintf(path, sizeof(path), "%s/memory.stat", folder) >= sizeof(path) ||
        root_read(root, path, text, TEXT_BYTES, &n) != 0 || !memory_find(text, key, &bytes)) {
        return 0;
    }
    return bytes;
}

/* Takes one group: lowers what is available in @memory if this group leaves less. */
static void take_group(const struct root *root, const char *folder, const struct group_words *words,
                       struct memory *memory)
{
    uint64_t limit = MEMORY_NO_LIMIT;
    uint64_t used;
    uint64_t left;

    for (size_t i = 0; i < COUNTOF(words->limits) && words->limits[i]; i++) {
        uint64_t bytes;

        if (read_bytes(root, folder, words->limits[i], &bytes)) {
            limit = num_min(limit, bytes);
        }
    }
    if (limit == MEMORY_NO_LIMIT || !read_bytes(root, folder, words->used, &used)) {
        return;
    }
    used -= num_min(used, read_droppable(root, folder, words->inactive));
    left = limit > used ? limit - used : 0;
    memory->group_limit_kb = num_min(memory->group_limit_kb, limit / 1024);
    if (left / 1024 < memory->group_available_kb) {
        memory->group_available_kb = left / 1024;
        snprintf(memory->group, sizeof(memory->group), "%.*s", (int)sizeof(memory->group) - 1, folder);
    }
}

/*
 * Takes the group of the process and all above it, up to the mount point. In a container the path may be one of the
 * host's, which is not visible here; missing levels bound nothing.
 */
static void climb(const struct root *root, const struct group_words *words, const char *group, struct memory *memory)
{
    for (size_t i = 0; words->mounts[i]; i++) {
        const size_t n_mount = strlen(words->mounts[i]);
        char folder[PATH_MAX];

        if (!root_has(root, words->mounts[i]) ||
            (size_t)snprintf(folder, sizeof(folder), "%s%s", words->mounts[i], group) >= sizeof(folder)) {
            continue;
        }
        for (int level = 0; level < LEVELS_MAX; level++) {
            char *slash;

            take_group(root, folder, words, memory);
            slash = strrchr(folder, '/');
            if (!slash || (size_t)(slash - folder) < n_mount) {
                break;
            }
            *slash = '\0';
        }
    }
}

static void read_groups(const struct root *root, uint32_t pid, struct memory *memory)
{
    char text[PATH_MAX];
    char path[48];
    size_t n;

    if (pid == POLICY_NO_PROCESS) {
        return;
    }
    if (pid != POLICY_OWN_PROCESS) {
        snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
    } else {
        snprintf(path, sizeof(path), "/proc/self/cgroup");
    }
    if (root_read(root, path, text, sizeof(text), &n) != 0) {
        return;
    }
    for (size_t i = 0; i < COUNTOF(versions); i++) {
        char group[PATH_MAX];

        if (memory_find_group(text, versions[i].controller, group, sizeof(group))) {
            climb(root, &versions[i], group, memory);
        }
    }
}

int memory_read(const struct root *root, uint32_t pid, struct memory *ret_memory)
{
    cleanup(mem_freep) char *text = mem_alloc(MEM_MISC, TEXT_BYTES);
    struct memory memory = { .group_limit_kb = MEMORY_NO_LIMIT, .group_available_kb = MEMORY_NO_LIMIT };
    size_t n;
    int r;

    if (!text) {
        return err_new(-ENOMEM);
    }
    r = root_read(root, MEMINFO_PATH, text, TEXT_BYTES, &n);
    if (r) {
        return r;
    }
    if (!memory_find(text, "MemTotal", &memory.total_kb) || !memory_find(text, "MemAvailable", &memory.machine_kb) ||
        memory.machine_kb > memory.total_kb) {
        return -EPROTO;
    }
    read_groups(root, pid, &memory);
    memory.available_kb = num_min(memory.machine_kb, memory.group_available_kb);
    if (memory.group_available_kb >= memory.machine_kb) {
        memory.group[0] = '\0';
    }
    *ret_memory = memory;
    return 0;
}

struct memory_source {
    struct source source;
    const struct sensor_policy *policy;
};

static void read_memory(struct source *source, uint64_t now_us, struct reading *ret_reading)
{
    const struct memory_source *own = container_of(source, struct memory_source, source);
    struct memory memory = { 0 };
    int r = memory_read(source->root, own->policy->daemon_pid, &memory);

    source_give(source, r, (int64_t)memory.available_kb, now_us, ret_reading);
}

static const struct source_table memory_table = { .kind = "meminfo", .read = read_memory };

int memory_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources)
{
    struct source *source;

    if (source_find(sources, memory_table.kind, MEMINFO_PATH) || !root_has(root, MEMINFO_PATH)) {
        return 0;
    }
    source = source_create(sizeof(struct memory_source), &memory_table, READING_MEMORY_AVAILABLE, root);
    if (!source) {
        return err_new(-ENOMEM);
    }
    container_of(source, struct memory_source, source)->policy = policy;
    label_set(source->name, "memory");
    label_set(source->id, MEMINFO_PATH);
    label_set(source->path, MEMINFO_PATH);
    label_set(source->why, "available, and what control groups leave");
    list_append(sources, &source->link);
    return 0;
}
