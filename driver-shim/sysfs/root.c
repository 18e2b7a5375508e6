/*
 * A root keeps a descriptor of its folder, and the kernel resolves paths below it (openat2). Where a kernel or a
 * seccomp filter has no openat2, the links are followed here, as text.
 */
#include "sysfs/root.h"
#include "base/clean.h"
#include "base/err.h"
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ERRNO_SUFFIX ".sotto-errno"

/* The kernel's own limit. */
#define LINKS_MAX 40

/* openat2() fails with EAGAIN when anything on the machine is renamed while it resolves "..". */
#define RENAME_TRIES 8

/* A file of one word, number or errno is one page at most: sysfs has no longer ones. */
#define PAGE_BYTES 4096u

#define NUMBER_BYTES 64u /* far more than any 64-bit number and its line end */

int root_open(struct root *ret_root, const char *path)
{
    cleanup(fd_closep) int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct root root = { .fd = -1 };
    struct stat here;
    struct stat top;

    if (fd < 0) {
        return err_new(-errno);
    }
    if (strlen(path) >= sizeof(root.path)) {
        return err_new(-ENAMETOOLONG);
    }
    if (fstat(fd, &here) < 0 || stat("/", &top) < 0) {
        return err_new(-errno);
    }
    snprintf(root.path, sizeof(root.path), "%s", path);
    root.is_machine = here.st_dev == top.st_dev && here.st_ino == top.st_ino;
    root.fd = fd_steal(&fd);
    *ret_root = root;
    return 0;
}

void root_close(struct root *root)
{
    if (root) {
        fd_closep(&root->fd);
    }
}

/* A path being resolved: the part that was followed, and the rest. */
struct walk {
    char done[PATH_MAX]; /* "" is the root; else "/sys/class" */
    char rest[PATH_MAX];
    uint32_t n_links;
};

static void climb(struct walk *walk)
{
    char *slash = strrchr(walk->done, '/');

    if (slash) {
        *slash = '\0';
    }
}

/* Puts @target, the text of a link, in front of the rest. */
static int put_in_front(struct walk *walk, const char *target)
{
    char rest[PATH_MAX];
    int n = snprintf(rest, sizeof(rest), "%s/%s", target, walk->rest);

    if (n < 0 || (size_t)n >= sizeof(rest)) {
        return -ENAMETOOLONG;
    }
    if (target[0] == '/') {
        walk->done[0] = '\0';
    } else {
        climb(walk);
    }
    memcpy(walk->rest, rest, (size_t)n + 1);
    return 0;
}

/* Follows one component, @part. @is_last: nothing comes behind it. */
static int step(const struct root *root, struct walk *walk, const char *part, bool is_last, bool follow_last)
{
    size_t n_done = strlen(walk->done);
    char target[PATH_MAX];
    ssize_t n;

    if (strcmp(part, ".") == 0) {
        return 0;
    }
    if (strcmp(part, "..") == 0) {
        climb(walk);
        return 0;
    }
    if (n_done + 1 + strlen(part) >= sizeof(walk->done)) {
        return -ENAMETOOLONG;
    }
    snprintf(walk->done + n_done, sizeof(walk->done) - n_done, "/%s", part);
    if (is_last && !follow_last) {
        return 0;
    }
    n = readlinkat(root->fd, walk->done + 1, target, sizeof(target) - 1);
    if (n < 0) {
        return errno == EINVAL ? 0 : -errno; /* EINVAL: not a link */
    }
    if (++walk->n_links > LINKS_MAX) {
        return -ELOOP;
    }
    target[n] = '\0';
    return put_in_front(walk, target);
}

/* Resolves @path in user space; the result is @walk->done. */
static int follow(const struct root *root, const char *path, bool follow_last, struct walk *walk)
{
    if (strlen(path) >= sizeof(walk->rest)) {
        return -ENAMETOOLONG;
    }
    walk->done[0] = '\0';
    walk->n_links = 0;
    memcpy(walk->rest, path, strlen(path) + 1);
    for (;;) {
        char part[NAME_MAX + 1];
        const char *begin = walk->rest + strspn(walk->rest, "/");
        size_t n = strcspn(begin, "/");
        const char *behind = begin + n + strspn(begin + n, "/");
        int r;

        if (n == 0) {
            return 0;
        }
        if (n > NAME_MAX) {
            return -ENAMETOOLONG;
        }
        memcpy(part, begin, n);
        part[n] = '\0';
        memmove(walk->rest, behind, strlen(behind) + 1);
        r = step(root, walk, part, walk->rest[0] == '\0', follow_last);
        if (r) {
            return r;
        }
    }
}

