/*
 * Policy: who a peer is decides what it may
 *
 * Rules are tried in order; the first whose conditions all hold is the peer's, and overrides what is built in for
 * everybody: root and the daemon's own user administer it, all others may ask interactively within the default
 * limits. Identity comes from the kernel (socket credentials), never from what a peer says.
 */
#ifndef SOTTO_CONFIG_CONFIG_POLICY_H
#define SOTTO_CONFIG_CONFIG_POLICY_H

#include "hub/hub.h"
#include "ipc/peer.h"

struct policy_rule {
    uint64_t present; /* bit i: key i of config_keys(CONFIG_RULE) was given */
    uint32_t uid;     /* valid with @by_uid */
    uint32_t gid;     /* valid with @by_gid; any of the peer's groups */
    bool by_uid;
    bool by_gid;
    bool anyone;
    const char *user; /* as written; resolved into @uid when the configuration is read */
    const char *group;
    struct grant grant;
};

struct policy {
    const struct policy_rule *rules; /* the configuration's */
    size_t n;
    uint32_t own_uid;
};

/* What @peer gets. Never fails: without a rule the built-in grant holds. */
void policy_grant(const struct policy *policy, const struct peer *peer, struct grant *ret_grant);

#endif
