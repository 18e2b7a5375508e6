/*
 * The answers of a node. Structures and numbers are those of the kernel's interface in drm.h. A buffer is a memfd, so
 * that a dma-buf of it can be mapped and passed on; an import of the same file's buffer finds it by its inode, as the
 * kernel finds it by its object.
 */
#include "fakedrm.h"

#include "drm/pvr_uapi.h"
#include "fakedrm_node.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A sync object as a descriptor: index of node and object in the file. */
struct sync_token {
    unsigned node;
    unsigned object;
};

static int fail(int number)
{
    errno = number;
    return -1;
}

static void put_text(char *into, size_t *n, const char *text)
{
    size_t full = strlen(text);

    if (into && *n > 0) {
        memcpy(into, text, *n < full ? *n : full);
    }
    *n = full;
}

static int say_version(struct open_node *node, struct drm_version *version)
{
    version->version_major = 1;
    version->version_minor = 2;
    version->version_patchlevel = 3;
    put_text(version->name, &version->name_len, node->driver);
    put_text(version->date, &version->date_len, "0");
    put_text(version->desc, &version->desc_len, "made of files");
    return 0;
}

static bool is_driver(const struct open_node *node, const char *name)
{
    return strcmp(node->driver, name) == 0;
}

static int say_cap(struct open_node *node, struct drm_get_cap *cap)
{
    switch (cap->capability) {
    case DRM_CAP_PRIME:
        cap->value = is_driver(node, "vgem") ? DRM_PRIME_CAP_EXPORT : DRM_PRIME_CAP_IMPORT | DRM_PRIME_CAP_EXPORT;
        return 0;
    case DRM_CAP_SYNCOBJ:
        cap->value = !is_driver(node, "vgem");
        return 0;
    case DRM_CAP_SYNCOBJ_TIMELINE:
        cap->value = is_driver(node, "powervr");
        return 0;
    default:
        return fail(EINVAL);
    }
}

/* The answers of a core AXE-1-16M, BVNC 33.15.11.3. */
static int say_query(struct open_node *node, struct pvr_query_args *args)
{
    static const uint32_t quirks[] = { 62269, 63227, 66622 };
    void *into = (void *)(uintptr_t)args->pointer;

    if (!is_driver(node, "powervr")) {
        return fail(EINVAL);
    }
    if (args->type == PVR_QUERY_GPU_INFO) {
        const struct pvr_query_gpu_info info = { .gpu_id = 33ULL << 48 | 15ULL << 32 | 11ULL << 16 | 3,
                                                 .num_phantoms = 1 };

        memcpy(into, &info, args->size < sizeof(info) ? args->size : sizeof(info));
    } else if (args->type == PVR_QUERY_RUNTIME_INFO) {
        const struct pvr_query_runtime_info info = { .free_list_min_pages = 50,
                                                     .free_list_max_pages = 100,
                                                     .cdm_max_local_mem_size_regs = 4096 };

        memcpy(into, &info, args->size < sizeof(info) ? args->size : sizeof(info));
    } else if (args->type == PVR_QUERY_QUIRKS) {
        struct pvr_query_quirks *list = into;

        if (list->padding) {
            return fail(EINVAL);
        }
        if (list->quirks) {
            memcpy((void *)(uintptr_t)list->quirks, quirks, list->count * sizeof(quirks[0]));
        }
        list->count = 3;
        list->musthave_count = 1;
    } else {
        return fail(EINVAL);
    }
    return 0;
}

/* ---- buffers */

static int find_buffer(const struct open_node *node, ino_t ino)
{
    for (int i = 0; i < OBJECTS; i++) {
        if (node->buffers[i].fd > 0 && node->buffers[i].ino == ino) {
            return i;
        }
    }
    return -1;
}