/* Opens without openat2(). */
static int open_by_hand(const struct root *root, const char *path, int flags)
{
    struct walk walk;
    int fd;
    int r = follow(root, path, !(flags & O_NOFOLLOW), &walk);

    if (r) {
        return r;
    }
    fd = openat(root->fd, walk.done[0] ? walk.done + 1 : ".", flags | O_NOFOLLOW);
    return fd < 0 ? -errno : fd;
}

/* Returns a descriptor, or -errno untraced: a missing file is no fault yet. */
static int open_below(const struct root *root, const char *path, int flags)
{
    /* openat2() refuses flags that O_PATH makes meaningless. */
    const int all = flags | O_CLOEXEC | (flags & O_PATH ? 0 : O_NOCTTY);
    const struct open_how how = {
        .flags = (uint64_t)all,
        .resolve = RESOLVE_IN_ROOT,
    };
    int fd = -1;

    for (int i = 0; i < RENAME_TRIES; i++) {
        fd = (int)syscall(SYS_openat2, root->fd, path, &how, sizeof(how));
        if (fd >= 0) {
            return fd;
        }
        if (errno == EINTR) {
            continue;
        }
        if (errno == ENOSYS) {
            return open_by_hand(root, path, all);
        }
        if (errno != EAGAIN) {
            break;
        }
    }
    return -errno;
}

/*
 * Like open_below(), but only for a regular file, which never blocks its reader; all files of the kernel are. -EPROTO:
 * the path is something else, for example a pipe in a recorded tree.
 */
static int open_regular(const struct root *root, const char *path)
{
    cleanup(fd_closep) int fd = open_below(root, path, O_RDONLY | O_NONBLOCK);
    struct stat stat;

    if (fd < 0) {
        return fd;
    }
    if (fstat(fd, &stat) < 0) {
        return -errno;
    }
    return S_ISREG(stat.st_mode) ? fd_steal(&fd) : -EPROTO;
}

/* Reads to the end of the file, or @cap bytes. */
static int read_fd(int fd, char *buf, size_t cap, size_t *ret_n)
{
    size_t n = 0;

    while (n < cap) {
        ssize_t got = read(fd, buf + n, cap - n);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -errno;
        }
        if (got == 0) {
            break;
        }
        n += (size_t)got;
    }
    *ret_n = n;
    return 0;
}

/* Parses @text, one decimal number with white space around it. */
static int parse_number(const char *text, size_t n, int64_t *ret_number)
{
    char *end;
    long long number;

    if (strlen(text) != n) {
        return -EPROTO;
    }
    errno = 0;
    number = strtoll(text, &end, 10);
    if (end == text || errno) {
        return -EPROTO;
    }
    while (isspace((unsigned char)*end)) {
        end++;
    }
    if (*end) {
        return -EPROTO;
    }
    *ret_number = number;
    return 0;
}

/* Returns the fault that the tree prescribes for opening @path, or 0. */
static int staged_fault(const struct root *root, const char *path)
{
    char name[PATH_MAX];
    char text[32];
    int64_t number;
    size_t n;
    int fd;
    int r;

    if (root->is_machine) {
        return 0;
    }
    if ((size_t)snprintf(name, sizeof(name), "%s" ERRNO_SUFFIX, path) >= sizeof(name)) {
        return -ENAMETOOLONG;
    }
    fd = open_regular(root, name);
    if (fd < 0) {
        return fd == -ENOENT ? 0 : -EPROTO;
    }
    r = read_fd(fd, text, sizeof(text) - 1, &n);
    close(fd);
    if (r) {
        return r;
    }
    text[n] = '\0';
    return parse_number(text, n, &number) == 0 && number > 0 && number < 4096 ? (int)-number : -EPROTO;
}

static int open_staged(const struct root *root, const char *path, int flags)
{
    int r = staged_fault(root, path);

    return r ? r : open_below(root, path, flags);
}

