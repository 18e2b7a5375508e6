/*
 * On the machine everything is opened from one descriptor of /proc, by short names; in a tree of files through its
 * root, which stages faults. Links of descriptors are read as text and never followed before the text names a DRM
 * node: stat() on a file of a dead server would hang.
 */
#include "load/proc.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "load/fdinfo_parse.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DRM_MAJOR 226u

/* Flag of a kernel thread in /proc/PID/stat (PF_KTHREAD). */
#define KERNEL_THREAD 0x00200000u

/* As many processes as Linux allows by default. */
#define PIDS_MAX 32768u

#define MINORS_MAX 4u

/* What the kernel fills at one time when it lists a folder. */
#define ENTRIES_BYTES 32768u

/* "4194304/fdinfo/1048576" and the like. */
#define NAME_BYTES 64u

enum {
    COST_LINK = 1,
    COST_OPEN = 4,
    COST_PAGE = 4,
};

struct proc {
    const struct root *root;
    int fd; /* of /proc; -1: not open */
    uint32_t self;
    uint32_t minors[MINORS_MAX];
    uint32_t n_minors;
    uint32_t *pids; /* owned; of the walk under way */
    uint32_t n_pids;
    uint32_t cap_pids;
    uint32_t at; /* next of them */
    struct proc_counts counts;
    char *entries; /* owned, ENTRIES_BYTES */
    char *text;    /* owned, FDINFO_BYTES_MAX + 1 */
};

/* Of a walk over one process. */
struct visit {
    struct proc *proc;
    uint32_t pid;
    int fd; /* of its folder of descriptors */
    uint32_t cost;
    uint32_t n_links;
    bool is_refused;
    proc_fn found;
    void *context;
};

static void destroyp(struct proc **proc)
{
    proc_destroy(*proc);
}

int proc_create(struct proc **ret_proc, const struct root *root, const uint32_t *minors, uint32_t n_minors)
{
    cleanup(destroyp) struct proc *proc = mem_calloc(MEM_MISC, 1, sizeof(*proc));

    if (!proc) {
        return err_new(-ENOMEM);
    }
    proc->root = root;
    proc->fd = -1;
    proc->self = root->is_machine ? (uint32_t)getpid() : 0;
    proc_set_minors(proc, minors, n_minors);
    proc->entries = mem_alloc(MEM_MISC, ENTRIES_BYTES);
    proc->text = mem_alloc(MEM_MISC, FDINFO_BYTES_MAX + 1);
    if (!proc->entries || !proc->text) {
        return err_new(-ENOMEM);
    }
    *ret_proc = steal(&proc);
    return 0;
}

void proc_set_minors(struct proc *proc, const uint32_t *minors, uint32_t n_minors)
{
    assert(n_minors <= MINORS_MAX);
    for (uint32_t i = 0; i < n_minors; i++) {
        proc->minors[i] = minors[i];
    }
    proc->n_minors = n_minors;
}

void proc_destroy(struct proc *proc)
{
    if (proc) {
        fd_closep(&proc->fd);
        mem_free(proc->pids);
        mem_free(proc->entries);
        mem_free(proc->text);
        mem_free(proc);
    }
}

/* A descriptor of @name below /proc, or -errno. */
static int open_name(struct proc *proc, const char *name, int flags)
{
    char path[NAME_BYTES + sizeof("/proc/")];
    int fd;
    int r;

    if (proc->root->is_machine) {
        fd = openat(proc->fd, name, flags | O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
    }
    snprintf(path, sizeof(path), "/proc/%s", name);
    r = root_open_file(proc->root, path, &fd);
    return r ? r : fd;
}

/* A number without anything else, or false. */
static bool parse_id(const char *name, uint32_t *ret_id)
{
    uint64_t id = 0;

    if (*name == '\0') {
        return false;
    }
    for (; *name; name++) {
        if (*name < '0' || *name > '9' || id > INT32_MAX) {
            return false;
        }
        id = id * 10 + (uint64_t)(*name - '0');
    }
    *ret_id = (uint32_t)id;
    return id <= INT32_MAX;
}

typedef bool (*entry_fn)(void *context, const char *name);

/* Every name in the folder @fd, until @entry says no. 0 or -errno. */
static int list(struct proc *proc, int fd, entry_fn entry, void *context)
{
    for (;;) {
        const ssize_t n = getdents64(fd, proc->entries, ENTRIES_BYTES);

        if (n <= 0) {
            return n < 0 ? -errno : 0;
        }
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *dirent = (const struct dirent64 *)(const void *)(proc->entries + at);

            if (!entry(context, dirent->d_name)) {
                return 0;
            }
            at += dirent->d_reclen;
        }
    }
}

