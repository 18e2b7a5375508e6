/* Pages: free and held add up to the pool, whatever is taken and given back. */
#include "base/clean.h"
#include "failed_alloc.h"
#include "model/kv_pool.h"
#include "unit.h"

#define N_PAGES 10

static void make(struct kv *kv, struct kv_pages *pages, size_t n)
{
    ck_assert_int_eq(kv_create(kv, N_PAGES, 4096, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(kv_pages_create(&pages[i], N_PAGES * KV_PAGE_TOK), 0);
    }
}

static void end(struct kv *kv, struct kv_pages *pages, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        kv_pages_finish(kv, &pages[i]);
        ck_assert(kv_check(kv));
    }
    ck_assert_uint_eq(kv->n_free, N_PAGES);
    kv_finish(kv);
}

START_TEST(tokens_take_whole_pages)
{
    struct kv kv;
    struct kv_pages pages;

    make(&kv, &pages, 1);

    ck_assert_int_eq(kv_pages_grow(&kv, &pages, 17), KV_OK);

    ck_assert_uint_eq(pages.n, 2);
    ck_assert_uint_eq(kv.n_held, 2);
    ck_assert_uint_eq(kv_n_left(&kv), N_PAGES - 2);
    ck_assert(kv_check(&kv));
    end(&kv, &pages, 1);
}
END_TEST

START_TEST(what_cannot_be_had_whole_is_not_taken_at_all)
{
    struct kv kv;
    struct kv_pages pages[2];

    make(&kv, pages, 2);
    ck_assert_int_eq(kv_pages_grow(&kv, &pages[0], 7 * KV_PAGE_TOK), KV_OK);

    ck_assert_int_eq(kv_pages_grow(&kv, &pages[1], 4 * KV_PAGE_TOK), KV_NO_PAGES);

    ck_assert_uint_eq(pages[1].n, 0);
    ck_assert_uint_eq(kv.n_held, 7);
    ck_assert_int_eq(kv_pages_grow(&kv, &pages[1], 3 * KV_PAGE_TOK), KV_OK);
    end(&kv, pages, 2);
}
END_TEST

START_TEST(no_two_holders_have_one_page)
{
    struct kv kv;
    struct kv_pages pages[2];

    make(&kv, pages, 2);
    ck_assert_int_eq(kv_pages_grow(&kv, &pages[0], 5 * KV_PAGE_TOK), KV_OK);
    kv_pages_shrink(&kv, &pages[0], 2 * KV_PAGE_TOK, false);
    ck_assert_int_eq(kv_pages_grow(&kv, &pages[1], 5 * KV_PAGE_TOK), KV_OK);
    ck_assert_int_eq(kv_pages_grow(&kv, &pages[0], 5 * KV_PAGE_TOK), KV_OK);

    for (uint32_t i = 0; i < pages[0].n; i++) {
        for (uint32_t j = 0; j < pages[1].n; j++) {
            ck_assert_uint_ne(pages[0].list[i], pages[1].list[j]);
        }
    }
    end(&kv, pages, 2);
}
END_TEST

START_TEST(a_lowered_limit_holds_for_what_is_taken_from_then_on)
{
    struct kv kv;
    struct kv_pages pages[2];

    make(&kv, pages, 2);
    ck_assert_int_eq(kv_pages_grow(&kv, &pages[0], 5 * KV_PAGE_TOK), KV_OK);

    kv_limit(&kv, 4096 * 3);
    ck_assert_uint_eq(kv_n_left(&kv), 0);
    ck_assert_int_eq(kv_pages_grow(&kv, &pages[1], 1), KV_NO_PAGES);
    kv_pages_shrink(&kv, &pages[0], 0, false);
    ck_assert_uint_eq(kv_n_left(&kv), 3);
    kv_limit(&kv, UINT64_MAX);
    ck_assert_uint_eq(kv_n_left(&kv), N_PAGES);
    end(&kv, pages, 2);
}
END_TEST

START_TEST(a_page_counted_wrongly_is_seen)
{
    struct kv kv;
    struct kv_pages pages;

    make(&kv, &pages, 1);
    ck_assert_int_eq(kv_pages_grow(&kv, &pages, 1), KV_OK);

    kv.counts[pages.list[0]] = 0;
    ck_assert(!kv_check(&kv));
    kv.counts[pages.list[0]] = 1;
    kv.n_cached = 1;
    ck_assert(!kv_check(&kv));
    kv.n_cached = 0;
    end(&kv, &pages, 1);
}
END_TEST

/* ---- pages of the chain */

