#include "record/copy.h"
#include "base/clean.h"
#include "base/err.h"
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK ".sotto-errno"

static bool is_done(const struct copy *copy)
{
    return copy->fault || copy->record->is_cut;
}

static void fail(struct copy *copy, int fault)
{
    if (!copy->fault) {
        copy->fault = err_new(fault);
    }
}

/* Makes the folders above the last part of @path. */
static bool make_folders(struct copy *copy, const char *path)
{
    char part[PATH_MAX];

    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        const size_t n = (size_t)(slash - path);

        if (n >= sizeof(part)) {
            fail(copy, -ENAMETOOLONG);
            return false;
        }
        memcpy(part, path, n);
        part[n] = '\0';
        if (mkdirat(copy->into, part + 1, 0755) < 0 && errno != EEXIST) {
            fail(copy, -errno);
            return false;
        }
    }
    return true;
}

void copy_put(struct copy *copy, const char *path, const void *bytes, size_t n)
{
    cleanup(fd_closep) int fd = -1;

    if (is_done(copy)) {
        return;
    }
    if (copy->record->n_files >= RECORD_FILES_MAX || copy->record->n_bytes + n > RECORD_BYTES_MAX) {
        copy->record->is_cut = true;
        return;
    }
    if (!make_folders(copy, path)) {
        return;
    }
    fd = openat(copy->into, path + 1, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0) {
        if (errno != EEXIST) {
            fail(copy, -errno);
        }
        return;
    }
    if (write(fd, bytes, n) != (ssize_t)n) {
        fail(copy, -EIO);
        return;
    }
    copy->record->n_files++;
    copy->record->n_bytes += n;
}

void copy_put_folder(struct copy *copy, const char *path)
{
    if (is_done(copy) || !make_folders(copy, path)) {
        return;
    }
    if (path[1] && mkdirat(copy->into, path + 1, 0755) < 0 && errno != EEXIST) {
        fail(copy, -errno);
    }
}

void copy_put_fault(struct copy *copy, const char *path, int fault, bool is_folder)
{
    char name[PATH_MAX];
    char text[16];
    int n = snprintf(text, sizeof(text), "%d\n", -fault);

    if ((size_t)snprintf(name, sizeof(name), "%s" MARK, path) >= sizeof(name)) {
        return;
    }
    if (is_folder) {
        copy_put_folder(copy, path);
    } else {
        copy_put(copy, path, "", 0);
    }
    copy_put(copy, name, text, (size_t)n);
    copy->record->n_faults++;
}

void copy_put_link(struct copy *copy, const char *path, const char *target)
{
    if (is_done(copy)) {
        return;
    }
    if (copy->record->n_files >= RECORD_FILES_MAX) {
        copy->record->is_cut = true;
        return;
    }
    if (!make_folders(copy, path)) {
        return;
    }
    if (symlinkat(target, copy->into, path + 1) < 0) {
        if (errno != EEXIST) {
            fail(copy, -errno);
        }
        return;
    }
    copy->record->n_files++;
}

void copy_file(struct copy *copy, const char *path)
{
    size_t n;
    int r;

    if (is_done(copy) || !root_has(copy->from, path)) {
        return;
    }
    r = root_read(copy->from, path, copy->text, COPY_FILE_BYTES, &n);
    if (r == -ENOENT || r == -EISDIR) {
        return;
    }
    if (r) {
        copy_put_fault(copy, path, r, false);
    } else {
        copy_put(copy, path, copy->text, n);
    }
}

/* Resolves the folder of @path, but not @path itself. False: too long, or its folder does not exist. */
static bool own_path(const struct copy *copy, const char *path, char *own, size_t cap)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    size_t n = (size_t)(slash - path);
    size_t n_folder;

    if (n == 0 || n >= sizeof(folder)) {
        return n == 0 && (size_t)snprintf(own, cap, "%s", path) < cap;
    }
    memcpy(folder, path, n);
    folder[n] = '\0';
    if (root_real_path(copy->from, folder, own, cap) != 0) {
        return false;
    }
    n_folder = strlen(own);
    return (size_t)snprintf(own + n_folder, cap - n_folder, "%s", slash) < cap - n_folder;
}

void copy_link(struct copy *copy, const char *path, char *real, size_t cap)
{
    char target[PATH_MAX];
    char own[PATH_MAX];

    real[0] = '\0';
    if (is_done(copy) || root_read_link(copy->from, path, target, sizeof(target)) != 0 ||
        !own_path(copy, path, own, sizeof(own)) || root_real_path(copy->from, path, real, cap) != 0) {
        return;
    }
    copy_put_folder(copy, real);
    copy_put_link(copy, own, target);
}

void copy_each(struct copy *copy, const char *folder, copy_fn fn)
{
    DIR *dir;

    if (is_done(copy) || root_open_folder(copy->from, folder, &dir) != 0) {
        return;
    }
    for (struct dirent *entry; !is_done(copy) && (entry = readdir(dir));) {
        const size_t n = strlen(entry->d_name);
        const size_t n_mark = sizeof(MARK) - 1;

        if (entry->d_name[0] != '.' && !(n > n_mark && strcmp(entry->d_name + n - n_mark, MARK) == 0)) {
            fn(copy, folder, entry->d_name);
        }
    }
    closedir(dir);
}

void copy_matching(struct copy *copy, const char *folder, const char *const *patterns)
{
    DIR *dir;

    if (is_done(copy) || root_open_folder(copy->from, folder, &dir) != 0) {
        return;
    }
    for (struct dirent *entry; !is_done(copy) && (entry = readdir(dir));) {
        for (size_t i = 0; patterns[i]; i++) {
            char path[PATH_MAX];

            if (fnmatch(patterns[i], entry->d_name, 0) == 0 && !strstr(entry->d_name, MARK) &&
                (size_t)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) < sizeof(path)) {
                copy_file(copy, path);
                break;
            }
        }
    }
    closedir(dir);
}