static bool add_pid(void *context, const char *name)
{
    struct proc *proc = context;
    uint32_t pid;

    if (!parse_id(name, &pid)) {
        return true;
    }
    if (proc->n_pids == proc->cap_pids) {
        const uint32_t cap = proc->cap_pids ? proc->cap_pids * 2 : 512;
        uint32_t *pids = cap <= PIDS_MAX ? mem_realloc(MEM_MISC, proc->pids, cap * sizeof(*pids)) : NULL;

        if (!pids) {
            proc->counts.n_refused++; /* one that nobody looks at */
            return true;
        }
        proc->pids = pids;
        proc->cap_pids = cap;
    }
    proc->pids[proc->n_pids++] = pid;
    return true;
}

int proc_begin(struct proc *proc)
{
    int r;

    proc->n_pids = 0;
    proc->at = 0;
    proc->counts = (struct proc_counts){ .is_hidden = true };
    if (proc->fd >= 0 && proc->root->is_machine) {
        if (lseek(proc->fd, 0, SEEK_SET) < 0) {
            return err_new(-errno);
        }
    } else {
        fd_closep(&proc->fd);
        r = root_open_file(proc->root, "/proc", &proc->fd);
        if (r) {
            return r;
        }
    }
    r = list(proc, proc->fd, add_pid, proc);
    if (r) {
        return r;
    }
    for (uint32_t i = 0; i < proc->n_pids; i++) {
        proc->counts.is_hidden &= proc->pids[i] != 1;
    }
    proc->counts.is_empty = proc->n_pids == 0 && proc->counts.n_refused == 0;
    return 0;
}

/* Whole of @fd from its beginning. 0, -EFBIG or -errno. */
static int read_all(struct proc *proc, int fd, size_t *ret_n)
{
    size_t n = 0;

    while (n <= FDINFO_BYTES_MAX) {
        const ssize_t got = pread(fd, proc->text + n, FDINFO_BYTES_MAX + 1 - n, (off_t)n);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -errno;
        }
        if (got == 0) {
            *ret_n = n;
            return 0;
        }
        n += (size_t)got;
    }
    return -EFBIG;
}

/* The process, or the descriptor, has gone in the meantime. */
static int map_gone(int r)
{
    return r == -ESRCH ? -ENOENT : r;
}

int proc_read(struct proc *proc, uint32_t pid, uint32_t fd, int *cached_fd, const char **ret_text, size_t *ret_n)
{
    cleanup(fd_closep) int opened = cached_fd ? fd_steal(cached_fd) : -1;
    char name[NAME_BYTES];
    int r;

    if (opened < 0) {
        snprintf(name, sizeof(name), "%u/fdinfo/%u", pid, fd);
        opened = open_name(proc, name, 0);
        if (opened < 0) {
            return map_gone(opened);
        }
    }
    r = read_all(proc, opened, ret_n);
    if (r) {
        return map_gone(r);
    }
    *ret_text = proc->text;
    /* A tree's files are opened anew each time, so that it can change as a machine does. */
    if (cached_fd && proc->root->is_machine) {
        *cached_fd = fd_steal(&opened);
    }
    return 0;
}

/* The small file @name, ended by a 0, in proc->text. False: it can't be read. */
static bool read_small(struct proc *proc, const char *name)
{
    cleanup(fd_closep) int fd = open_name(proc, name, 0);
    size_t n;

    if (fd < 0 || read_all(proc, fd, &n) != 0) {
        return false;
    }
    proc->text[n < FDINFO_BYTES_MAX ? n : FDINFO_BYTES_MAX] = '\0';
    return true;
}

void proc_name(struct proc *proc, uint32_t pid, char *name, size_t cap)
{
    char path[NAME_BYTES];

    snprintf(path, sizeof(path), "%u/comm", pid);
    name[0] = '\0';
    if (read_small(proc, path)) {
        proc->text[strcspn(proc->text, "\n")] = '\0';
        snprintf(name, cap, "%s", proc->text);
    }
}

/* Kernel threads have no descriptors, and look as forbidden as anybody else. */
static bool is_kernel_thread(struct proc *proc, uint32_t pid)
{
    const char *end;
    char path[NAME_BYTES];
    unsigned long flags;

    snprintf(path, sizeof(path), "%u/stat", pid);
    if (!read_small(proc, path)) {
        return false;
    }
    end = strrchr(proc->text, ')'); /* the name may have anything in it */
    return end && sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %lu", &flags) == 1 && (flags & KERNEL_THREAD);
}

