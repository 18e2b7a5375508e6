/*
 * Tenant: what all connections of one uid hold together
 *
 * One app must not use up the descriptors and buffers of all. A tenant is there while a connection of its uid is.
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
};

/* The tenant of @uid in @tenants with one connection more; NULL: no memory. */
struct tenant *tenant_join(struct list *tenants, uint32_t uid);

/* One connection less, with @wire_bytes less; the last one frees the tenant. NULL is allowed. */
void tenant_leave(struct tenant *tenant, uint64_t wire_bytes);

#endif
