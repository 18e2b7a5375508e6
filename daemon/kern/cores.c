/*
 * Cores: affinity and control groups
 *
 * A process is in one group of the unified tree (version 2: a line "0::/path") and may be in one of the cpu
 * controller's tree (version 1: "4:cpu,cpuacct:/path"). In a container the path is often one that only the host
 * sees; then the walk upwards from it still ends at the group that is mounted here. A file that can't be read sets no
 * limit, and one capacity that can't be read makes all equal.
 */
#include "kern/cores.h"

#include "base/clean.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads the beginning of a small file as text. */
static bool read_text(const char *path, char *text, size_t cap)
{
    cleanup(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    ssize_t got;

    if (fd < 0) {
        return false;
    }
    while (n < cap - 1 && (got = read(fd, text + n, cap - 1 - n)) > 0) {
        n += (size_t)got;
    }
    text[n] = '\0';
    return n > 0;
}

/* Reads "<dir>/<name>". */
static bool read_in(const char *dir, const char *name, char *text, size_t cap)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", dir, name);

    return n > 0 && (size_t)n < sizeof(path) && read_text(path, text, cap);
}

/* Returns the whole processors of @quota_us in each @period_us; UINT32_MAX: no limit. */
static uint32_t whole(long long quota_us, long long period_us)
{
    long long n;

    if (quota_us <= 0 || period_us <= 0) {
        return UINT32_MAX;
    }
    n = quota_us / period_us;
    if (n < 1) {
        return 1;
    }
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* Version 2: the file holds "150000 100000", or "max 100000". */
static uint32_t quota_v2(const char *dir)
{
    char text[64];
    long long quota_us, period_us;

    if (!read_in(dir, "cpu.max", text, sizeof(text)) || sscanf(text, "%lld %lld", &quota_us, &period_us) != 2) {
        return UINT32_MAX;
    }
    return whole(quota_us, period_us);
}

/* Version 1: there are two files; a quota of -1 means none. */
static uint32_t quota_v1(const char *dir)
{
    char quota[32];
    char period[32];

    if (!read_in(dir, "cpu.cfs_quota_us", quota, sizeof(quota)) ||
        !read_in(dir, "cpu.cfs_period_us", period, sizeof(period))) {
        return UINT32_MAX;
    }
    return whole(strtoll(quota, NULL, 10), strtoll(period, NULL, 10));
}

/* Returns the least quota of the group @path below @mount and all its parents. */
static uint32_t least(const char *mount, const char *path, uint32_t (*quota)(const char *dir))
{
    char dir[PATH_MAX];
    const size_t n_mount = strlen(mount);
    int n = snprintf(dir, sizeof(dir), "%s%s", mount, path);
    uint32_t min = UINT32_MAX;

    if (n < 0 || (size_t)n >= sizeof(dir)) {
        return UINT32_MAX;
    }
    for (;;) {
        uint32_t here = quota(dir);
        char *slash = strrchr(dir + n_mount, '/');

        min = here < min ? here : min;
        if (!slash) {
            return min;
        }
        *slash = '\0';
    }
}

/* Returns whether @word is one of the names in the list "a,b,c" of @n bytes. */
static bool lists(const char *names, size_t n, const char *word)
{
    const size_t n_word = strlen(word);

    for (size_t at = 0; at <= n;) {
        const char *comma = memchr(names + at, ',', n - at);
        size_t n_name = comma ? (size_t)(comma - names) - at : n - at;

        if (n_name == n_word && memcmp(names + at, word, n_word) == 0) {
            return true;
        }
        at += n_name + 1;
    }
    return false;
}

/* Returns the quota of one line of /proc/self/cgroup: "number:controllers:/path". */
static uint32_t quota_of_line(const char *root, const char *line)
{
    /* The trees may be mounted alone, beside those of version 1, or joined with cpuacct. */
    static const char *const mounts_v2[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
    static const char *const mounts_v1[] = { "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu" };
    const char *names = strchr(line, ':');
    const char *path = names ? strchr(names + 1, ':') : NULL;
    uint32_t min = UINT32_MAX;

    if (!path) {
        return UINT32_MAX;
    }
    names++;
    path++;
    for (size_t i = 0; i < COUNTOF(mounts_v2); i++) {
        char mount[PATH_MAX];
        uint32_t here = UINT32_MAX;
        const size_t n_names = (size_t)(path - 1 - names);

        if (n_names == 0) {
            snprintf(mount, sizeof(mount), "%s%s", root, mounts_v2[i]);
            here = least(mount, path, quota_v2);
        } else if (lists(names, n_names, "cpu")) {
            snprintf(mount, sizeof(mount), "%s%s", root, mounts_v1[i]);
            here = least(mount, path, quota_v1);
        }
        min = here < min ? here : min;
    }
    return min;
}

uint32_t cores_quota(const char *root)
{
    char proc[PATH_MAX];
    char text[8192];
    char *rest = NULL;
    uint32_t min = UINT32_MAX;

    snprintf(proc, sizeof(proc), "%s/proc/self/cgroup", root);
    if (!read_text(proc, text, sizeof(text))) {
        return UINT32_MAX;
    }
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        uint32_t here = quota_of_line(root, line);

        min = here < min ? here : min;
    }
    return min;
}

/* ---- capacities ---- */

static bool has(const struct cores_set *set, uint32_t cpu)
{
    return CPU_ISSET_S(cpu, sizeof(*set), set->words);
}

static void put(struct cores_set *set, uint32_t cpu)
{
    CPU_SET_S(cpu, sizeof(*set), set->words);
}

/* Returns the capacity of core @cpu; 0: unknown. */
static uint32_t capacity_of(const char *root, uint32_t cpu)
{
    char path[PATH_MAX];
    char text[32];
    long capacity;

    snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu%u/cpu_capacity", root, cpu);
    if (!read_text(path, text, sizeof(text))) {
        return 0;
    }
    capacity = strtol(text, NULL, 10);
    return capacity > 0 && capacity <= INT_MAX ? (uint32_t)capacity : 0;
}

/* Returns the largest capacity among @set, at most @most; 0: unknown of one, or there is none. */
static uint32_t largest(const struct cores_set *set, const char *root, uint32_t most)
{
    uint32_t top = 0;

    for (uint32_t cpu = 0; cpu < CORES_MAX; cpu++) {
        uint32_t capacity = has(set, cpu) ? capacity_of(root, cpu) : 0;

        if (has(set, cpu) && capacity == 0) {
            return 0;
        }
        top = capacity <= most && capacity > top ? capacity : top;
    }
    return top;
}

/* Chooses those of @allowed with a capacity of at least @least. */
static void choose(struct cores *cores, const char *root, const struct cores_set *allowed, uint32_t least)
{
    memset(&cores->chosen, 0, sizeof(cores->chosen));
    memset(&cores->left, 0, sizeof(cores->left));
    for (uint32_t cpu = 0; cpu < CORES_MAX; cpu++) {
        if (has(allowed, cpu)) {
            put(least == 0 || capacity_of(root, cpu) >= least ? &cores->chosen : &cores->left, cpu);
        }
    }
    cores->n_chosen = (uint32_t)CPU_COUNT_S(sizeof(cores->chosen), cores->chosen.words);
    cores->n_left = (uint32_t)CPU_COUNT_S(sizeof(cores->left), cores->left.words);
}

void cores_choose(struct cores *ret_cores, const char *root, const struct cores_set *allowed, uint32_t n_threads)
{
    struct cores_set own = { 0 };
    uint32_t least;

    if (!allowed && sched_getaffinity(0, sizeof(own), own.words) != 0) {
        memset(&own, 0, sizeof(own));
    }
    allowed = allowed ? allowed : &own;
    *ret_cores = (struct cores){ .quota = cores_quota(root) };
    least = largest(allowed, root, UINT32_MAX);
    least = least / 2 + least % 2;
    choose(ret_cores, root, allowed, least);
    while (n_threads > ret_cores->n_chosen && ret_cores->n_left > 0) {
        least = largest(allowed, root, least - 1);
        choose(ret_cores, root, allowed, least);
    }
    ret_cores->n_at_once = ret_cores->n_chosen > 0 ? ret_cores->n_chosen : 1;
    ret_cores->n_at_once = ret_cores->n_at_once < ret_cores->quota ? ret_cores->n_at_once : ret_cores->quota;
    ret_cores->n_threads = n_threads > 0 ? n_threads : ret_cores->n_at_once;
}

void cores_bind(const struct cores *cores, pthread_t thread)
{
    if (cores->n_left > 0) {
        pthread_setaffinity_np(thread, sizeof(cores->chosen), cores->chosen.words);
    }
}

/* ---- words ---- */

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t cap, const char *format, ...)
{
    const size_t n = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + n, cap - n, format, args);
    va_end(args);
}

