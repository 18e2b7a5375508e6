/*
 * Syncobj: the kernel's sync objects, where the driver has them
 *
 * A binary object is signalled or not; a timeline holds a number that rises. Work on a device signals them; the CPU
 * always waits with a timeout. Drivers without them answer -EOPNOTSUPP, which device.features tells in advance.
 *
 * The Vulkan backend will use them; until then only tests and the vm probe do.
 */
#ifndef SOTTO_DRM_SYNCOBJ_H
#define SOTTO_DRM_SYNCOBJ_H

#include <stdbool.h>
#include <stdint.h>

struct syncobj {
    int fd;          /* the node; the caller's */
    uint32_t handle; /* 0: none */
};

/* Creates a sync object. 0 or a fault: -EOPNOTSUPP (the driver has none), -ENODEV (lost). */
int syncobj_create(struct syncobj *ret_object, int fd, bool signalled);
void syncobj_destroy(struct syncobj *object);

/* Exports to or imports from another process or device, as a descriptor, which is the caller's. */
int syncobj_export(const struct syncobj *object, int *ret_fd);
int syncobj_import(struct syncobj *ret_object, int fd, int object_fd);

int syncobj_signal(const struct syncobj *object);
int syncobj_reset(const struct syncobj *object);

/* Timelines: *ret_point is what is signalled. -EOPNOTSUPP where the driver has only binary ones. */
int syncobj_signal_point(const struct syncobj *object, uint64_t point);
int syncobj_read(const struct syncobj *object, uint64_t *ret_point);

enum syncobj_outcome {
    SYNCOBJ_OK,
    SYNCOBJ_LATE, /* not signalled within the limit */
};

/* Waits until it is signalled (@point 0), or has reached @point, at most @limit_us. Also for work that is not submitted
 * yet. SYNCOBJ_OK, SYNCOBJ_LATE or a fault. */
int syncobj_wait(const struct syncobj *object, uint64_t point, uint64_t limit_us);

/* Lets the eventfd @event_fd count one when @point (0: a binary one) is signalled. -ENOTTY before Linux 6.6. */
int syncobj_notify(const struct syncobj *object, uint64_t point, int event_fd);

#endif
