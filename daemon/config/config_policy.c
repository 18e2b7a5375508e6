/*
 * Config policy: the default grant, and the rule that applies
 */
#include "config/config_policy.h"
#include "config/config_keys.h"
#include "proto/limit.h"

/* Enough for an app with many windows; 64 is also the limit of a connection. */
#define BUILT_IN_STREAMS 64u
#define BUILT_IN_WEIGHT  1000u

/* A conversation for each window, for as long as a user may come back to it. */
#define BUILT_IN_SESSIONS        16u
#define BUILT_IN_SESSION_IDLE_MS 1800000u

static void built_in(const struct policy *policy, uint32_t uid, struct grant *ret_grant)
{
    bool owner = uid == 0 || uid == policy->own_uid;

    *ret_grant = (struct grant){
        .uid = uid,
        .class_ceiling =
            owner ? SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME : SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE,
        .class_default = SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE,
        .weight = BUILT_IN_WEIGHT,
        .n_streams = BUILT_IN_STREAMS,
        .n_answer = DEFAULT_ANSWER_TOKENS,
        .n_sessions = BUILT_IN_SESSIONS,
        .session_idle_ms = BUILT_IN_SESSION_IDLE_MS,
        .admin = owner,
        .observe = owner,
        .special = owner,
        .graphics_hint = owner,
    };
}

static bool rule_holds(const struct policy_rule *rule, const struct peer *peer)
{
    if (rule->by_uid && rule->uid != peer->uid) {
        return false;
    }
    return !rule->by_gid || peer_is_in(peer, rule->gid);
}

static void apply(const struct policy_rule *rule, struct grant *grant)
{
    const struct config_list *list = config_keys(CONFIG_RULE);
    struct policy_rule whole = { .grant = *grant };

    for (size_t i = 0; i < list->n; i++) {
        if (rule->present & (UINT64_C(1) << i)) {
            config_key_copy(&list->keys[i], rule, &whole);
        }
    }
    *grant = whole.grant;
}

void policy_grant(const struct policy *policy, const struct peer *peer, struct grant *ret_grant)
{
    built_in(policy, peer->uid, ret_grant);
    for (size_t i = 0; i < policy->n; i++) {
        if (rule_holds(&policy->rules[i], peer)) {
            apply(&policy->rules[i], ret_grant);
            break;
        }
    }
    /* A rule may give the ceiling alone; the default class is never above it. */
    if (ret_grant->class_default > ret_grant->class_ceiling) {
        ret_grant->class_default = ret_grant->class_ceiling;
    }
    ret_grant->uid = peer->uid;
}