/* Puts the memfd @fd into the first free entry; returns its handle, 0: none is free. */
static unsigned hold_buffer(struct open_node *node, int fd)
{
    struct stat st;

    REAL(fstat)(fd, &st);
    for (unsigned i = 0; i < OBJECTS; i++) {
        if (node->buffers[i].fd == 0) {
            node->buffers[i].fd = fd;
            node->buffers[i].ino = st.st_ino;
            return i + 1;
        }
    }
    return 0;
}

unsigned fakedrm_make_buffer(int fd)
{
    int memory = memfd_create("fakedrm", MFD_CLOEXEC);

    if (ftruncate(memory, 4096) < 0) {
        abort();
    }
    return hold_buffer(fakedrm_node(fd), memory);
}

unsigned fakedrm_n_handles(void)
{
    unsigned n = 0;

    for (size_t i = 0; i < NODES; i++) {
        for (size_t k = 0; fakedrm_nodes[i].live && k < OBJECTS; k++) {
            n += fakedrm_nodes[i].buffers[k].fd > 0;
        }
    }
    return n;
}

static int buffer_to_fd(struct open_node *node, struct drm_prime_handle *prime)
{
    unsigned i = prime->handle - 1;

    if (prime->handle == 0 || i >= OBJECTS || node->buffers[i].fd <= 0) {
        return fail(ENOENT);
    }
    prime->fd = fcntl(node->buffers[i].fd, F_DUPFD_CLOEXEC, 0);
    return prime->fd < 0 ? -1 : 0;
}

static int fd_to_buffer(struct open_node *node, struct drm_prime_handle *prime)
{
    struct stat st;
    int found;

    if (is_driver(node, "vgem")) {
        return fail(ENODEV);
    }
    if (REAL(fstat)(prime->fd, &st) < 0) {
        return -1;
    }
    found = find_buffer(node, st.st_ino);
    prime->handle = found >= 0 ? (unsigned)found + 1 : hold_buffer(node, fcntl(prime->fd, F_DUPFD_CLOEXEC, 0));
    return prime->handle ? 0 : fail(ENOMEM);
}

static int close_buffer(struct open_node *node, const struct drm_gem_close *gem)
{
    unsigned i = gem->handle - 1;

    if (gem->handle == 0 || i >= OBJECTS || node->buffers[i].fd <= 0) {
        return fail(EINVAL);
    }
    REAL(close)(node->buffers[i].fd);
    node->buffers[i].fd = 0;
    return 0;
}

/* ---- sync objects */

static bool has_sync(const struct open_node *node, unsigned handle)
{
    return handle > 0 && handle <= OBJECTS && node->syncs[handle - 1].live;
}

static int make_sync(struct open_node *node, struct drm_syncobj_create *create)
{
    for (unsigned i = 0; i < OBJECTS; i++) {
        if (!node->syncs[i].live) {
            node->syncs[i].live = true;
            node->syncs[i].signalled = create->flags & DRM_SYNCOBJ_CREATE_SIGNALED;
            node->syncs[i].point = 0;
            create->handle = i + 1;
            return 0;
        }
    }
    return fail(ENOMEM);
}

static int mark_syncs(struct open_node *node, const struct drm_syncobj_array *array, bool signalled)
{
    const uint32_t *handles = (const uint32_t *)(uintptr_t)array->handles;

    for (uint32_t i = 0; i < array->count_handles; i++) {
        if (!has_sync(node, handles[i])) {
            return fail(ENOENT);
        }
        node->syncs[handles[i] - 1].signalled = signalled;
    }
    return 0;
}

