/*
 * Tree: a machine made of files, for one test
 *
 * tree_make() makes an empty folder below /tmp and opens it as a root; tree_write() and the others put files into it,
 * with their folders; tree_remove() takes all of it away. Paths are those of the machine: "/sys/class/thermal/...".
 * Each test program has one tree; Check forks for each test, so each test has its own.
 */
#ifndef SOTTO_SYSFS_TREE_H
#define SOTTO_SYSFS_TREE_H

#include "sysfs/root.h"
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

static char tree_path[64];
static struct root tree_root = { .fd = -1 };

static inline const struct root *tree_make(void)
{
    snprintf(tree_path, sizeof(tree_path), "/tmp/sotto-tree-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(tree_path));
    ck_assert_int_eq(root_open(&tree_root, tree_path), 0);
    return &tree_root;
}

static inline int tree_unlink(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    return remove(path);
}

/* Removes @path (a file, a link, or a folder with its contents), which must exist. */
static inline void tree_delete(const char *path)
{
    char full[512];

    snprintf(full, sizeof(full), "%s%s", tree_path, path);
    ck_assert_int_eq(nftw(full, tree_unlink, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static inline void tree_remove(void)
{
    root_close(&tree_root);
    tree_delete("");
}

/* Returns the real path of @path, the folders of which are made. */
static inline const char *tree_place(const char *path, char *full, size_t cap)
{
    int n = snprintf(full, cap, "%s%s", tree_path, path);

    ck_assert_int_lt(n, (int)cap);
    for (char *slash = full + strlen(tree_path); (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        ck_assert(mkdir(full, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
    return full;
}

static inline void tree_write_bytes(const char *path, const void *bytes, size_t n)
{
    char full[512];
    int fd = open(tree_place(path, full, sizeof(full)), O_WRONLY | O_CREAT | O_TRUNC, 0644);

    ck_assert_msg(fd >= 0, "%s: %s", full, strerror(errno));
    ck_assert_int_eq(write(fd, bytes, n), n);
    close(fd);
}

/* Writes exactly @text: include the newline where the kernel does. */
static inline void tree_write(const char *path, const char *text)
{
    tree_write_bytes(path, text, strlen(text));
}

/* Writes several files into @folder: names and texts in turn, and NULL. */
static inline void tree_fill(const char *folder, ...)
{
    const char *name;
    va_list args;

    va_start(args, folder);
    while ((name = va_arg(args, const char *))) {
        char path[512];

        snprintf(path, sizeof(path), "%s/%s", folder, name);
        tree_write(path, va_arg(args, const char *));
    }
    va_end(args);
}

/* Makes opening @path (which is listed, too) fail with @number; 0: no longer. */
static inline void tree_errno(const char *path, int number)
{
    char name[512];
    char text[16];
    struct stat st;

    if (stat(tree_place(path, name, sizeof(name)), &st) != 0) {
        tree_write(path, "");
    }
    snprintf(name, sizeof(name), "%s.sotto-errno", path);
    snprintf(text, sizeof(text), "%d\n", number);
    if (number) {
        tree_write(name, text);
    } else {
        tree_delete(name);
    }
}

static inline void tree_folder(const char *path)
{
    char full[512];

    ck_assert(mkdir(tree_place(path, full, sizeof(full)), 0755) == 0 || errno == EEXIST);
}

/* Makes a symbolic link at @path to @target. */
static inline void tree_link(const char *path, const char *target)
{
    char full[512];

    ck_assert_int_eq(symlink(target, tree_place(path, full, sizeof(full))), 0);
}

/* Makes a pipe at @path: a reader waits until the test writes. */
static inline void tree_pipe(const char *path)
{
    char full[512];

    ck_assert_int_eq(mkfifo(tree_place(path, full, sizeof(full)), 0644), 0);
}

static inline void tree_move(const char *from, const char *to)
{
    char old[512];
    char new[512];

    snprintf(old, sizeof(old), "%s%s", tree_path, from);
    ck_assert_int_eq(rename(old, tree_place(to, new, sizeof(new))), 0);
}

#endif