/* "/dev/dri/renderD128", below whatever a container sees as its /dev. */
static bool parse_node(const char *text, uint32_t *ret_minor)
{
    static const char *const heads[] = { "renderD", "card" };
    const char *dri = strstr(text, "/dri/");
    char number[16];
    size_t n;

    if (!dri) {
        return false;
    }
    dri += strlen("/dri/");
    for (size_t i = 0; i < COUNTOF(heads); i++) {
        const size_t n_head = strlen(heads[i]);

        if (strncmp(dri, heads[i], n_head) != 0) {
            continue;
        }
        n = strspn(dri + n_head, "0123456789");
        if (n >= sizeof(number) || (dri[n_head + n] && strcmp(dri + n_head + n, " (deleted)") != 0)) {
            return false;
        }
        memcpy(number, dri + n_head, n);
        number[n] = '\0';
        return parse_id(number, ret_minor);
    }
    return false;
}

static bool is_ours(const struct visit *visit, const char *name, const char *link)
{
    const struct proc *proc = visit->proc;
    struct stat st;
    uint32_t node;

    if (!parse_node(link, &node)) {
        return false;
    }
    /* Names may lie (a container's own /dev); numbers don't. */
    if (proc->root->is_machine && fstatat(visit->fd, name, &st, 0) == 0 && S_ISCHR(st.st_mode)) {
        if (major(st.st_rdev) != DRM_MAJOR) {
            return false;
        }
        node = minor(st.st_rdev);
    }
    for (uint32_t i = 0; i < proc->n_minors; i++) {
        if (proc->minors[i] == node) {
            return true;
        }
    }
    return false;
}

static bool visit_descriptor(void *context, const char *name)
{
    struct visit *visit = context;
    struct proc *proc = visit->proc;
    char link[128];
    const char *text;
    uint32_t fd;
    size_t n_text;
    ssize_t n;
    int r;

    if (!parse_id(name, &fd)) {
        return true;
    }
    if (visit->n_links++ == PROC_LINKS_MAX) {
        visit->is_refused = true;
        return false;
    }
    visit->cost += COST_LINK;
    n = readlinkat(visit->fd, name, link, sizeof(link) - 1);
    if (n < 0) {
        visit->is_refused = errno == EACCES || errno == EPERM;
        return !visit->is_refused;
    }
    link[n] = '\0';
    if (link[0] != '/' || !is_ours(visit, name, link)) {
        return true;
    }
    r = proc_read(proc, visit->pid, fd, NULL, &text, &n_text);
    if (r == -ENOENT) {
        return true;
    }
    visit->cost += COST_OPEN + COST_PAGE;
    if (r) {
        proc->counts.n_unread++;
        return true;
    }
    visit->cost += (uint32_t)(n_text / 4096) * COST_PAGE;
    proc->counts.n_read++;
    visit->found(visit->context, visit->pid, fd, text, n_text);
    return true;
}

static uint32_t visit_process(struct proc *proc, uint32_t pid, proc_fn found, void *context)
{
    struct visit visit = { .proc = proc, .pid = pid, .cost = COST_OPEN, .found = found, .context = context };
    cleanup(fd_closep) int fd = -1;
    char name[NAME_BYTES];
    int r;

    snprintf(name, sizeof(name), "%u/fd", pid);
    fd = open_name(proc, name, O_DIRECTORY);
    visit.fd = fd;
    r = fd < 0 ? map_gone(fd) : list(proc, fd, visit_descriptor, &visit);
    if (r == -ENOENT) {
        return visit.cost; /* it ended */
    }
    if (r || visit.is_refused) {
        proc->counts.n_refused += !is_kernel_thread(proc, pid);
        return visit.cost + COST_OPEN;
    }
    proc->counts.n_visited += visit.n_links > 0 && pid != proc->self;
    return visit.cost;
}

bool proc_continue(struct proc *proc, uint32_t budget, proc_fn found, void *context, struct proc_counts *ret_counts)
{
    uint32_t cost = 0;

    while (proc->at < proc->n_pids && cost < budget) {
        cost += visit_process(proc, proc->pids[proc->at++], found, context);
    }
    if (proc->at < proc->n_pids) {
        return false;
    }
    *ret_counts = proc->counts;
    return true;
}
