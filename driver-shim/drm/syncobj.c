/*
 * The kernel expects timeouts as absolute times of CLOCK_MONOTONIC. The eventfd request is defined here: libdrm 2.4.114
 * has none.
 */
#include "drm/syncobj.h"

#include "base/clock.h"
#include "base/err.h"
#include <errno.h>
#include <xf86drm.h>

/* struct drm_syncobj_eventfd of include/uapi/drm/drm.h, Linux 6.6. */
struct syncobj_eventfd {
    uint32_t handle;
    uint32_t flags;
    uint64_t point;
    int32_t fd;
    uint32_t padding;
};

#define SYNCOBJ_IOCTL_EVENTFD DRM_IOWR(0xCF, struct syncobj_eventfd)

static int result(int r)
{
    /* Some calls of libdrm return -errno, some -1 with errno. */
    return r == 0 ? 0 : err_new(r < -1 ? r : -errno);
}

int syncobj_create(struct syncobj *ret_object, int fd, bool signalled)
{
    uint32_t handle;
    int r = result(drmSyncobjCreate(fd, signalled ? DRM_SYNCOBJ_CREATE_SIGNALED : 0, &handle));

    if (r) {
        return err_up(r);
    }
    *ret_object = (struct syncobj){ .fd = fd, .handle = handle };
    return 0;
}

void syncobj_destroy(struct syncobj *object)
{
    if (object && object->handle) {
        (void)drmSyncobjDestroy(object->fd, object->handle);
        object->handle = 0;
    }
}

int syncobj_export(const struct syncobj *object, int *ret_fd)
{
    return result(drmSyncobjHandleToFD(object->fd, object->handle, ret_fd));
}

int syncobj_import(struct syncobj *ret_object, int fd, int object_fd)
{
    uint32_t handle;
    int r = result(drmSyncobjFDToHandle(fd, object_fd, &handle));

    if (r) {
        return err_up(r);
    }
    *ret_object = (struct syncobj){ .fd = fd, .handle = handle };
    return 0;
}

int syncobj_signal(const struct syncobj *object)
{
    return result(drmSyncobjSignal(object->fd, &object->handle, 1));
}

int syncobj_reset(const struct syncobj *object)
{
    return result(drmSyncobjReset(object->fd, &object->handle, 1));
}

int syncobj_signal_point(const struct syncobj *object, uint64_t point)
{
    return result(drmSyncobjTimelineSignal(object->fd, &object->handle, &point, 1));
}

int syncobj_read(const struct syncobj *object, uint64_t *ret_point)
{
    uint32_t handle = object->handle;

    return result(drmSyncobjQuery(object->fd, &handle, ret_point, 1));
}

int syncobj_wait(const struct syncobj *object, uint64_t point, uint64_t limit_us)
{
    uint64_t until_us = clock_mono_us() + limit_us;
    int64_t until_ns = until_us > INT64_MAX / 1000 ? INT64_MAX : (int64_t)until_us * 1000;
    uint32_t flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT;
    uint32_t handle = object->handle;
    int r;

    r = result(point ? drmSyncobjTimelineWait(object->fd, &handle, &point, 1, until_ns, flags, NULL)
                     : drmSyncobjWait(object->fd, &handle, 1, until_ns, flags, NULL));
    return r == -ETIME ? SYNCOBJ_LATE : r;
}

int syncobj_notify(const struct syncobj *object, uint64_t point, int event_fd)
{
    struct syncobj_eventfd ask = { .handle = object->handle, .point = point, .fd = event_fd };

    return result(drmIoctl(object->fd, SYNCOBJ_IOCTL_EVENTFD, &ask));
}
