#include "record/record_process.h"
#include "base/clean.h"
#include "memory/memory.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Flag of a kernel thread in /proc/PID/stat (PF_KTHREAD). */
#define KERNEL_THREAD 0x00200000lu

/* Prefixes of GPU nodes, as links of descriptors show them. */
static const char *const nodes[] = { "/dev/dri/", "/dev/kgsl-3d0", "/dev/mali" };

static bool is_gpu(const char *target)
{
    for (size_t i = 0; i < COUNTOF(nodes); i++) {
        if (strncmp(target, nodes[i], strlen(nodes[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Removes the lines that begin with @key from @text. Returns the new length. */
static size_t drop_lines(char *text, size_t n, const char *key)
{
    const size_t n_key = strlen(key);
    size_t to = 0;

    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        const size_t n_line = end ? (size_t)(end - text) - at + 1 : n - at;

        if (n_line < n_key || memcmp(text + at, key, n_key) != 0) {
            memmove(text + to, text + at, n_line);
            to += n_line;
        }
        at += n_line;
    }
    return to;
}

static void copy_fdinfo(struct copy *copy, const char *path)
{
    size_t n;
    int r = root_read(copy->from, path, copy->text, COPY_FILE_BYTES, &n);

    if (r == -ENOENT) {
        return;
    }
    if (r) {
        copy_put_fault(copy, path, r, false);
        return;
    }
    n = drop_lines(copy->text, n, "drm-client-name");
    copy_put(copy, path, copy->text, n);
}

/* Copies one descriptor of the process at @folder ("/proc/77/fd"). */
static void copy_descriptor(struct copy *copy, const char *folder, const char *name)
{
    const size_t n_process = strlen(folder) - strlen("/fd");
    char path[PATH_MAX];
    char target[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (root_read_link(copy->from, path, target, sizeof(target)) != 0 || !is_gpu(target)) {
        return;
    }
    copy_put_link(copy, path, target);
    snprintf(path, sizeof(path), "%.*s/fdinfo/%s", (int)n_process, folder, name);
    copy_fdinfo(copy, path);
    snprintf(path, sizeof(path), "%.*s/comm", (int)n_process, folder);
    copy_file(copy, path);
}

static bool is_kernel_thread(const struct copy *copy, const char *process)
{
    unsigned long flags;
    const char *end;
    char path[64];
    char text[1024];
    size_t n;

    snprintf(path, sizeof(path), "%s/stat", process);
    if (root_read(copy->from, path, text, sizeof(text), &n) != 0) {
        return false;
    }
    end = strrchr(text, ')'); /* the name before it may contain anything */
    return end && sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %lu", &flags) == 1 && (flags & KERNEL_THREAD);
}

static void copy_process(struct copy *copy, const char *folder, const char *name)
{
    char process[32];
    char path[48];
    DIR *dir;
    int r;

    if (strspn(name, "0123456789") != strlen(name) || strlen(name) > 10) {
        return;
    }
    snprintf(process, sizeof(process), "/proc/%.10s", name);
    if (is_kernel_thread(copy, process)) {
        return;
    }
    snprintf(path, sizeof(path), "%s/fd", process);
    r = root_open_folder(copy->from, path, &dir);
    if (r == -ENOENT) {
        return; /* it has ended meanwhile */
    }
    if (r) {
        copy_put_fault(copy, path, r, true);
        return;
    }
    closedir(dir);
    copy_put_folder(copy, path);
    copy_each(copy, path, copy_descriptor);
}

void record_processes(struct copy *copy)
{
    copy_each(copy, "/proc", copy_process);
}

/* A version of control groups: where it is mounted, and its memory files. */
static const struct {
    const char *controller; /* in /proc/PID/cgroup; "" is version 2 */
    const char *mounts[2];
    const char *files[4];
    const char *line; /* beginning of the line that we write */
} versions[] = {
    {
        .controller = "",
        .mounts = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" },
        .files = { "memory.max", "memory.high", "memory.current", "memory.stat" },
        .line = "0::",
    },
    {
        .controller = "memory",
        .mounts = { "/sys/fs/cgroup/memory", NULL },
        .files = { "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat", NULL },
        .line = "1:memory:",
    },
};

/* Copies the files of the group @from to the group named @to. */
static void copy_group(struct copy *copy, const char *from, const char *to, size_t version)
{
    for (size_t i = 0; i < COUNTOF(versions[version].files) && versions[version].files[i]; i++) {
        char path[PATH_MAX];
        size_t n;
        int r;

        if ((size_t)snprintf(path, sizeof(path), "%s/%s", from, versions[version].files[i]) >= sizeof(path)) {
            return;
        }
        r = root_read(copy->from, path, copy->text, COPY_FILE_BYTES, &n);
        if (r == -ENOENT) {
            continue;
        }
        snprintf(path, sizeof(path), "%.200s/%s", to, versions[version].files[i]);
        if (r) {
            copy_put_fault(copy, path, r, false);
        } else {
            copy_put(copy, path, copy->text, n);
        }
    }
}

/* Returns the depth of the group @path: "/a/b" has 2. */
static uint32_t depth_of(const char *path)
{
    uint32_t n = 0;

    for (; *path; path++) {
        n += path[0] == '/' && path[1];
    }
    return n;
}

/* Copies all levels of @group below @mount; the one at depth 2 becomes "/1/2". */
static void copy_levels(struct copy *copy, const char *mount, const char *group, size_t version, char *name)
{
    const size_t n_mount = strlen(mount);
    const uint32_t depth = depth_of(group) < 16 ? depth_of(group) : 16;
    char from[PATH_MAX];
    size_t n = 0;
    size_t at;

    name[0] = '\0';
    if ((size_t)snprintf(from, sizeof(from), "%s%s", mount, group) >= sizeof(from)) {
        return;
    }
    at = n_mount;
    for (uint32_t level = 0; level <= depth; level++) {
        char to[256];
        char kept;

        if (level > 0) {
            at += 1 + strcspn(from + at + 1, "/");
            n += (size_t)snprintf(name + n, 64 - n, "/%u", level);
        }
        kept = from[at];
        from[at] = '\0';
        snprintf(to, sizeof(to), "%s%s", mount, name);
        copy_group(copy, from, to, version);
        from[at] = kept;
    }
}

void record_groups(struct copy *copy)
{
    char text[PATH_MAX];
    char lines[256];
    size_t n_lines = 0;
    size_t n;

    if (root_read(copy->from, "/proc/self/cgroup", text, sizeof(text), &n) != 0) {
        return;
    }
    lines[0] = '\0';
    for (size_t i = 0; i < COUNTOF(versions); i++) {
        char group[PATH_MAX];
        char name[64] = "";

        if (!memory_find_group(text, versions[i].controller, group, sizeof(group))) {
            continue;
        }
        for (size_t j = 0; j < COUNTOF(versions[i].mounts) && versions[i].mounts[j]; j++) {
            if (root_has(copy->from, versions[i].mounts[j])) {
                copy_levels(copy, versions[i].mounts[j], group, i, name);
            }
        }
        n_lines += (size_t)snprintf(lines + n_lines, sizeof(lines) - n_lines, "%s%s\n", versions[i].line,
                                    name[0] ? name : "/");
    }
    copy_put(copy, "/proc/self/cgroup", lines, n_lines);
}