/* Reads the text of @fd, which may be the fault that opening returned. */
static int read_text(int fd, char *buf, size_t cap, size_t *ret_n)
{
    size_t n_more = 0;
    char more;
    size_t n;
    int r;

    assert(cap > 0);
    if (fd < 0) {
        return fd;
    }
    r = read_fd(fd, buf, cap - 1, &n);
    if (!r && n == cap - 1) {
        r = read_fd(fd, &more, 1, &n_more);
    }
    if (r) {
        return r;
    }
    if (n_more) {
        return -EFBIG;
    }
    buf[n] = '\0';
    *ret_n = n;
    return 0;
}

int root_read(const struct root *root, const char *path, char *buf, size_t cap, size_t *ret_n)
{
    cleanup(fd_closep) int fd = open_staged(root, path, O_RDONLY);

    return read_text(fd, buf, cap, ret_n);
}

static int read_fixed(const struct root *root, const char *path, char *buf, size_t cap, size_t *ret_n)
{
    int fault = staged_fault(root, path);
    cleanup(fd_closep) int fd = fault ? fault : open_regular(root, path);

    return read_text(fd, buf, cap, ret_n);
}

int root_read_fixed(const struct root *root, const char *path, int64_t *ret_number)
{
    char text[NUMBER_BYTES];
    size_t n;
    int r = read_fixed(root, path, text, sizeof(text), &n);

    if (r) {
        return r == -EFBIG ? -EPROTO : r;
    }
    return parse_number(text, n, ret_number);
}

int root_read_number(const struct root *root, const char *path, int64_t *ret_number)
{
    char text[NUMBER_BYTES];
    size_t n;
    int r = root_read(root, path, text, sizeof(text), &n);

    if (r) {
        return r == -EFBIG ? -EPROTO : r;
    }
    return parse_number(text, n, ret_number);
}

int root_read_word(const struct root *root, const char *path, char *buf, size_t cap)
{
    char text[PAGE_BYTES + 1];
    char *begin = text;
    size_t n;
    int r = read_fixed(root, path, text, sizeof(text), &n);

    if (r) {
        return r;
    }
    text[strcspn(text, "\n")] = '\0';
    while (isspace((unsigned char)*begin)) {
        begin++;
    }
    n = strlen(begin);
    while (n > 0 && isspace((unsigned char)begin[n - 1])) {
        n--;
    }
    if (n >= cap) {
        return -EFBIG;
    }
    memcpy(buf, begin, n);
    buf[n] = '\0';
    return 0;
}

int root_open_file(const struct root *root, const char *path, int *ret_fd)
{
    int fd = open_staged(root, path, O_RDONLY);

    if (fd < 0) {
        return fd;
    }
    *ret_fd = fd;
    return 0;
}

int root_open_folder(const struct root *root, const char *path, DIR **ret_dir)
{
    cleanup(fd_closep) int fd = open_staged(root, path, O_RDONLY | O_DIRECTORY);
    DIR *dir;

    if (fd < 0) {
        return fd;
    }
    dir = fdopendir(fd);
    if (!dir) {
        return err_new(-errno);
    }
    fd_steal(&fd);
    *ret_dir = dir;
    return 0;
}

void root_close_folderp(DIR **dir)
{
    if (*dir) {
        closedir(*dir);
    }
}

const char *root_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

bool root_has(const struct root *root, const char *path)
{
    int fd;

    if (staged_fault(root, path)) {
        return true;
    }
    fd = open_below(root, path, O_PATH);
    if (fd < 0) {
        return fd == -EACCES || fd == -EPERM;
    }
    close(fd);
    return true;
}

int root_read_link(const struct root *root, const char *path, char *buf, size_t cap)
{
    cleanup(fd_closep) int fd = open_staged(root, path, O_PATH | O_NOFOLLOW);
    ssize_t n;

    if (fd < 0) {
        return fd;
    }
    n = readlinkat(fd, "", buf, cap);
    if (n < 0) {
        /* The kernel returns ENOENT for an empty path where there is no link. */
        return errno == ENOENT ? -EINVAL : -errno;
    }
    if ((size_t)n >= cap) {
        return -ENAMETOOLONG;
    }
    buf[n] = '\0';
    return 0;
}

int root_real_path(const struct root *root, const char *path, char *buf, size_t cap)
{
    struct walk walk;
    const char *text;
    int r = follow(root, path, true, &walk);

    if (r) {
        return r;
    }
    text = walk.done[0] ? walk.done : "/";
    if (strlen(text) >= cap) {
        return -ENAMETOOLONG;
    }
    memcpy(buf, text, strlen(text) + 1);
    return 0;
}
