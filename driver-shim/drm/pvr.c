/*
 * The queries of include/uapi/drm/pvr_drm.h, one ioctl each.
 */
#include "drm/pvr.h"

#include "base/err.h"
#include "base/num.h"
#include "drm/pvr_uapi.h"
#include <errno.h>
#include <xf86drm.h>

static int query(int fd, enum pvr_query type, void *into, uint32_t size)
{
    struct pvr_query_args args = { .type = type, .size = size, .pointer = (uint64_t)(uintptr_t)into };

    return drmIoctl(fd, PVR_IOCTL_DEV_QUERY, &args) < 0 ? err_new(-errno) : 0;
}

/* The first query returns only the count: the caller provides the list's memory. */
static int query_quirks(int fd, struct pvr_core *core)
{
    struct pvr_query_quirks list = { 0 };
    int r = query(fd, PVR_QUERY_QUIRKS, &list, sizeof(list));

    if (r) {
        return err_up(r);
    }
    list.quirks = (uint64_t)(uintptr_t)core->quirks;
    list.count = (uint16_t)num_min(list.count, PVR_QUIRKS_MAX);
    core->n_quirks = list.count;
    list.musthave_count = 0;
    return list.count ? err_up(query(fd, PVR_QUERY_QUIRKS, &list, sizeof(list))) : 0;
}

int pvr_query_core(int fd, struct pvr_core *ret_core)
{
    struct pvr_query_gpu_info info = { 0 };
    struct pvr_query_runtime_info limits = { 0 };
    struct pvr_core core = { 0 };
    int r;

    r = query(fd, PVR_QUERY_GPU_INFO, &info, sizeof(info));
    if (!r) {
        r = query(fd, PVR_QUERY_RUNTIME_INFO, &limits, sizeof(limits));
    }
    if (!r) {
        r = query_quirks(fd, &core);
    }
    if (r) {
        return err_up(r);
    }
    core.branch = (uint16_t)(info.gpu_id >> 48);
    core.version = (uint16_t)(info.gpu_id >> 32);
    core.cores = (uint16_t)(info.gpu_id >> 16);
    core.config = (uint16_t)info.gpu_id;
    core.n_phantoms = info.num_phantoms;
    core.local_bytes = limits.cdm_max_local_mem_size_regs * 4;
    *ret_core = core;
    return 0;
}
