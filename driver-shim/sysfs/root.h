/*
 * Root: the folder below which the machine lies
 *
 * All that driver-shim reads of /sys, /proc and /dev goes through a root, so a tree of recorded files stands in for a
 * machine. "/" is the machine itself. Paths are given from the root with a leading slash ("/sys/class/thermal"). A
 * symbolic link inside a tree is followed below the root only (openat2, RESOLVE_IN_ROOT).
 *
 * A recorded tree may hold, beside a file or folder NAME, a file NAME.sotto-errno with a number: opening NAME then
 * fails with it. That is how a tree says EAGAIN, EIO or EACCES. The machine itself has no such files: none is sought.
 *
 * Files are opened and read as they are, with waiting: a sensor that hangs hangs its reader, who has a thread for
 * that, and a pipe without a writer in a tree stands in for one.
 *
 * Any thread; a root is read-only once open.
 */
#ifndef SOTTO_SYSFS_ROOT_H
#define SOTTO_SYSFS_ROOT_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct root {
    int fd;
    bool is_machine; /* "/": sockets and ioctls of the real kernel belong to it */
    char path[512];
};

/* @path: a folder. 0 or a fault (-ENOENT, -ENOTDIR, -EACCES). */
int root_open(struct root *ret_root, const char *path);
void root_close(struct root *root); /* NULL is allowed */

/*
 * Reads all of the file at @path, at most @cap - 1 bytes, and puts a 0 behind. @ret_n: bytes; a longer file is -EFBIG
 * and an empty one is 0 bytes, no fault. Faults are those of open and read: -ENOENT, -EACCES, -ENODATA, -EIO, ...
 */
int root_read(const struct root *root, const char *path, char *buf, size_t cap, size_t *ret_n);

/* The whole of it as one decimal number with surrounding white space, nothing else: else -EPROTO. */
int root_read_number(const struct root *root, const char *path, int64_t *ret_number);

/* The same for a limit or another fact that does not change: never waits, so a search may ask it. Only regular files
 * are read, as all of the kernel's are; another thing is -EPROTO. */
int root_read_fixed(const struct root *root, const char *path, int64_t *ret_number);

/* First line without white space at its ends, of a name. Never waits, as above. */
int root_read_word(const struct root *root, const char *path, char *buf, size_t cap);

/* For descriptors that are kept: open for reading, close-on-exec. */
int root_open_file(const struct root *root, const char *path, int *ret_fd);
int root_open_folder(const struct root *root, const char *path, DIR **ret_dir);

/* True if something is there, or a NAME.sotto-errno stands for it. Nothing is opened for reading: never waits for a
 * sensor, so a search may ask it of files that a read would hang on. */
bool root_has(const struct root *root, const char *path);

/* Where a symbolic link points (its text), or a fault. */
int root_read_link(const struct root *root, const char *path, char *buf, size_t cap);

/* @path with all its links followed below the root, without ".": two ways to one thing give one text. Faults:
 * -ENOENT, -ELOOP, -ENAMETOOLONG (also when @cap is too small), ... */
int root_real_path(const struct root *root, const char *path, char *buf, size_t cap);

#endif