static int move_points(struct open_node *node, const struct drm_syncobj_timeline_array *array, bool reads)
{
    const uint32_t *handles = (const uint32_t *)(uintptr_t)array->handles;
    uint64_t *points = (uint64_t *)(uintptr_t)array->points;

    for (uint32_t i = 0; i < array->count_handles; i++) {
        if (!has_sync(node, handles[i])) {
            return fail(ENOENT);
        }
        if (reads) {
            points[i] = node->syncs[handles[i] - 1].point;
        } else {
            node->syncs[handles[i] - 1].point = points[i];
        }
    }
    return 0;
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* No device runs here that could signal: an object that is not signalled now will not be, except by another thread. */
static int wait_syncs(struct open_node *node, const uint32_t *handles, const uint64_t *points, uint32_t n,
                      int64_t until_ns)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!has_sync(node, handles[i])) {
            return fail(ENOENT);
        }
        while (points ? node->syncs[handles[i] - 1].point < points[i] : !node->syncs[handles[i] - 1].signalled) {
            const struct timespec nap = { .tv_nsec = 500000 };

            if (now_ns() >= until_ns) {
                return fail(ETIME);
            }
            pthread_mutex_unlock(&fakedrm_lock);
            nanosleep(&nap, NULL);
            pthread_mutex_lock(&fakedrm_lock);
        }
    }
    return 0;
}

static int sync_to_fd(struct open_node *node, struct drm_syncobj_handle *ask)
{
    struct sync_token token = { .node = (unsigned)(node - fakedrm_nodes), .object = ask->handle };

    if (!has_sync(node, ask->handle)) {
        return fail(ENOENT);
    }
    ask->fd = memfd_create("fakedrm-sync", MFD_CLOEXEC);
    return pwrite(ask->fd, &token, sizeof(token), 0) == sizeof(token) ? 0 : -1;
}

static int fd_to_sync(struct open_node *node, struct drm_syncobj_handle *ask)
{
    struct sync_token token;

    if (pread(ask->fd, &token, sizeof(token), 0) != sizeof(token) || &fakedrm_nodes[token.node] != node) {
        return fail(EINVAL);
    }
    ask->handle = token.object;
    return 0;
}

static int answer_sync(struct open_node *node, unsigned number, void *arg)
{
    struct drm_syncobj_timeline_wait *late = arg;
    struct drm_syncobj_wait *wait = arg;
    bool timeline = number == 0xCA || number == 0xCB || number == 0xCD;

    if (is_driver(node, "vgem") || (timeline && !is_driver(node, "powervr"))) {
        return fail(EOPNOTSUPP);
    }
    switch (number) {
    case 0xBF:
        return make_sync(node, arg);
    case 0xC0:
        node->syncs[((struct drm_syncobj_destroy *)arg)->handle - 1].live = false;
        return 0;
    case 0xC1:
        return sync_to_fd(node, arg);
    case 0xC2:
        return fd_to_sync(node, arg);
    case 0xC3:
        return wait_syncs(node, (const uint32_t *)(uintptr_t)wait->handles, NULL, wait->count_handles,
                          wait->timeout_nsec);
    case 0xC4:
    case 0xC5:
        return mark_syncs(node, arg, number == 0xC5);
    case 0xCA:
        return wait_syncs(node, (const uint32_t *)(uintptr_t)late->handles, (const uint64_t *)(uintptr_t)late->points,
                          late->count_handles, late->timeout_nsec);
    case 0xCB:
    case 0xCD:
        return move_points(node, arg, number == 0xCB);
    default:
        return fail(ENOTTY);
    }
}

/* Dispatches by the number alone, as the kernel does. */
int fakedrm_answer(struct open_node *node, unsigned long request, void *arg)
{
    unsigned number = _IOC_NR(request);
    char lost[8];

    fakedrm_knob(node->file, "lost", lost, sizeof(lost));
    if (lost[0] == '1') {
        return fail(ENODEV);
    }
    switch (number) {
    case 0x00:
        return say_version(node, arg);
    case 0x0C:
        return say_cap(node, arg);
    case 0x09:
        return close_buffer(node, arg);
    case 0x2D:
        return buffer_to_fd(node, arg);
    case 0x2E:
        return fd_to_buffer(node, arg);
    case DRM_COMMAND_BASE:
        return say_query(node, arg);
    default:
        return number >= 0xBF && number <= 0xCF ? answer_sync(node, number, arg) : fail(EINVAL);
    }
}