static struct chain_domain *domain_of(struct kv *kv)
{
    struct chain_domain *domain;

    ck_assert_int_eq(chain_get_domain(&kv->chain,
                                      &(struct chain_key){ .salt = (const uint8_t *)"s", .n_salt = 1, .numerics = "n" },
                                      &domain),
                     0);
    return domain;
}

/* @pages grows to @n and publishes all of them; tokens as of kind @kind. */
static void publish(struct kv *kv, struct kv_pages *pages, uint32_t n, struct chain_domain *domain, uint32_t kind)
{
    ck_assert_int_eq(kv_pages_grow(kv, pages, n * KV_PAGE_TOK), KV_OK);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t tokens[KV_PAGE_TOK];

        for (uint32_t j = 0; j < KV_PAGE_TOK; j++) {
            tokens[j] = 1000 * kind + i * KV_PAGE_TOK + j;
        }
        kv_pages_publish(kv, pages, i, domain, tokens, KV_PAGE_TOK);
        ck_assert(kv_check(kv));
    }
}

static void end_cached(struct kv *kv, struct kv_pages *pages, size_t n, struct chain_domain *domain)
{
    for (size_t i = 0; i < n; i++) {
        kv_pages_finish(kv, &pages[i]);
        ck_assert(kv_check(kv));
    }
    ck_assert_uint_eq(kv->n_free + kv->n_cached, N_PAGES);
    chain_drop_domain(domain);
    kv_finish(kv);
}

START_TEST(a_page_of_the_chain_is_cached_when_its_last_holder_gives_it_back)
{
    struct kv kv;
    struct kv_pages pages[2];
    struct chain_domain *domain;

    make(&kv, pages, 2);
    domain = domain_of(&kv);
    publish(&kv, &pages[0], 3, domain, 1);
    kv_pages_join(&kv, &pages[1], pages[0].list[0]);

    kv_pages_shrink(&kv, &pages[0], 0, true);
    ck_assert_uint_eq(kv.n_held, 1);
    ck_assert_uint_eq(kv.n_cached, 2);
    ck_assert_uint_eq(kv_n_left(&kv), N_PAGES - 1);
    kv_pages_shrink(&kv, &pages[1], 0, true);
    ck_assert_uint_eq(kv.n_cached, 3);
    end_cached(&kv, pages, 2, domain);
}
END_TEST

START_TEST(the_same_page_computed_twice_is_there_once)
{
    struct kv kv;
    struct kv_pages pages[2];
    struct chain_domain *domain;

    make(&kv, pages, 2);
    domain = domain_of(&kv);
    publish(&kv, &pages[0], 3, domain, 1);
    publish(&kv, &pages[1], 3, domain, 1);

    ck_assert_mem_eq(pages[0].list, pages[1].list, 3 * sizeof(*pages[0].list));
    ck_assert_uint_eq(kv.n_held, 3);
    end_cached(&kv, pages, 2, domain);
}
END_TEST

START_TEST(pages_go_in_the_order_of_their_coming_back)
{
    struct kv kv;
    struct kv_pages pages[3];
    struct chain_domain *domain;
    uint32_t last;

    make(&kv, pages, 3);
    domain = domain_of(&kv);
    publish(&kv, &pages[0], 3, domain, 1);
    publish(&kv, &pages[1], 3, domain, 2);
    last = pages[1].list[2];
    kv_pages_shrink(&kv, &pages[1], 0, true);
    kv_pages_shrink(&kv, &pages[0], 0, true);

    ck_assert_int_eq(kv_pages_grow(&kv, &pages[2], 5 * KV_PAGE_TOK), KV_OK); /* four are free */
    ck_assert_uint_eq(pages[2].list[4], last);
    ck_assert_uint_eq(kv.n_evicted, 1);
    ck_assert(!chain_has(&kv.chain, last));
    ck_assert_int_eq(kv_pages_grow(&kv, &pages[2], N_PAGES * KV_PAGE_TOK), KV_OK);
    ck_assert_uint_eq(kv.n_cached, 0);
    end_cached(&kv, pages, 3, domain);
}
END_TEST

