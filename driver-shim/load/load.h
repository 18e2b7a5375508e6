/*
 * Load: which sources of load a device has, best first
 *
 * A device may tell who uses it (fdinfo), how busy each of its sides is (the vendor's status file), when jobs begin
 * and end (trace events), one figure for everything (a busy percentage), or only whether it has power and at which
 * clock. load_find() makes a source for each way that this device could have; each says in its `why` what it is good
 * for, and in each reading whether it works now. Ranks are fixed (enum load_rank), so that the best one that is OK
 * decides.
 */
#ifndef SOTTO_LOAD_LOAD_H
#define SOTTO_LOAD_LOAD_H

#include "sense/source.h"

/* More devices than any head unit has; the rest is left out. */
#define GPUS_MAX 16u

#define GPU_NO_MINOR UINT32_MAX

enum load_rank {
    LOAD_RANK_VENDOR = 10,  /* pvr/status: 3D and compute apart, all clients of all guests */
    LOAD_RANK_FDINFO = 20,  /* every client by itself */
    LOAD_RANK_SCHED = 30,   /* jobs by trace events: queued in firmware counts as running */
    LOAD_RANK_BUSY = 40,    /* one percentage, measured by the device, ours in it */
    LOAD_RANK_DEVFREQ = 45, /* one percentage, measured by the clock's governor, ours in it */
    LOAD_RANK_POWER = 60,   /* time under power: an upper bound, ours in it */
    LOAD_RANK_CLOCK = 70,   /* time at each clock: a hint, ours in it */
};

struct gpu {
    uint32_t minor;  /* of its render node, or of its card where it has none; GPU_NO_MINOR: no DRM node (kgsl) */
    uint32_t card;   /* of its card; GPU_NO_MINOR: none */
    char node[16];   /* "renderD128" */
    char driver[24]; /* as DRM names it: "powervr", "pvr", "msm", ... */
    char name[48];   /* of the device on its bus: "fd00000.gpu", "0000:03:00.0" */
    char path[160];  /* its folder: "/sys/devices/platform/bus@f0000/fd00000.gpu" */
    bool is_pci;
    bool has_display; /* the card has connectors */
    bool is_lit;      /* and a screen is connected to one of them */
};

/*
 * Lists the DRM devices below @root, by /sys/class/drm, lowest minor first; a device without a DRM node that we know
 * to read (kgsl) stands last. Returns how many; none is no fault. The driver's name is that of its kernel driver, put
 * into DRM's words; whoever has asked the device itself (drmGetVersion) may put in what it said.
 */
uint32_t gpu_list(const struct root *root, struct gpu *devices, uint32_t cap);

/*
 * Appends to @sources (source::link) everything that could tell of load and clock of @device, best first.
 * @root must live as long as the sources. Owner of the sources is the caller. 0 or -ENOMEM (then nothing is
 * appended).
 */
int load_find(struct list *sources, const struct root *root, const struct gpu *device);

/* What DRM calls the driver that the kernel's buses call @kernel: "vc4" for "vc4-drm". @kernel itself if alike. */
const char *gpu_drm_name(const char *kernel);

/*
 * True if @sources has a source of @device's load already. Its clients are looked for soon then, because whoever
 * scans does so after something happened. Any thread.
 */
bool load_refresh(const struct list *sources, const struct gpu *device);

/* What remains to be said of a driver that tells nothing ("powervr"), for people; or NULL. */
const char *load_note(const struct gpu *device);

/* For those who make sources of load: what they all share. load_describe() is for one that is initialised already. */
void load_source_init(struct source *source, const struct source_table *table, enum reading_quantity quantity,
                      uint32_t rank, const struct gpu *device);
void load_describe(struct source *source, uint32_t rank, const struct gpu *device);

#endif
