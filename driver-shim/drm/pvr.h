/*
 * Pvr: what the mainline powervr driver tells of its core
 *
 * Three queries, read-only and cheap: they name the core and cross-check the limits that the Vulkan driver claims.
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
    uint32_t local_bytes; /* local memory of a compute kernel at most */
    uint32_t quirks[PVR_QUIRKS_MAX];
    uint32_t n_quirks; /* that the kernel works around; those over PVR_QUIRKS_MAX are left out */
};

/* Asks the powervr node @fd. 0 or a fault: -ENODEV when the device is lost, -ENOTTY when it is another driver's. */
int pvr_query_core(int fd, struct pvr_core *ret_core);

#endif
