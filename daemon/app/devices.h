/*
 * Devices: the GPU that this daemon claims
 *
 * Looked for in the pool, once at the start and again when the kernel tells that a device came or went: opening a node
 * may wait for a driver. What was found, which one was chosen and why, and whether it is ours stands in Status. The
 * claim is kept until the device is gone or the daemon ends.
 *
 * The loop's thread, but for the look itself.
 */
#ifndef SOTTO_APP_DEVICES_H
#define SOTTO_APP_DEVICES_H

#include "config/config.h"
#include "drm/choice.h"
#include "drm/claim.h"
#include <uv.h>

/* What a look found. */
struct devices_view {
    struct device found[DEVICES_MAX];
    uint32_t n;
    struct choice choice;
    int outcome;      /* enum choice_outcome */
    struct diag diag; /* why none was chosen, or why the choice could not be claimed */
};

struct devices {
    uv_loop_t *loop;
    struct config_device config; /* of the start, with texts of its own: none of it changes before a restart */
    char texts[3][CONFIG_TREE_BYTES];
    const char *runtime;
    void (*done)(void *owner);
    void *owner;

    uv_work_t work;
    bool is_looking;
    bool again;                /* something changed during the look */
    struct root root;          /* what the pool reads below */
    struct devices_view fresh; /* the pool's, while it looks */
    int fault;

    struct devices_view view;
    bool has_looked;
    struct claim claim;
    char said[DIAG_BYTES]; /* of the last look that claimed nothing */
    char claimed[96];      /* bus name of the device; empty: none is claimed */

    Sotto__V1__DeviceInfo infos[DEVICES_MAX]; /* for Status: valid until the next call of devices_describe() */
    Sotto__V1__DeviceInfo *list[DEVICES_MAX];
    char versions[DEVICES_MAX][48];
};

/* @done is called from the loop after each look. Nothing is looked for where @config says "off". @runtime: this user's
 * own folder (or NULL), where his daemons meet if he may not write into the machine's. It outlives @devices. */
void devices_init(struct devices *devices, uv_loop_t *loop, const struct config_device *config, const char *runtime,
                  void (*done)(void *owner), void *owner);

/* Looks (again). One look at a time: a call during one makes another behind it. */
void devices_look(struct devices *devices);

/* True if the configuration requires a GPU and the last look gave none: *ret_why says why. */
bool devices_are_missing(const struct devices *devices, const char **ret_why);

/* Sets the devices of @report in place of those that the readings know, whose source of load is kept. What it points to
 * is @devices' own. */
void devices_describe(struct devices *devices, Sotto__V1__StatusReport *report);

/* Drops the claim. After the loop has ended. */
void devices_finish(struct devices *devices);

#endif
