/*
 * Tenant: what all connections of one uid hold together
 *
 * One app must not use up the descriptors and buffers of all, nor the loop's time. A tenant exists as long as a
 * connection of its uid.
 */
#ifndef SOTTO_IPC_TENANT_H
#define SOTTO_IPC_TENANT_H

#include "base/list.h"
#include <stdint.h>

struct tenant {
    struct list link; /* ipc::tenants */
    uint32_t uid;
    uint32_t n_conns;
    uint64_t wire_bytes;
    struct list due;   /* ipc::due: one of its connections waits in its queue (frame_queue.h) */
    struct list queue; /* conn::queued: those that wait */
    uint64_t cost;     /* bytes of its frames and answers, and of what frames cost */
};

/* Adds a connection to the tenant of @uid in @tenants and returns it; NULL: no memory. */
struct tenant *tenant_join(struct list *tenants, uint32_t uid);

/* Takes a connection and its @wire_bytes off @tenant; the last one frees it. NULL is allowed. */
void tenant_leave(struct tenant *tenant, uint64_t wire_bytes);

#endif
