/*
 * Devices: the GPU that this daemon claims
 *
 * The search runs in the thread pool, since opening a node may wait for a driver: once at the start, and again when the
 * kernel reports that a device came or went. Status lists the devices, which one was chosen and why, and whether it is
 * claimed. The claim is kept until the device is gone or the daemon ends.
 *
 * All functions run in the loop's thread, except the search itself.
 */
#ifndef SOTTO_APP_DEVICES_H
#define SOTTO_APP_DEVICES_H

#include "config/config.h"
#include "drm/choice.h"
#include "drm/claim.h"
#include <uv.h>

/* The result of a search. */
struct devices_view {
    struct device found[DEVICES_MAX];
    uint32_t n;
    struct choice choice;
    int outcome;      /* enum choice_outcome */
    struct diag diag; /* why none was chosen, or why the choice could not be claimed */
};

struct devices {
    uv_loop_t *loop;
    struct config_device config; /* of the start, with copies of its texts: a change needs a restart */
    char texts[3][CONFIG_TREE_BYTES];
    const char *runtime;
    void (*done)(void *owner);
    void *owner;

    uv_work_t work;
    bool is_looking;
    bool again;                /* something changed during the search */
    struct root root;          /* the folder below which the search reads */
    struct devices_view fresh; /* owned by the pool during a search */
    int fault;

    struct devices_view view;
    bool has_looked;
    struct claim claim;
    char reported[DIAG_BYTES]; /* why the last search claimed nothing */
    char claimed[96];          /* bus name of the device; empty: none is claimed */

    Sotto__V1__DeviceInfo infos[DEVICES_MAX]; /* for Status: valid until the next call of devices_describe() */
    Sotto__V1__DeviceInfo *list[DEVICES_MAX];
    char versions[DEVICES_MAX][48];
};

/* Calls @done from the loop after each search. If device.gpu is "off" there is none. @runtime is the user's runtime
 * folder (or NULL), which holds the claim if the machine's is not writable. It outlives @devices. */
void devices_init(struct devices *devices, uv_loop_t *loop, const struct config_device *config, const char *runtime,
                  void (*done)(void *owner), void *owner);

/* Starts a search. One runs at a time; a call during one starts another after it. */
void devices_look(struct devices *devices);

/* Returns whether the configuration requires a GPU and the last search claimed none; *ret_why says why. */
bool devices_are_missing(const struct devices *devices, const char **ret_why);

/* Replaces the devices of @report, which come from the readings, and keeps their source of load. @devices owns the
 * memory. */
void devices_describe(struct devices *devices, Sotto__V1__StatusReport *report);

/* Drops the claim. Call it after the loop has ended. */
void devices_finish(struct devices *devices);

#endif
