/*
 * Redirects paths into the tree, and tells fake nodes from other descriptors. The functions here replace those of the C
 * library that libdrm calls.
 */
/* Both names of each call are defined here, so none may stand for the other. */
#undef _FILE_OFFSET_BITS

#include "fakedrm.h"

#include "fakedrm_node.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

static const char *tree;

struct open_node fakedrm_nodes[NODES];
pthread_mutex_t fakedrm_lock = PTHREAD_MUTEX_INITIALIZER;

void fakedrm_use(const char *path)
{
    tree = path;
}

__attribute__((constructor)) static void begin(void)
{
    if (getenv("FAKEDRM")) {
        tree = getenv("FAKEDRM");
    }
}

/* ---- paths */

/* Returns @path, or its path in the tree (in @moved). */
static const char *lead(const char *path, char *moved)
{
    if (!tree || (strncmp(path, "/dev/dri", 8) != 0 && strncmp(path, "/sys/", 5) != 0)) {
        return path;
    }
    snprintf(moved, PATH_MAX, "%s%s", tree, path);
    return moved;
}

/* Reads the value of @key in the node's file, or "". */
void fakedrm_knob(const char *file, const char *key, char *value, size_t cap)
{
    FILE *stream = REAL(fopen)(file, "re");
    char line[128];
    size_t n = strlen(key);

    value[0] = '\0';
    while (stream && fgets(line, sizeof(line), stream)) {
        if (strncmp(line, key, n) == 0 && line[n] == '=') {
            line[strcspn(line, "\n")] = '\0';
            snprintf(value, cap, "%s", line + n + 1);
        }
    }
    if (stream) {
        fclose(stream);
    }
}

static int fault_named(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } rows[] = { { "EACCES", EACCES }, { "EPERM", EPERM }, { "EIO", EIO }, { "ENXIO", ENXIO }, { "ENODEV", ENODEV } };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return rows[i].number;
        }
    }
    return 0;
}

struct open_node *fakedrm_node(int fd)
{
    for (size_t i = 0; fd >= 0 && i < NODES; i++) {
        if (fakedrm_nodes[i].live && fakedrm_nodes[i].fd == fd) {
            return &fakedrm_nodes[i];
        }
    }
    return NULL;
}

static int enter(const char *file, int fd)
{
    char minor_text[16];
    struct open_node *node = NULL;

    pthread_mutex_lock(&fakedrm_lock);
    for (size_t i = 0; i < NODES && !node; i++) {
        node = fakedrm_nodes[i].live ? NULL : &fakedrm_nodes[i];
    }
    if (node) {
        memset(node, 0, sizeof(*node));
        node->live = true;
        node->fd = fd;
        snprintf(node->file, sizeof(node->file), "%s", file);
        fakedrm_knob(file, "driver", node->driver, sizeof(node->driver));
        fakedrm_knob(file, "minor", minor_text, sizeof(minor_text));
        node->minor = (unsigned)atoi(minor_text);
    }
    pthread_mutex_unlock(&fakedrm_lock);
    return fd;
}

static bool is_node_path(const char *path)
{
    return tree && strncmp(path, "/dev/dri/", 9) == 0;
}

static int open_path(const char *path, int flags, mode_t mode)
{
    char moved[PATH_MAX];
    char fault[16];
    const char *file = lead(path, moved);
    int fd;

    if (!is_node_path(path)) {
        return REAL(open)(file, flags, mode);
    }
    fakedrm_knob(file, "open", fault, sizeof(fault));
    if (fault_named(fault)) {
        errno = fault_named(fault);
        return -1;
    }
    fd = REAL(open)(file, flags, mode);
    return fd < 0 ? fd : enter(file, fd);
}

SHOWN int open(const char *path, int flags, ...)
{
    va_list rest;
    mode_t mode;

    va_start(rest, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_path(path, flags, mode);
}

SHOWN int open64(const char *path, int flags, ...)
{
    va_list rest;
    mode_t mode;

    va_start(rest, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_path(path, flags, mode);
}

SHOWN int close(int fd)
{
    struct open_node *node;

    pthread_mutex_lock(&fakedrm_lock);
    node = fakedrm_node(fd);
    for (size_t i = 0; node && i < OBJECTS; i++) {
        if (node->buffers[i].fd > 0) {
            REAL(close)(node->buffers[i].fd);
        }
    }
    if (node) {
        memset(node, 0, sizeof(*node));
    }
    pthread_mutex_unlock(&fakedrm_lock);
    return REAL(close)(fd);
}

SHOWN FILE *fopen64(const char *path, const char *mode)
{
    char moved[PATH_MAX];

    return REAL(fopen64)(lead(path, moved), mode);
}

SHOWN FILE *fopen(const char *path, const char *mode)
{
    char moved[PATH_MAX];

    return REAL(fopen)(lead(path, moved), mode);
}

SHOWN DIR *opendir(const char *path)
{
    char moved[PATH_MAX];

    return REAL(opendir)(lead(path, moved));
}

SHOWN ssize_t readlink(const char *path, char *into, size_t cap)
{
    char moved[PATH_MAX];

    return REAL(readlink)(lead(path, moved), into, cap);
}

SHOWN int access(const char *path, int mode)
{
    char moved[PATH_MAX];

    return REAL(access)(lead(path, moved), mode);
}

SHOWN char *realpath(const char *path, char *into)
{
    char moved[PATH_MAX];

    return REAL(realpath)(lead(path, moved), into);
}

/* ---- properties of a node */

#define LOOKS_LIKE_A_NODE(st, number)                                                                                  \
    do {                                                                                                               \
        (st)->st_mode = S_IFCHR | ((st)->st_mode & 07777);                                                             \
        (st)->st_rdev = makedev(226, (number));                                                                        \
    } while (0)

static unsigned minor_in(const char *file)
{
    char text[16];

    fakedrm_knob(file, "minor", text, sizeof(text));
    return (unsigned)atoi(text);
}

SHOWN int fstat(int fd, struct stat *st)
{
    int r = REAL(fstat)(fd, st);

    if (r == 0 && fakedrm_node(fd)) {
        LOOKS_LIKE_A_NODE(st, fakedrm_node(fd)->minor);
    }
    return r;
}

SHOWN int fstat64(int fd, struct stat64 *st)
{
    int r = REAL(fstat64)(fd, st);

    if (r == 0 && fakedrm_node(fd)) {
        LOOKS_LIKE_A_NODE(st, fakedrm_node(fd)->minor);
    }
    return r;
}

SHOWN int stat64(const char *path, struct stat64 *st)
{
    char moved[PATH_MAX];
    int r = REAL(stat64)(lead(path, moved), st);

    if (r == 0 && is_node_path(path)) {
        LOOKS_LIKE_A_NODE(st, minor_in(moved));
    }
    return r;
}

SHOWN int ioctl(int fd, unsigned long request, ...)
{
    struct open_node *node;
    va_list rest;
    void *arg;
    int r;

    va_start(rest, request);
    arg = va_arg(rest, void *);
    va_end(rest);
    pthread_mutex_lock(&fakedrm_lock);
    node = fakedrm_node(fd);
    r = node ? fakedrm_answer(node, request, arg) : 0;
    pthread_mutex_unlock(&fakedrm_lock);
    return node ? r : REAL(ioctl)(fd, request, arg);
}
