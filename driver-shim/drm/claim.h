/*
 * Claim: this daemon, and no second one, computes on a device
 *
 * A render node has no exclusive open: whoever may open it may submit. So what the kernel does not offer is agreed
 * upon: a lock file a device, in a folder that all daemons of the machine share, held for the claim's life and free
 * when its process is gone, however it went. Apps that do not ask are kept out by the node's group and by control
 * groups, and seen by their load.
 */
#ifndef SOTTO_DRM_CLAIM_H
#define SOTTO_DRM_CLAIM_H

#include "base/diag.h"

/* Where daemons of the machine meet. A user's own daemon that may not write there uses its runtime folder, and keeps
 * out only that user's others. */
#define CLAIM_FOLDER "/run/sotto"

enum claim_outcome {
    CLAIM_OK,
    CLAIM_HELD, /* by another: @diag names process and program */
};

struct claim {
    int fd; /* of the lock; -1: none */
};

/*
 * Claims the device of name @device (a bus name, "0000:03:00.0", or a Vulkan UUID where there is no DRM node) in
 * @folder. CLAIM_OK: held until claim_drop() or the end of this process (the lock is not inherited over exec). A
 * fault comes with a sentence.
 */
int claim_take(struct claim *ret_claim, const char *folder, const char *device, struct diag *diag);

void claim_drop(struct claim *claim); /* NULL and dropped ones are allowed */

#endif
