/*
 * Pvr: the core of a GPU, as the mainline powervr driver reports it
 *
 * Three queries, read-only and cheap: they name the core and allow a check of the limits that the Vulkan driver claims.
 */
#ifndef SOTTO_DRM_PVR_H
#define SOTTO_DRM_PVR_H

#include <stdint.h>

#define PVR_QUIRKS_MAX 64u

struct pvr_core {
    uint16_t branch; /* the four numbers of the core: B.V.N.C */
    uint16_t version;
    uint16_t cores;
    uint16_t config;
    uint32_t n_phantoms;
    uint32_t local_bytes; /* maximum local memory of a compute kernel */
    uint32_t quirks[PVR_QUIRKS_MAX];
    uint32_t n_quirks; /* quirks that the kernel works around, cut at PVR_QUIRKS_MAX */
};

/* Queries the powervr node @fd. 0 or a fault: -ENODEV when the device is lost, -ENOTTY when it is another driver's. */
int pvr_query_core(int fd, struct pvr_core *ret_core);

#endif
