/*
 * Share: buffers of a device as dma-bufs, in and out
 *
 * The kernel counts no references to a handle: importing a buffer that came from the same file gives the handle
 * that it has already, and closing it once closes it for all. So handles of one open file are counted here, and
 * nobody closes one by himself.
 *
 * One thread at a time for each struct share.
 */
#ifndef SOTTO_DRM_SHARE_H
#define SOTTO_DRM_SHARE_H

#include "base/map.h"
#include <stdbool.h>
#include <stdint.h>

struct share {
    int fd;          /* of the node; the caller's */
    struct map uses; /* handle to how often it is held */
};

void share_init(struct share *share, int fd);

/* Closes what is still held. */
void share_finish(struct share *share);

/* Takes @handle, fresh from a driver's ioctl, into the count. 0 or -ENOMEM: then the handle was closed. */
int share_own(struct share *share, uint32_t handle);

/* A dma-buf of a counted handle: a descriptor in *ret_fd, the caller's; close-on-exec, readable and writable. 0 or a
 * fault (-ENODEV: the device is lost; -ENOSYS, -EOPNOTSUPP: the driver does not export). */
int share_export(struct share *share, uint32_t handle, int *ret_fd);

/* A handle for the dma-buf @dmabuf_fd, which stays the caller's; counted. Ends with share_drop(). */
int share_import(struct share *share, int dmabuf_fd, uint32_t *ret_handle);

/* One holder less; the last one closes the handle. */
void share_drop(struct share *share, uint32_t handle);

/* Before and after the CPU reads (and writes, if @writes) a mapped dma-buf: brings caches in line. 0 or a fault. */
int share_cpu_begin(int dmabuf_fd, bool writes);
int share_cpu_end(int dmabuf_fd, bool wrote);

/* A sync file that ends when all work on the dma-buf has ended (of writers; if @writes, of readers, too), in
 * *ret_fd. -ENOTTY: the kernel is older than 6.0. */
int share_fence(int dmabuf_fd, bool writes, int *ret_fd);

#endif
