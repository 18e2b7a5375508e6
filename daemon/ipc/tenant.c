#include "ipc/tenant.h"
#include "base/mem.h"
#include <assert.h>

/* There are a few dozen at most, one for each user with an open app. */
static struct tenant *find(const struct list *tenants, uint32_t uid)
{
    struct list *link;

    list_for_each (link, tenants) {
        struct tenant *tenant = container_of(link, struct tenant, link);

        if (tenant->uid == uid) {
            return tenant;
        }
    }
    return NULL;
}

struct tenant *tenant_join(struct list *tenants, uint32_t uid)
{
    struct tenant *tenant = find(tenants, uid);

    if (!tenant) {
        tenant = mem_calloc(MEM_WIRE, 1, sizeof(*tenant));
        if (!tenant) {
            return NULL;
        }
        tenant->uid = uid;
        list_init(&tenant->due);
        list_init(&tenant->queue);
        list_append(tenants, &tenant->link);
    }
    tenant->n_conns++;
    return tenant;
}

void tenant_leave(struct tenant *tenant, uint64_t wire_bytes)
{
    if (!tenant) {
        return;
    }
    assert(tenant->n_conns && tenant->wire_bytes >= wire_bytes);
    tenant->n_conns--;
    tenant->wire_bytes -= wire_bytes;
    if (!tenant->n_conns) {
        list_remove(&tenant->link);
        mem_free(tenant);
    }
}
