/*
 * Fdinfo: what the kernel says of one open file of a DRM device (Documentation/gpu/drm-usage-stats.rst)
 *
 * Pure: bytes in, a struct out. Lines are "key: value [unit]" in any order. Names are compared whole; where one key
 * is the beginning of another ("drm-engine-" and "drm-engine-capacity-", "drm-total-" and "drm-total-cycles-"), the
 * longer one is asked for first. What can't be understood is counted, not guessed.
 */
#ifndef SOTTO_LOAD_FDINFO_PARSE_H
#define SOTTO_LOAD_FDINFO_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest file that is read at all; real ones have 1 or 2 kB. */
#define FDINFO_BYTES_MAX 65536u

/* amdgpu has the most, 9; a file may say more (is_cut). */
#define FDINFO_ENGINES_MAX 16u

struct fdinfo_engine {
    char name[32];
    bool has_ns;
    bool has_cycles;
    bool has_total;
    uint64_t ns;           /* busy time of this client */
    uint64_t cycles;       /* busy cycles */
    uint64_t total_cycles; /* of the device, in the same clock */
    uint64_t max_hz;       /* 0: not told */
    uint64_t cur_hz;       /* 0: not told */
    uint32_t capacity;     /* engines behind this name; 1 if not told */
};

struct fdinfo {
    bool has_client;
    uint64_t client;    /* drm-client-id */
    char driver[24];    /* "": no drm-driver line */
    char pdev[24];      /* PCI slot; "": none told */
    uint64_t memory_kb; /* of all regions: total, else resident, else the old "drm-memory-" */
    struct fdinfo_engine engines[FDINFO_ENGINES_MAX];
    uint32_t n_engines;  /* with a counter of at least one kind */
    uint32_t n_unparsed; /* lines of times that could not be understood */
    bool is_cut;         /* more engines than fit */
};

/*
 * False: no drm-* key is in it (a driver that tells nothing, or no DRM file at all); *ret_fdinfo is filled all the
 * same.
 */
bool fdinfo_parse(struct fdinfo *ret_fdinfo, const char *bytes, size_t n);

#endif
