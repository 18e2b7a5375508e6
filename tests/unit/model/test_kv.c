/* Pages: free and held add up to the pool, whatever is taken and given back. */
#include "base/clean.h"
#include "failed_alloc.h"
#include "model/kv.h"
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
    tcase_add_test(tcase, an_allocation_that_fails_leaves_nothing_behind);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
