/*
 * Root: the folder below which a machine's files lie
 *
 * driver-shim reads /sys, /proc and /dev only through a root, so a tree of recorded files can stand in for a machine.
 * "/" is the machine itself. Paths are absolute below the root ("/sys/class/thermal"). Symbolic links are followed
 * below the root only (openat2, RESOLVE_IN_ROOT).
 *
 * A recorded tree may hold, beside a file or folder NAME, a file NAME.sotto-errno with a number: opening NAME then
 * fails with it, such as EAGAIN, EIO or EACCES. On the machine itself such files are not looked for.
 *
 * Files are opened in blocking mode: a sensor that hangs blocks its reader, which has a thread of its own. In a tree, a
 * pipe without a writer imitates such a sensor.
 *
 * A root is read-only once open and may be used by any thread.
 */
#ifndef SOTTO_SYSFS_ROOT_H
#define SOTTO_SYSFS_ROOT_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct root {
    int fd;
    bool is_machine; /* "/": the sockets and ioctls of the real kernel belong to it */
    char path[512];
};

/* Opens the folder @path. 0 or a fault (-ENOENT, -ENOTDIR, -EACCES). */
int root_open(struct root *ret_root, const char *path);
void root_close(struct root *root); /* NULL is allowed */

/*
 * Reads the file at @path, at most @cap - 1 bytes, and appends a 0. *ret_n: bytes. -EFBIG: the file is longer. An empty
 * file is no fault. Other faults are those of open and read: -ENOENT, -EACCES, -ENODATA, -EIO, ...
 */
int root_read(const struct root *root, const char *path, char *buf, size_t cap, size_t *ret_n);

/* Reads a file that is one decimal number with optional white space around it; -EPROTO for any other text. */
int root_read_number(const struct root *root, const char *path, int64_t *ret_number);

/*
 * Like root_read_number(), for a limit or another constant: it never blocks, so a scan may call it. Only regular files
 * are read, as all of the kernel's are; -EPROTO for anything else.
 */
int root_read_fixed(const struct root *root, const char *path, int64_t *ret_number);

/* Reads the first line of a file, trimmed. Never blocks, as root_read_fixed(). */
int root_read_word(const struct root *root, const char *path, char *buf, size_t cap);

/* Opens for reading, close-on-exec; the descriptor is the caller's. */
int root_open_file(const struct root *root, const char *path, int *ret_fd);
int root_open_folder(const struct root *root, const char *path, DIR **ret_dir);
void root_close_folderp(DIR **dir); /* for cleanup() */

/* Returns the last component of a path. */
const char *root_base_name(const char *path);

/*
 * Returns true if @path, or a NAME.sotto-errno for it, exists. Nothing is opened for reading, so it never blocks on a
 * sensor, and a scan may call it.
 */
bool root_has(const struct root *root, const char *path);

/* Reads the target of a symbolic link. */
int root_read_link(const struct root *root, const char *path, char *buf, size_t cap);

/*
 * Resolves all links of @path below the root, and "."; two paths to one file give one text. Faults: -ENOENT, -ELOOP,
 * -ENAMETOOLONG (also when @cap is too small), ...
 */
int root_real_path(const struct root *root, const char *path, char *buf, size_t cap);

#endif
