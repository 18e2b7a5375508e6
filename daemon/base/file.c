/*
 * File: files are opened so that no pipe, device or link can block or mislead us
 */
#include "base/file.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/num.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Number of times that a lock file may be removed between open and lock before we give up. */
#define LOCK_TRIES 10

/* Room for a file that does not report its size, as those below /proc: far above any that we read. */
#define SIZELESS_BYTES (1u << 20)

/* Turns the error of open() into an outcome or a fault. */
static int open_refused(const char *path, int fault, struct diag *diag)
{
    switch (fault) {
    case ENOENT:
    case ENOTDIR:
        diag_set(diag, "%s: no such file", path);
        return FILE_ABSENT;
    case EACCES:
    case EPERM:
        diag_set(diag, "%s: uid %u may not read it", path, (unsigned)geteuid());
        return FILE_REFUSED;
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO:
        diag_set(diag, "%s: can't be opened: %s", path, strerrordesc_np(fault));
        return FILE_REFUSED;
    default:
        diag_set(diag, "%s: can't be opened: %s", path, strerrordesc_np(fault));
        return err_new(-fault);
    }
}

/* Reads until the end or @cap bytes. Files below /proc report size 0, so the size is only a hint. */
static int read_up_to(int fd, char *bytes, size_t cap, size_t *ret_n)
{
    size_t n = 0;

    while (n < cap) {
        ssize_t got = read(fd, bytes + n, cap - n);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return err_new(-errno);
        }
        if (got == 0) {
            break;
        }
        n += (size_t)got;
    }
    *ret_n = n;
    return 0;
}

static int refuse_large(const char *path, size_t max_bytes, struct diag *diag)
{
    diag_set(diag, "%s: larger than %zu bytes, the limit for such a file", path, max_bytes);
    return FILE_REFUSED;
}

int file_read(const char *path, enum mem_kind kind, size_t max_bytes, char **ret_bytes, size_t *ret_n,
              struct diag *diag)
{
    cleanup(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    cleanup(mem_freep) char *bytes = NULL;
    struct stat st;
    size_t cap;
    size_t n = 0;
    int r;

    if (fd < 0) {
        return open_refused(path, errno, diag);
    }
    if (fstat(fd, &st) < 0) {
        return err_new(-errno);
    }
    if (!S_ISREG(st.st_mode)) {
        diag_set(diag, "%s: not a regular file", path);
        return FILE_REFUSED;
    }
    if ((uint64_t)st.st_size > max_bytes) {
        return refuse_large(path, max_bytes, diag);
    }
    /* One byte more than expected, to notice a file that grows meanwhile. */
    cap = (st.st_size > 0 ? (size_t)st.st_size : num_min(max_bytes, SIZELESS_BYTES)) + 1;
    bytes = mem_alloc(kind, cap + 1);
    if (!bytes) {
        return err_new(-ENOMEM);
    }
    r = read_up_to(fd, bytes, cap, &n);
    if (r) {
        diag_set(diag, "%s: can't be read: %s", path, strerrordesc_np(-r));
        return err_up(r);
    }
    if (n > max_bytes) {
        return refuse_large(path, max_bytes, diag);
    }
    if (n == cap) {
        diag_set(diag, "%s: grew while it was read; try again", path);
        return FILE_REFUSED;
    }
    bytes[n] = '\0';
    *ret_bytes = steal(&bytes);
    *ret_n = n;
    return FILE_OK;
}

int file_pread(int fd, void *bytes, size_t n, uint64_t at, size_t *ret_got)
{
    uint8_t *to = bytes;
    size_t got = 0;

    if (at > INT64_MAX || n > INT64_MAX - at) {
        return err_new(-EOVERFLOW);
    }
    while (got < n) {
        ssize_t now = pread(fd, to + got, n - got, (off_t)(at + got));

        if (now < 0 && errno == EINTR) {
            continue;
        }
        if (now < 0) {
            return err_new(-errno);
        }
        if (now == 0) {
            break;
        }
        got += (size_t)now;
    }
    *ret_got = got;
    return 0;
}

/* Returns the process id that the holder wrote, or 0. */
static int read_holder(int fd)
{
    char text[16] = "";
    size_t n;
    long pid;

    if (file_pread(fd, text, sizeof(text) - 1, 0, &n) != 0) {
        return 0;
    }
    pid = strtol(text, NULL, 10);
    return pid > 0 && pid <= INT32_MAX ? (int)pid : 0;
}

/* Writes our process id for those that find the lock held. On a full disk the file stays empty; the lock holds
 * anyway. */
static void write_holder(int fd)
{
    char text[16];
    int n = snprintf(text, sizeof(text), "%d\n", (int)getpid());

    if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) != n) {
        ftruncate(fd, 0);
    }
}

/* Returns whether @path still names the file @opened: a lock on a removed file excludes no other process. */
static bool is_same_file(const char *path, const struct stat *opened)
{
    struct stat st;

    return lstat(path, &st) == 0 && st.st_dev == opened->st_dev && st.st_ino == opened->st_ino;
}

int lock_take(const char *path, int *ret_fd, int *ret_pid, struct diag *diag)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        cleanup(fd_closep) int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
        struct stat st;
        int fault;

        if (fd < 0) {
            fault = errno;
            diag_set(diag, "lock file %s: can't be opened: %s", path, strerrordesc_np(fault));
            return err_new(-fault);
        }
        if (fstat(fd, &st) < 0) {
            return err_new(-errno);
        }
        if (!S_ISREG(st.st_mode)) {
            diag_set(diag, "lock file %s: not a regular file", path);
            return err_new(-EINVAL);
        }
        if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
            if (errno == EINTR) {
                continue;
            }
            if (errno != EWOULDBLOCK) {
                return err_new(-errno);
            }
            *ret_pid = read_holder(fd);
            diag_set(diag, "lock file %s: held by process %d", path, *ret_pid);
            return LOCK_HELD;
        }
        if (!is_same_file(path, &st)) {
            continue;
        }
        write_holder(fd);
        *ret_fd = fd_steal(&fd);
        return LOCK_OK;
    }
    diag_set(diag, "lock file %s: another process keeps removing it", path);
    return err_new(-EAGAIN);
}

int file_hold_std(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) {
            continue;
        }
        /* open() gives the lowest free number: @fd. The wrong direction makes its use fail. */
        if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) {
            return err_new(-errno);
        }
    }
    return 0;
}
