/* Budgets, limits, and when accounts are forgotten. */
#include "failed_alloc.h"
#include "sched/account.h"
#include "unit.h"

#define SECOND_US 1000000ull

static const struct account_limits limits = {
    .weight = 1000,
    .n_streams = 2,
    .n_waiting = 1,
    .tokens_a_minute = 60,
};

START_TEST(one_uid_is_one_account)
{
    struct accounts accounts;
    struct account *first;
    struct account *again;
    struct account *other;

    accounts_init(&accounts);
    ck_assert_int_eq(accounts_get(&accounts, 1000, &first), 0);
    ck_assert_int_eq(accounts_get(&accounts, 1000, &again), 0);
    ck_assert_int_eq(accounts_get(&accounts, 1001, &other), 0);

    ck_assert_ptr_eq(first, again);
    ck_assert_ptr_ne(first, other);
    accounts_finish(&accounts);
}
END_TEST

START_TEST(the_tighter_of_two_bounds_is_the_room_that_is_left)
{
    struct account account = { .n_live = 2 };

    ck_assert_uint_eq(account_room(&account, &limits), 0); /* of two live */
    account.n_live = 1;
    account.n_waiting = 1;
    ck_assert_uint_eq(account_room(&account, &limits), 0); /* of one waiting */
    account.n_waiting = 0;
    ck_assert_uint_eq(account_room(&account, &limits), 1);
}
END_TEST

START_TEST(memory_of_one_uid_has_a_ceiling)
{
    struct account account = { 0 };
    uint64_t wait_us = 0;

    account_hold(&account, ACCOUNT_BYTES_MAX);

    ck_assert_int_eq(account_admit(&account, &limits, 1, 0, &wait_us), ACCOUNT_BYTES);
    account_hold(&account, -1);
    ck_assert_int_eq(account_admit(&account, &limits, 1, 0, &wait_us), ACCOUNT_OK);
}
END_TEST

START_TEST(a_spent_minute_refuses_and_says_when_a_token_has_room)
{
    struct account account = { 0 };
    uint64_t wait_us = 0;
    uint64_t at_us = 1000 * SECOND_US;

    account_spend(&account, 60, 60, at_us);

    /* 60 a minute: one token a second. */
    ck_assert_int_eq(account_admit(&account, &limits, 0, at_us, &wait_us), ACCOUNT_BUDGET);
    ck_assert_uint_eq(wait_us, SECOND_US);
    ck_assert_uint_eq(account_wait_us(&account, 60, at_us + SECOND_US), 0);
    ck_assert_uint_gt(account_wait_us(&account, 60, at_us + SECOND_US / 2), 0);
}
END_TEST

START_TEST(a_debt_is_waited_off)
{
    struct account account = { 0 };

    account_spend(&account, 60, 90, 0);

    ck_assert_uint_eq(account_wait_us(&account, 60, 0), 31 * SECOND_US);
    ck_assert_uint_eq(account_wait_us(&account, 60, 31 * SECOND_US), 0);
}
END_TEST

START_TEST(without_a_budget_nothing_is_owed)
{
    struct account account = { 0 };

    account_spend(&account, 0, 1000000, 0);

    ck_assert_uint_eq(account_wait_us(&account, 0, 0), 0);
}
END_TEST

START_TEST(a_quiet_account_is_forgotten_and_a_live_one_is_not)
{
    struct accounts accounts;
    struct account *live;
    struct account *quiet;

    accounts_init(&accounts);
    ck_assert_int_eq(accounts_get(&accounts, 1, &live), 0);
    ck_assert_int_eq(accounts_get(&accounts, 2, &quiet), 0);
    live->n_live = 1;
    accounts_sweep(&accounts, 0, 3600 * SECOND_US);

    ck_assert_ptr_nonnull(map_find(&accounts.by_uid, 1));
    ck_assert_ptr_null(map_find(&accounts.by_uid, 2));
    accounts_finish(&accounts);
}
END_TEST

START_TEST(a_suspect_account_is_remembered)
{
    struct accounts accounts;
    struct account *account;

    accounts_init(&accounts);
    ck_assert_int_eq(accounts_get(&accounts, 1, &account), 0);
    account->suspect_us = 100;
    accounts_sweep(&accounts, 99, 3600 * SECOND_US);

    ck_assert_ptr_nonnull(map_find(&accounts.by_uid, 1));
    accounts_finish(&accounts);
}
END_TEST

static int get_two(void *data)
{
    struct accounts accounts;
    struct account *account;
    int r;

    (void)data;
    accounts_init(&accounts);
    r = accounts_get(&accounts, 1, &account);
    r = r ? r : accounts_get(&accounts, 2, &account);
    accounts_finish(&accounts);
    return r;
}

START_TEST(any_allocation_may_fail_and_nothing_is_lost)
{
    for_each_failed_alloc(get_two, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched-account");
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, one_uid_is_one_account);
    tcase_add_test(tcase, the_tighter_of_two_bounds_is_the_room_that_is_left);
    tcase_add_test(tcase, memory_of_one_uid_has_a_ceiling);
    tcase_add_test(tcase, a_spent_minute_refuses_and_says_when_a_token_has_room);
    tcase_add_test(tcase, a_debt_is_waited_off);
    tcase_add_test(tcase, without_a_budget_nothing_is_owed);
    tcase_add_test(tcase, a_quiet_account_is_forgotten_and_a_live_one_is_not);
    tcase_add_test(tcase, a_suspect_account_is_remembered);
    tcase_add_test(tcase, any_allocation_may_fail_and_nothing_is_lost);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
