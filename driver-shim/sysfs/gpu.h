/*
 * Gpu: the GPUs and displays that the kernel lists
 *
 * Only files of /sys are read, so a recorded tree is listed as a machine is.
 */
#ifndef SOTTO_SYSFS_GPU_H
#define SOTTO_SYSFS_GPU_H

#include "sysfs/root.h"

/* More devices than any head unit has; further ones are left out. */
#define GPUS_MAX 16u

#define GPU_NO_MINOR UINT32_MAX

/* Folder of Adreno under its vendor's driver, which has no DRM node. */
#define GPU_KGSL "/sys/class/kgsl/kgsl-3d0"

struct gpu {
    uint32_t minor;  /* of the render node, else of the card; GPU_NO_MINOR: no DRM node (kgsl) */
    uint32_t card;   /* of the card; GPU_NO_MINOR: none */
    char node[16];   /* "renderD128" */
    char driver[24]; /* DRM's name: "powervr", "pvr", "msm", ... */
    char name[48];   /* on its bus: "fd00000.gpu", "0000:03:00.0" */
    char path[160];  /* folder: "/sys/devices/platform/bus@f0000/fd00000.gpu" */
    bool is_pci;
    bool has_display; /* the card has connectors */
    bool is_lit;      /* a screen is connected to one of them */
};

/*
 * Lists the DRM devices below @root, by /sys/class/drm, lowest minor first; kgsl, which has no DRM node, comes last.
 * Returns their number; 0 is no fault. The driver's name is the kernel driver's, in DRM's words; a caller that asked
 * the device itself (drmGetVersion) may replace it with the answer.
 */
uint32_t gpu_list(const struct root *root, struct gpu *devices, uint32_t cap);

/* Sets path, and name from it. False: @path is too long, and nothing has changed. */
bool gpu_set_path(struct gpu *gpu, const char *path);

/* Parses the name of a node, "renderD128" or "card0". False: another name, such as "card1-HDMI-A-1" or "version". */
bool gpu_parse_node(const char *name, bool *ret_is_render, uint32_t *ret_minor);

/* Returns DRM's name of the driver that the kernel's buses call @kernel: "vc4" for "vc4-drm"; else @kernel itself. */
const char *gpu_drm_name(const char *kernel);

#endif