/* Appends "0-3,6". */
static void append_set(char *text, size_t cap, const struct cores_set *set)
{
    const char *comma = "";

    for (uint32_t cpu = 0; cpu < CORES_MAX; cpu++) {
        uint32_t last = cpu;

        if (!has(set, cpu)) {
            continue;
        }
        while (last + 1 < CORES_MAX && has(set, last + 1)) {
            last++;
        }
        append(text, cap, "%s%u", comma, cpu);
        if (last > cpu) {
            append(text, cap, "-%u", last);
        }
        comma = ",";
        cpu = last;
    }
}

void cores_describe(const struct cores *cores, char *text, size_t cap)
{
    text[0] = '\0';
    append(text, cap, "%u %s on %s ", cores->n_threads, cores->n_threads == 1 ? "thread" : "threads",
           cores->n_chosen == 1 ? "core" : "cores");
    append_set(text, cap, &cores->chosen);
    if (cores->n_left > 0) {
        append(text, cap, "; %u slower %s (", cores->n_left, cores->n_left == 1 ? "core" : "cores");
        append_set(text, cap, &cores->left);
        append(text, cap, ") %s left to others", cores->n_left == 1 ? "is" : "are");
    }
    if (cores->quota < cores->n_chosen) {
        append(text, cap, "; the control group's quota allows %u at once", cores->quota);
    }
}
