/*
 * The grant of a peer.
 */
#include "config/config.h"
#include "unit.h"
#include <string.h>

#define SELF     1234u
#define STRANGER 4000u

static void on_sentence(void *owner, const char *sentence)
{
    (void)owner;
    ck_abort_msg("%s", sentence);
}

static struct grant grant_of(const char *text, const struct peer *peer)
{
    struct config *config = NULL;
    struct grant grant;

    config_parse(&config, "c.json", text, strlen(text), NULL, on_sentence, NULL);
    config->policy.own_uid = SELF;
    policy_grant(&config->policy, peer, &grant);
    config_destroy(config);
    return grant;
}

START_TEST(root_and_the_daemons_own_user_are_administrators)
{
    const struct peer root = { .uid = 0 };
    const struct peer self = { .uid = SELF };

    ck_assert(grant_of("{}", &root).admin);
    ck_assert(grant_of("{}", &self).admin);
    ck_assert_int_eq(grant_of("{}", &self).class_ceiling, SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME);
}
END_TEST

START_TEST(a_stranger_has_interactive_requests_and_no_admin_rights)
{
    const struct peer stranger = { .uid = STRANGER };
    const struct grant grant = grant_of("{}", &stranger);

    ck_assert_uint_eq(grant.uid, STRANGER);
    ck_assert_int_eq(grant.class_ceiling, SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE);
    ck_assert(!grant.admin && !grant.observe && !grant.special);
}
END_TEST

START_TEST(only_the_first_matching_rule_applies)
{
    const struct peer stranger = { .uid = STRANGER };
    const struct grant grant =
        grant_of("{\"policy\": [{\"uid\": 5, \"weight\": 1}, {\"uid\": 4000, \"weight\": 2}, {\"anyone\": true,"
                 " \"weight\": 3, \"admin\": true}]}",
                 &stranger);

    ck_assert_uint_eq(grant.weight, 2);
    ck_assert(!grant.admin);
}
END_TEST

START_TEST(a_rule_may_take_rights_from_root)
{
    const struct peer root = { .uid = 0 };

    ck_assert(!grant_of("{\"policy\": [{\"uid\": 0, \"admin\": false}]}", &root).admin);
}
END_TEST

START_TEST(a_group_is_primary_or_one_of_the_others)
{
    uint32_t gids[] = { 20, 30 };
    const struct peer primary = { .uid = STRANGER, .gid = 30 };
    const struct peer other = { .uid = STRANGER, .gid = 1, .gids = gids, .n_gids = 2 };
    const struct peer none = { .uid = STRANGER, .gid = 1, .gids = gids, .n_gids = 1 };
    const char *text =
        "{\"policy\": [{\"gid\": 30, \"class_ceiling\": \"realtime\", \"class_default\": \"realtime\"}]}";

    ck_assert_int_eq(grant_of(text, &primary).class_default, SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME);
    ck_assert_int_eq(grant_of(text, &other).class_default, SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME);
    ck_assert_int_eq(grant_of(text, &none).class_default, SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE);
}
END_TEST

START_TEST(a_rule_with_user_and_group_needs_both)
{
    const struct peer other_group = { .uid = 0, .gid = 77 };

    ck_assert_uint_eq(grant_of("{\"policy\": [{\"user\": \"root\", \"gid\": 78, \"weight\": 9}]}", &other_group).weight,
                      1000);
    ck_assert_uint_eq(grant_of("{\"policy\": [{\"user\": \"root\", \"gid\": 77, \"weight\": 9}]}", &other_group).weight,
                      9);
}
END_TEST

START_TEST(a_low_ceiling_lowers_the_default_class)
{
    const struct peer stranger = { .uid = STRANGER };
    const struct grant grant =
        grant_of("{\"policy\": [{\"anyone\": true, \"class_ceiling\": \"background\"}]}", &stranger);

    ck_assert_int_eq(grant.class_default, SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND);
}
END_TEST

int main(void)
{
    return unit_facts("policy", root_and_the_daemons_own_user_are_administrators,
                      a_stranger_has_interactive_requests_and_no_admin_rights, only_the_first_matching_rule_applies,
                      a_rule_may_take_rights_from_root, a_group_is_primary_or_one_of_the_others,
                      a_rule_with_user_and_group_needs_both, a_low_ceiling_lowers_the_default_class);
}
