/* Pages: the three kinds add up to the pool, whatever is taken and released. */
#include "base/clean.h"
#include "failed_alloc.h"
#include "model/kv_pool.h"
#include "unit.h"

#define N_PAGES 10

static struct kv kv;
static struct kv_pages pages[3];
static struct chain_domain *domain;

static void set_up(void)
{
    const struct chain_key key = { .salt = (const uint8_t *)"s", .n_salt = 1, .numerics = "n" };

    ck_assert_int_eq(kv_create(&kv, N_PAGES, 4096, NULL), 0);
    for (size_t i = 0; i < COUNTOF(pages); i++) {
        ck_assert_int_eq(kv_pages_create(&pages[i], N_PAGES * KV_PAGE_TOK), 0);
    }
    ck_assert_int_eq(chain_get_domain(&kv.chain, &key, &domain), 0);
}

/* Everything comes back. */
static void tear_down(void)
{
    for (size_t i = 0; i < COUNTOF(pages); i++) {
        kv_pages_finish(&kv, &pages[i]);
        ck_assert(kv_check(&kv));
    }
    ck_assert_uint_eq(kv.n_free + kv.n_cached, N_PAGES);
    chain_drop_domain(domain);
    kv_finish(&kv);
}

/* Makes @holder hold @n pages. */
static void grow(struct kv_pages *holder, uint32_t n)
{
    ck_assert_int_eq(kv_pages_grow(&kv, holder, n * KV_PAGE_TOK), KV_OK);
}

/* Grows @holder to @n pages and publishes all of them with tokens of kind @kind. */
static void publish(struct kv_pages *holder, uint32_t n, uint32_t kind)
{
    grow(holder, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t tokens[KV_PAGE_TOK];

        for (uint32_t j = 0; j < KV_PAGE_TOK; j++) {
            tokens[j] = 1000 * kind + i * KV_PAGE_TOK + j;
        }
        kv_pages_publish(&kv, holder, i, domain, tokens, KV_PAGE_TOK);
        ck_assert(kv_check(&kv));
    }
}

START_TEST(tokens_take_whole_pages)
{
    ck_assert_int_eq(kv_pages_grow(&kv, &pages[0], 17), KV_OK);

    ck_assert_uint_eq(pages[0].n, 2);
    ck_assert_uint_eq(kv.n_held, 2);
    ck_assert_uint_eq(kv_n_left(&kv, 0), N_PAGES - 2);
    ck_assert(kv_check(&kv));
}
END_TEST

START_TEST(pages_are_taken_all_or_none)
{
    grow(&pages[0], 7);

    ck_assert_int_eq(kv_pages_grow(&kv, &pages[1], 4 * KV_PAGE_TOK), KV_NO_PAGES);

    ck_assert_uint_eq(pages[1].n, 0);
    ck_assert_uint_eq(kv.n_held, 7);
    grow(&pages[1], 3);
}
END_TEST

START_TEST(no_two_holders_have_one_page)
{
    grow(&pages[0], 5);
    kv_pages_shrink(&kv, &pages[0], 2 * KV_PAGE_TOK, false);
    grow(&pages[1], 5);
    grow(&pages[0], 5);

    for (uint32_t i = 0; i < pages[0].n; i++) {
        for (uint32_t j = 0; j < pages[1].n; j++) {
            ck_assert_uint_ne(pages[0].list[i], pages[1].list[j]);
        }
    }
}
END_TEST

START_TEST(a_lowered_limit_applies_to_later_takes)
{
    grow(&pages[0], 5);

    kv_limit(&kv, 4096 * 3);
    ck_assert_uint_eq(kv_n_left(&kv, 0), 0);
    ck_assert_int_eq(kv_pages_grow(&kv, &pages[1], 1), KV_NO_PAGES);
    kv_pages_shrink(&kv, &pages[0], 0, false);
    ck_assert_uint_eq(kv_n_left(&kv, 0), 3);
    kv_limit(&kv, UINT64_MAX);
    ck_assert_uint_eq(kv_n_left(&kv, 0), N_PAGES);
}
END_TEST

START_TEST(a_page_counted_wrongly_is_seen)
{
    ck_assert_int_eq(kv_pages_grow(&kv, &pages[0], 1), KV_OK);

    kv.counts[pages[0].list[0]] = 0;
    ck_assert(!kv_check(&kv));
    kv.counts[pages[0].list[0]] = 1;
    kv.n_cached = 1;
    ck_assert(!kv_check(&kv));
    kv.n_cached = 0;
}
END_TEST

/* ---- pages of the chain */

START_TEST(a_page_of_the_chain_is_cached_when_its_last_holder_gives_it_back)
{
    publish(&pages[0], 3, 1);
    kv_pages_join(&kv, &pages[1], pages[0].list[0]);

    kv_pages_shrink(&kv, &pages[0], 0, true);
    ck_assert_uint_eq(kv.n_held, 1);
    ck_assert_uint_eq(kv.n_cached, 2);
    ck_assert_uint_eq(kv_n_left(&kv, 0), N_PAGES - 1);
    kv_pages_shrink(&kv, &pages[1], 0, true);
    ck_assert_uint_eq(kv.n_cached, 3);
}
END_TEST

