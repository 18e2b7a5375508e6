/*
 * Claim: the right to compute on a device, held by one daemon
 *
 * A render node can't be opened exclusively, so daemons agree on a lock file per device, in a folder that all daemons
 * of the machine share. The lock is held for the life of the claim and is released when its process ends, however it
 * ends. Apps that don't take part are kept out by the node's group and by control groups, and are seen by their load.
 */
#ifndef SOTTO_DRM_CLAIM_H
#define SOTTO_DRM_CLAIM_H

#include "base/diag.h"

/*
 * Folder of the lock files. A user's own daemon that may not write there uses its runtime folder, and excludes only
 * that user's other daemons.
 */
#define CLAIM_FOLDER "/run/sotto"

enum claim_outcome {
    CLAIM_OK,
    CLAIM_HELD, /* held by another process: @diag names it and its program */
};

struct claim {
    int fd; /* the locked file; -1: none */
};

/*
 * Claims the device named @device (a bus name, "0000:03:00.0", or a Vulkan UUID where there is no DRM node) in @folder.
 * CLAIM_OK: held until claim_drop() or the end of this process (exec does not inherit the lock). A fault sets @diag.
 */
int claim_take(struct claim *ret_claim, const char *folder, const char *device, struct diag *diag);

void claim_drop(struct claim *claim); /* NULL and dropped claims are allowed */

#endif
