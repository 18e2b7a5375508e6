/*
 * Pvr uapi: the queries of the mainline powervr driver
 *
 * Our own definitions, after the kernel's include/uapi/drm/pvr_drm.h as of Linux 6.12 to 7.2, which no distribution's
 * libdrm has. Only queries: just the driver's own compiler can make command streams, so sotto never submits here.
 *
 * All structures are padded to 64 bits, and all padding must be zero. The kernel dispatches by the number of a request,
 * not by its whole word, and copies the smaller of both sizes.
 */
#ifndef SOTTO_DRM_PVR_UAPI_H
#define SOTTO_DRM_PVR_UAPI_H

#include <drm.h>
#include <stdint.h>

struct pvr_query_args {
    uint32_t type;    /* enum pvr_query */
    uint32_t size;    /* bytes at @pointer; with pointer 0 the kernel returns how many it would fill */
    uint64_t pointer; /* user memory */
};

enum pvr_query {
    PVR_QUERY_GPU_INFO = 0,
    PVR_QUERY_RUNTIME_INFO = 1,
    PVR_QUERY_QUIRKS = 2,
    PVR_QUERY_ENHANCEMENTS = 3,
};

struct pvr_query_gpu_info {
    uint64_t gpu_id; /* branch << 48, version << 32, cores << 16, config */
    uint32_t num_phantoms;
    uint32_t padding;
};

struct pvr_query_runtime_info {
    uint64_t free_list_min_pages;
    uint64_t free_list_max_pages;
    uint32_t common_store_alloc_region_size; /* dwords, as the next three */
    uint32_t common_store_partition_space_size;
    uint32_t max_coeffs;
    uint32_t cdm_max_local_mem_size_regs; /* maximum local memory of a compute kernel */
};

struct pvr_query_quirks {
    uint64_t quirks; /* uint32_t[], numbers of known hardware faults (BRN) */
    uint16_t count;
    uint16_t musthave_count; /* those at the beginning of the list that must be worked around */
    uint32_t padding;
};

#define PVR_IOCTL_DEV_QUERY DRM_IOWR(DRM_COMMAND_BASE + 0x00, struct pvr_query_args)

#endif