START_TEST(the_same_page_computed_twice_is_there_once)
{
    publish(&pages[0], 3, 1);
    publish(&pages[1], 3, 1);

    ck_assert_mem_eq(pages[0].list, pages[1].list, 3 * sizeof(*pages[0].list));
    ck_assert_uint_eq(kv.n_held, 3);
}
END_TEST

START_TEST(pages_go_in_the_order_of_their_coming_back)
{
    uint32_t last;

    publish(&pages[0], 3, 1);
    publish(&pages[1], 3, 2);
    last = pages[1].list[2];
    kv_pages_shrink(&kv, &pages[1], 0, true);
    kv_pages_shrink(&kv, &pages[0], 0, true);

    grow(&pages[2], 5); /* four are free */
    ck_assert_uint_eq(pages[2].list[4], last);
    ck_assert_uint_eq(kv.n_evicted, 1);
    ck_assert(!chain_has(&kv.chain, last));
    grow(&pages[2], N_PAGES);
    ck_assert_uint_eq(kv.n_cached, 0);
}
END_TEST

START_TEST(a_page_that_is_not_kept_goes_unless_others_follow_it)
{
    publish(&pages[0], 3, 1);
    kv_pages_join(&kv, &pages[1], pages[0].list[0]);
    kv_pages_join(&kv, &pages[1], pages[0].list[1]);
    kv_pages_shrink(&kv, &pages[1], 0, true);

    kv_pages_shrink(&kv, &pages[0], 2 * KV_PAGE_TOK, true);
    ck_assert_uint_eq(kv.n_cached, 1);
    kv_pages_shrink(&kv, &pages[0], 0, false); /* both have one page behind them */
    ck_assert_uint_eq(kv.n_cached, 3);
    publish(&pages[0], 3, 2);
    kv_pages_shrink(&kv, &pages[0], 0, false);
    ck_assert_uint_eq(kv.n_cached, 3);
}
END_TEST

START_TEST(a_limit_counts_cached_pages_and_lets_them_go)
{
    publish(&pages[0], 4, 1);
    kv_pages_shrink(&kv, &pages[0], 0, true);

    kv_limit(&kv, 4096 * 3);
    ck_assert_uint_eq(kv.n_cached, 3);
    grow(&pages[1], 2);
    ck_assert_uint_eq(kv.n_cached, 1);
    ck_assert_uint_eq(kv_n_left(&kv, 0), 1);
}
END_TEST

START_TEST(pages_given_back_beyond_the_limit_are_not_cached)
{
    publish(&pages[0], 5, 1);
    kv_limit(&kv, 4096 * 2);
    ck_assert_uint_eq(kv.n_held, 5);

    kv_pages_shrink(&kv, &pages[0], 0, true);

    ck_assert_uint_eq(kv.n_cached, 2);
}
END_TEST

START_TEST(a_held_page_behind_a_cached_one_is_detected)
{
    publish(&pages[0], 2, 1);
    kv_hold(&kv, pages[0].list[1]);

    kv_pages_shrink(&kv, &pages[0], 0, true);

    ck_assert(!kv_check(&kv));
    kv_hold(&kv, 0);
    kv_release(&kv, 1, true);
    kv_release(&kv, 0, true);
}
END_TEST

static int fill_and_end(void *data)
{
    struct kv_pages holder;
    struct kv pool;
    int r = kv_create(&pool, N_PAGES, 4096, NULL);

    if (r) {
        return r;
    }
    r = kv_pages_create(&holder, 32);
    if (!r) {
        kv_pages_grow(&pool, &holder, 32);
        kv_pages_finish(&pool, &holder);
    }
    kv_finish(&pool);
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

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, tokens_take_whole_pages);
    tcase_add_test(tcase, pages_are_taken_all_or_none);
    tcase_add_test(tcase, no_two_holders_have_one_page);
    tcase_add_test(tcase, a_lowered_limit_applies_to_later_takes);
    tcase_add_test(tcase, a_page_counted_wrongly_is_seen);
    tcase_add_test(tcase, a_page_of_the_chain_is_cached_when_its_last_holder_gives_it_back);
    tcase_add_test(tcase, the_same_page_computed_twice_is_there_once);
    tcase_add_test(tcase, pages_go_in_the_order_of_their_coming_back);
    tcase_add_test(tcase, a_page_that_is_not_kept_goes_unless_others_follow_it);
    tcase_add_test(tcase, a_limit_counts_cached_pages_and_lets_them_go);
    tcase_add_test(tcase, pages_given_back_beyond_the_limit_are_not_cached);
    tcase_add_test(tcase, a_held_page_behind_a_cached_one_is_detected);
    tcase_add_test(tcase, an_allocation_that_fails_leaves_nothing_behind);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
