/* The chain: a page is found by what it was computed from, and not by anything that only looks equal. */
#include "base/clean.h"
#include "base/map.h"
#include "failed_alloc.h"
#include "model/chain.h"
#include "unit.h"
#include <string.h>

#define N_PAGES 12

static uint64_t one_hash(const void *bytes, size_t n, uint64_t salt)
{
    return 7;
}

static struct chain chain;
static struct chain_domain *domain;

/* Returns tokens of a page that differ from those of every other @which. */
static const uint32_t *tokens_of(uint32_t which)
{
    static uint32_t tokens[EXEC_PAGE_TOK];

    for (uint32_t i = 0; i < EXEC_PAGE_TOK; i++) {
        tokens[i] = which * 100 + i;
    }
    return tokens;
}

static struct chain_domain *domain_of(const char *salt, const char *adapter, const char *numerics)
{
    const struct chain_key key = { .salt = (const uint8_t *)salt,
                                   .n_salt = strlen(salt),
                                   .adapter = (const uint8_t *)adapter,
                                   .n_adapter = strlen(adapter),
                                   .numerics = numerics };
    struct chain_domain *found;

    ck_assert_int_eq(chain_get_domain(&chain, &key, &found), 0);
    return found;
}

static void set_up(void)
{
    ck_assert_int_eq(chain_create(&chain, N_PAGES, NULL), 0);
    domain = domain_of("app", "x", "1/cpu");
}

static void set_up_one_hash(void)
{
    ck_assert_int_eq(chain_create(&chain, N_PAGES, one_hash), 0);
    domain = domain_of("app", "x", "1/cpu");
}

static void tear_down(void)
{
    ck_assert(chain_check(&chain));
    chain_drop_domain(domain);
    chain_finish(&chain);
}

/* Adds @page, full of the tokens @which, behind @before. */
static void add(uint32_t before, uint32_t which, uint32_t page)
{
    chain_add(&chain, domain, before, tokens_of(which), EXEC_PAGE_TOK, page);
}

START_TEST(a_page_is_found_by_its_tokens_and_the_page_before_it)
{
    add(CHAIN_NONE, 1, 3);
    add(3, 2, 5);

    ck_assert_uint_eq(chain_find(&chain, domain, CHAIN_NONE, tokens_of(1)), 3);
    ck_assert_uint_eq(chain_find(&chain, domain, 3, tokens_of(2)), 5);
}
END_TEST

START_TEST(equal_tokens_behind_another_page_are_another_page)
{
    add(CHAIN_NONE, 1, 0);
    add(CHAIN_NONE, 2, 1);

    add(0, 3, 2);

    ck_assert_uint_eq(chain_find(&chain, domain, 0, tokens_of(3)), 2);
    ck_assert_uint_eq(chain_find(&chain, domain, 1, tokens_of(3)), CHAIN_NONE);
    ck_assert_uint_eq(chain_find(&chain, domain, CHAIN_NONE, tokens_of(3)), CHAIN_NONE);
}
END_TEST

START_TEST(one_other_token_is_another_page)
{
    uint32_t tokens[EXEC_PAGE_TOK];

    add(CHAIN_NONE, 1, 0);

    for (uint32_t i = 0; i < EXEC_PAGE_TOK; i++) {
        memcpy(tokens, tokens_of(1), sizeof(tokens));
        tokens[i]++;
        ck_assert_uint_eq(chain_find(&chain, domain, CHAIN_NONE, tokens), CHAIN_NONE);
    }
}
END_TEST

START_TEST(nothing_of_one_domain_is_found_in_another)
{
    add(CHAIN_NONE, 1, 0);

    /* A domain differs if the bytes are the same but divided otherwise among the fields. */
    const char *others[][3] = { { "bpp", "x", "1/cpu" }, { "app", "y", "1/cpu" }, { "app", "x", "2/cpu" },
                                { "appx", "", "1/cpu" }, { "ap", "px", "1/cpu" }, { "app", "", "x1/cpu" } };
    for (size_t i = 0; i < COUNTOF(others); i++) {
        struct chain_domain *other = domain_of(others[i][0], others[i][1], others[i][2]);
        uint32_t n_same;

        ck_assert_ptr_ne(other, domain);
        ck_assert_uint_eq(chain_find(&chain, other, CHAIN_NONE, tokens_of(1)), CHAIN_NONE);
        ck_assert_uint_eq(chain_find_part(&chain, other, CHAIN_NONE, tokens_of(1), EXEC_PAGE_TOK - 1, &n_same),
                          CHAIN_NONE);
        chain_drop_domain(other);
    }
}
END_TEST

START_TEST(a_salt_that_looks_like_two_fields_is_one)
{
    /* A field that looks like two in a key without lengths: it contains the tag of the adapter and a zero length. */
    static const uint8_t looks[] = { 'a', 2, 0, 0, 0, 0, 0, 0, 0, 0, 'b' };
    static const uint8_t like[] = { 'b', 2, 0, 0, 0, 0, 0, 0, 0, 0, 'c' };
    const struct chain_key one = {
        .salt = looks, .n_salt = sizeof(looks), .adapter = (const uint8_t *)"c", .n_adapter = 1, .numerics = "n"
    };
    const struct chain_key other = {
        .salt = (const uint8_t *)"a", .n_salt = 1, .adapter = like, .n_adapter = sizeof(like), .numerics = "n"
    };
    struct chain_domain *domains[2];

    ck_assert_int_eq(chain_get_domain(&chain, &one, &domains[0]), 0);
    ck_assert_int_eq(chain_get_domain(&chain, &other, &domains[1]), 0);

    ck_assert_ptr_ne(domains[0], domains[1]);
    chain_drop_domain(domains[0]);
    chain_drop_domain(domains[1]);
}
END_TEST