START_TEST(what_is_not_kept_goes_unless_others_stand_behind_it)
{
    struct kv kv;
    struct kv_pages pages[2];
    struct chain_domain *domain;

    make(&kv, pages, 2);
    domain = domain_of(&kv);
    publish(&kv, &pages[0], 3, domain, 1);
    kv_pages_join(&kv, &pages[1], pages[0].list[0]);
    kv_pages_join(&kv, &pages[1], pages[0].list[1]);
    kv_pages_shrink(&kv, &pages[1], 0, true);

    kv_pages_shrink(&kv, &pages[0], 2 * KV_PAGE_TOK, true);
    ck_assert_uint_eq(kv.n_cached, 1);
    kv_pages_shrink(&kv, &pages[0], 0, false); /* both have one behind them */
    ck_assert_uint_eq(kv.n_cached, 3);
    publish(&kv, &pages[0], 3, domain, 2);
    kv_pages_shrink(&kv, &pages[0], 0, false);
    ck_assert_uint_eq(kv.n_cached, 3);
    end_cached(&kv, pages, 2, domain);
}
END_TEST

START_TEST(a_limit_counts_cached_pages_and_lets_them_go)
{
    struct kv kv;
    struct kv_pages pages[2];
    struct chain_domain *domain;

    make(&kv, pages, 2);
    domain = domain_of(&kv);
    publish(&kv, &pages[0], 4, domain, 1);
    kv_pages_shrink(&kv, &pages[0], 0, true);

    kv_limit(&kv, 4096 * 3);
    ck_assert_uint_eq(kv.n_cached, 3);
    ck_assert_int_eq(kv_pages_grow(&kv, &pages[1], 2 * KV_PAGE_TOK), KV_OK);
    ck_assert_uint_eq(kv.n_cached, 1);
    ck_assert_uint_eq(kv_n_left(&kv), 1);
    end_cached(&kv, pages, 2, domain);
}
END_TEST

START_TEST(pages_given_back_beyond_the_limit_are_not_cached)
{
    struct kv kv;
    struct kv_pages pages;
    struct chain_domain *domain;

    make(&kv, &pages, 1);
    domain = domain_of(&kv);
    publish(&kv, &pages, 5, domain, 1);
    kv_limit(&kv, 4096 * 2);
    ck_assert_uint_eq(kv.n_held, 5);

    kv_pages_shrink(&kv, &pages, 0, true);

    ck_assert_uint_eq(kv.n_cached, 2);
    end_cached(&kv, &pages, 1, domain);
}
END_TEST

START_TEST(a_cached_page_that_another_stands_behind_while_it_is_held_is_seen)
{
    struct kv kv;
    struct kv_pages pages[2];
    struct chain_domain *domain;

    make(&kv, pages, 2);
    domain = domain_of(&kv);
    publish(&kv, &pages[0], 2, domain, 1);
    kv_hold(&kv, pages[0].list[1]);

    kv_pages_shrink(&kv, &pages[0], 0, true);

    ck_assert(!kv_check(&kv));
    kv_hold(&kv, 0);
    kv_release(&kv, 1, true);
    kv_release(&kv, 0, true);
    end_cached(&kv, pages, 2, domain);
}
END_TEST

static int fill_and_end(void *data)
{
    struct kv kv;
    struct kv_pages pages;
    int r = kv_create(&kv, N_PAGES, 4096, NULL);

    if (r) {
        return r;
    }
    r = kv_pages_create(&pages, 32);
    if (!r) {
        kv_pages_grow(&kv, &pages, 32);
        kv_pages_finish(&kv, &pages);
    }
    kv_finish(&kv);
    return r;
}

START_TEST(an_allocation_that_fails_leaves_nothing_behind)
{
    for_each_failed_alloc(fill_and_end, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model-kv");
    TCase *tcase = tcase_create("kv");

    tcase_add_test(tcase, tokens_take_whole_pages);
    tcase_add_test(tcase, what_cannot_be_had_whole_is_not_taken_at_all);
    tcase_add_test(tcase, no_two_holders_have_one_page);
    tcase_add_test(tcase, a_lowered_limit_holds_for_what_is_taken_from_then_on);
    tcase_add_test(tcase, a_page_counted_wrongly_is_seen);
    tcase_add_test(tcase, a_page_of_the_chain_is_cached_when_its_last_holder_gives_it_back);
    tcase_add_test(tcase, the_same_page_computed_twice_is_there_once);
    tcase_add_test(tcase, pages_go_in_the_order_of_their_coming_back);
    tcase_add_test(tcase, what_is_not_kept_goes_unless_others_stand_behind_it);
    tcase_add_test(tcase, a_limit_counts_cached_pages_and_lets_them_go);
    tcase_add_test(tcase, pages_given_back_beyond_the_limit_are_not_cached);
    tcase_add_test(tcase, a_cached_page_that_another_stands_behind_while_it_is_held_is_seen);
    tcase_add_test(tcase, an_allocation_that_fails_leaves_nothing_behind);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
