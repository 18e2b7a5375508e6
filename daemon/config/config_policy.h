/*
 * Config policy: the identity of a peer decides its rights
 *
 * Rules are tried in order. The first rule with all conditions matching applies and overrides the defaults: root
 * and the daemon's own user are administrators, all others may make interactive requests within the default limits.
 * The kernel tells the identity (socket credentials), never the peer itself.
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
    const char *user; /* as written; resolved to @uid when the configuration is read */
    const char *group;
    struct grant grant;
};

struct policy {
    const struct policy_rule *rules; /* in the arena of the configuration */
    size_t n;
    uint32_t own_uid;
};

/* Gives the grant of @peer: without a matching rule the default one. */
void policy_grant(const struct policy *policy, const struct peer *peer, struct grant *ret_grant);

#endif