START_TEST(equal_keys_name_one_domain_as_long_as_anything_is_in_it)
{
    add(CHAIN_NONE, 1, 0);
    chain_drop_domain(domain);

    ck_assert_ptr_eq(domain_of("app", "x", "1/cpu"), domain);
    chain_remove(&chain, 0);
    chain_drop_domain(domain);

    ck_assert(list_is_empty(&chain.domains));
    domain = NULL;
}
END_TEST

START_TEST(the_longest_equal_beginning_is_found)
{
    uint32_t tokens[EXEC_PAGE_TOK];
    uint32_t n_same;

    memcpy(tokens, tokens_of(1), sizeof(tokens));
    for (uint32_t i = 0; i < 3; i++) {
        tokens[4 + 3 * i] = 9999; /* equal up to here */
        chain_add(&chain, domain, CHAIN_NONE, tokens, EXEC_PAGE_TOK, i);
        tokens[4 + 3 * i] = tokens_of(1)[4 + 3 * i];
    }

    ck_assert_uint_eq(chain_find_part(&chain, domain, CHAIN_NONE, tokens, 15, &n_same), 2);
    ck_assert_uint_eq(n_same, 10);
    chain_find_part(&chain, domain, CHAIN_NONE, tokens, 3, &n_same);
    ck_assert_uint_eq(n_same, 3);
    ck_assert_uint_eq(chain_find_part(&chain, domain, CHAIN_NONE, tokens_of(2), 15, &n_same), CHAIN_NONE);
}
END_TEST

START_TEST(a_partial_page_is_never_found_as_a_whole)
{
    uint32_t n_same;

    chain_add(&chain, domain, CHAIN_NONE, tokens_of(1), 9, 4);

    ck_assert_uint_eq(chain_find(&chain, domain, CHAIN_NONE, tokens_of(1)), CHAIN_NONE);
    ck_assert_uint_eq(chain_find_part(&chain, domain, CHAIN_NONE, tokens_of(1), 15, &n_same), 4);
    ck_assert_uint_eq(n_same, 9);
}
END_TEST

START_TEST(a_removed_page_is_not_found_and_the_others_still_are)
{
    for (uint32_t i = 0; i < 4; i++) {
        add(CHAIN_NONE, i, i);
    }
    for (uint32_t gone = 0; gone < 4; gone++) {
        chain_remove(&chain, gone);

        for (uint32_t i = 0; i < 4; i++) {
            ck_assert_uint_eq(chain_find(&chain, domain, CHAIN_NONE, tokens_of(i)), i == gone ? CHAIN_NONE : i);
        }
        ck_assert(!chain_has(&chain, gone));
        add(CHAIN_NONE, gone, gone);
    }
}
END_TEST

START_TEST(a_page_is_a_leaf_until_another_follows_it)
{
    add(CHAIN_NONE, 1, 0);
    ck_assert(chain_is_leaf(&chain, 0));

    chain_add(&chain, domain, 0, tokens_of(1), 1, 1);
    ck_assert(!chain_is_leaf(&chain, 0));
    chain_remove(&chain, 1);
    ck_assert(chain_is_leaf(&chain, 0));
}
END_TEST

START_TEST(a_broken_chain_is_seen)
{
    add(CHAIN_NONE, 1, 0);
    add(0, 2, 1);
    ck_assert(chain_check(&chain));

    chain.pages[1].before = CHAIN_NONE;
    ck_assert(!chain_check(&chain));
    chain.pages[1].before = 0;
    chain.pages[1].tokens[15]++;
    chain.pages[1].hash++;
    ck_assert(!chain_check(&chain));
    chain.pages[1].hash--;
    chain.pages[1].tokens[15]--;
    chain.pages[0].first = CHAIN_NONE;
    ck_assert(!chain_check(&chain));
    chain.pages[0].first = 1;
}
END_TEST

static int make_and_end(void *data)
{
    const struct chain_key key = { .salt = (const uint8_t *)"s", .n_salt = 1, .numerics = "n" };
    struct chain_domain *found = NULL;
    struct chain made;
    int r = chain_create(&made, N_PAGES, NULL);

    if (r) {
        return r;
    }
    r = chain_get_domain(&made, &key, &found);
    chain_drop_domain(found);
    chain_finish(&made);
    return r;
}

START_TEST(an_allocation_that_fails_leaves_nothing_behind)
{
    for_each_failed_alloc(make_and_end, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model-chain");
    TCase *tcase = tcase_create("chain");
    TCase *one_hash_tcase = tcase_create("one hash");
    const TTest *tests[] = { a_page_is_found_by_its_tokens_and_the_page_before_it,
                             equal_tokens_behind_another_page_are_another_page,
                             one_other_token_is_another_page,
                             nothing_of_one_domain_is_found_in_another,
                             a_salt_that_looks_like_two_fields_is_one,
                             equal_keys_name_one_domain_as_long_as_anything_is_in_it,
                             the_longest_equal_beginning_is_found,
                             a_partial_page_is_never_found_as_a_whole,
                             a_removed_page_is_not_found_and_the_others_still_are,
                             a_page_is_a_leaf_until_another_follows_it,
                             a_broken_chain_is_seen };

    for (size_t i = 0; i < COUNTOF(tests); i++) {
        tcase_add_test(tcase, tests[i]);
        tcase_add_test(one_hash_tcase, tests[i]);
    }
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_checked_fixture(one_hash_tcase, set_up_one_hash, tear_down);
    tcase_add_test(tcase, an_allocation_that_fails_leaves_nothing_behind);
    suite_add_tcase(suite, tcase);
    suite_add_tcase(suite, one_hash_tcase);
    return unit_run(suite);
}
