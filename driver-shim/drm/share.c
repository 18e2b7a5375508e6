/* libdrm's PRIME calls, and the synchronisation of linux/dma-buf.h. */
#include "drm/share.h"

#include "base/err.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <sys/ioctl.h>
#include <xf86drm.h>

void share_init(struct share *share, int fd)
{
    share->fd = fd;
    map_init(&share->uses, MEM_MISC);
}

static void close_handle(int fd, uint32_t handle)
{
    (void)drmCloseBufferHandle(fd, handle); /* fails for a lost device, which has no handles any more */
}

void share_finish(struct share *share)
{
    const struct map_entry *entry;
    size_t at = 0;

    while ((entry = map_next(&share->uses, &at))) {
        close_handle(share->fd, (uint32_t)entry->n_key);
    }
    map_finish(&share->uses);
}

int share_own(struct share *share, uint32_t handle)
{
    union map_value *uses = map_find(&share->uses, handle);

    if (uses) {
        uses->number++;
        return 0;
    }
    if (map_put(&share->uses, handle, (union map_value){ .number = 1 }) < 0) {
        close_handle(share->fd, handle);
        return err_new(-ENOMEM);
    }
    return 0;
}

int share_export(struct share *share, uint32_t handle, int *ret_fd)
{
    int fd;

    assert(map_find(&share->uses, handle));
    if (drmPrimeHandleToFD(share->fd, handle, DRM_CLOEXEC | DRM_RDWR, &fd) < 0) {
        return err_new(-errno);
    }
    *ret_fd = fd;
    return 0;
}

int share_import(struct share *share, int dmabuf_fd, uint32_t *ret_handle)
{
    uint32_t handle;
    int r;

    if (drmPrimeFDToHandle(share->fd, dmabuf_fd, &handle) < 0) {
        return err_new(-errno);
    }
    r = share_own(share, handle);
    if (r) {
        return err_up(r);
    }
    *ret_handle = handle;
    return 0;
}

void share_drop(struct share *share, uint32_t handle)
{
    union map_value *uses = map_find(&share->uses, handle);

    assert(uses);
    if (--uses->number == 0) {
        map_remove(&share->uses, handle);
        close_handle(share->fd, handle);
    }
}

/* Repeats an ioctl that a signal interrupted. */
static int retry_ioctl(int fd, unsigned long request, void *arg)
{
    int r;

    do {
        r = ioctl(fd, request, arg);
    } while (r < 0 && (errno == EINTR || errno == EAGAIN));
    return r < 0 ? err_new(-errno) : 0;
}

int share_cpu_begin(int dmabuf_fd, bool writes)
{
    struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | (writes ? DMA_BUF_SYNC_RW : DMA_BUF_SYNC_READ) };

    return retry_ioctl(dmabuf_fd, DMA_BUF_IOCTL_SYNC, &sync);
}

int share_cpu_end(int dmabuf_fd, bool wrote)
{
    struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_END | (wrote ? DMA_BUF_SYNC_RW : DMA_BUF_SYNC_READ) };

    return retry_ioctl(dmabuf_fd, DMA_BUF_IOCTL_SYNC, &sync);
}

int share_fence(int dmabuf_fd, bool writes, int *ret_fd)
{
    struct dma_buf_export_sync_file ask = { .flags = writes ? DMA_BUF_SYNC_RW : DMA_BUF_SYNC_READ, .fd = -1 };
    int r = retry_ioctl(dmabuf_fd, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &ask);

    if (r) {
        return r;
    }
    *ret_fd = ask.fd;
    return 0;
}
