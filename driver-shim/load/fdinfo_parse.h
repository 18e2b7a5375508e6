/*
 * Fdinfo: parser of the fdinfo of an open DRM file (Documentation/gpu/drm-usage-stats.rst)
 *
 * Pure: bytes in, a struct out. Lines are "key: value [unit]" in any order. Names are compared whole; where one key is
 * a prefix of another ("drm-engine-" and "drm-engine-capacity-", "drm-total-" and "drm-total-cycles-"), the longer one
 * is tried first. Lines that can't be understood are counted, never guessed.
 */
#ifndef SOTTO_LOAD_FDINFO_PARSE_H
#define SOTTO_LOAD_FDINFO_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest file that is read; real ones have 1 or 2 kB. */
#define FDINFO_BYTES_MAX 65536u

/* amdgpu has the most, 9; further ones set is_cut. */
#define FDINFO_ENGINES_MAX 16u

struct fdinfo_engine {
    char name[32];
    bool has_ns;
    bool has_cycles;
    bool has_total;
    uint64_t ns;           /* busy time of the client */
    uint64_t cycles;       /* busy cycles */
    uint64_t total_cycles; /* the device's, of the same clock */
    uint64_t max_hz;       /* 0: unknown */
    uint64_t cur_hz;       /* 0: unknown */
    uint32_t capacity;     /* engines behind this name; 1 by default */
};

struct fdinfo {
    bool has_client;
    uint64_t client;    /* drm-client-id */
    char driver[24];    /* "": no such line */
    char pdev[24];      /* PCI slot; "": none */
    uint64_t memory_kb; /* of all regions: total, else resident, else the old "drm-memory-" */
    struct fdinfo_engine engines[FDINFO_ENGINES_MAX];
    uint32_t n_engines;  /* with at least one counter */
    uint32_t n_unparsed; /* malformed lines of times */
    bool is_cut;         /* more engines than fit */
};

/*
 * Returns false if there is no drm-* key (the driver reports nothing, or it is no DRM file); *ret_fdinfo is valid in
 * any case.
 */
bool fdinfo_parse(struct fdinfo *ret_fdinfo, const char *bytes, size_t n);

#endif
