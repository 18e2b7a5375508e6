#include "model/kv_pool.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include <assert.h>
#include <errno.h>

int kv_create(struct kv *kv, uint32_t n_pages, uint64_t page_bytes, chain_hash_fn hash)
{
    int r;

    *kv = (struct kv){ .n_pages = n_pages, .n_free = n_pages, .n_limit = n_pages, .page_bytes = page_bytes };
    kv->counts = mem_calloc(MEM_KV, n_pages, sizeof(*kv->counts));
    kv->free = mem_calloc(MEM_KV, n_pages, sizeof(*kv->free));
    kv->lru = mem_calloc(MEM_KV, (size_t)n_pages + 1, sizeof(*kv->lru));
    r = chain_create(&kv->chain, n_pages, hash);
    if (!kv->counts || !kv->free || !kv->lru || r) {
        kv_finish(kv);
        return err_new(-ENOMEM);
    }
    for (uint32_t i = 0; i < n_pages; i++) {
        kv->free[i] = n_pages - 1 - i; /* page 0 is taken first */
    }
    kv->lru[n_pages] = (struct kv_lru){ .older = n_pages, .newer = n_pages };
    return 0;
}

void kv_finish(struct kv *kv)
{
    chain_finish(&kv->chain);
    mem_free(kv->counts);
    mem_free(kv->free);
    mem_free(kv->lru);
    *kv = (struct kv){ .counts = NULL };
}

uint32_t kv_n_left(const struct kv *kv, uint32_t n_back)
{
    uint32_t n_held = kv->n_held - n_back;
    uint32_t n_allowed = kv->n_limit > n_held ? kv->n_limit - n_held : 0;

    return (uint32_t)num_min(n_allowed, (uint64_t)kv->n_free + kv->n_cached + n_back);
}

/* ---- cached pages ---- */

static void leave_cache(struct kv *kv, uint32_t page)
{
    struct kv_lru *turn = &kv->lru[page];

    kv->lru[turn->older].newer = turn->newer;
    kv->lru[turn->newer].older = turn->older;
    kv->n_cached--;
}

static void enter_cache(struct kv *kv, uint32_t page)
{
    struct kv_lru *ends = &kv->lru[kv->n_pages];

    kv->lru[page] = (struct kv_lru){ .older = ends->older, .newer = kv->n_pages };
    kv->lru[ends->older].newer = page;
    ends->older = page;
    kv->n_cached++;
}

static void evict(struct kv *kv)
{
    uint32_t page = kv->lru[kv->n_pages].newer;

    assert(kv->n_cached > 0);
    leave_cache(kv, page);
    chain_remove(&kv->chain, page);
    kv->free[kv->n_free++] = page;
    kv->n_evicted++;
}

static void keep_limit(struct kv *kv)
{
    while (kv->n_cached > 0 && (uint64_t)kv->n_held + kv->n_cached > kv->n_limit) {
        evict(kv);
    }
}

/* ---- one page ---- */

void kv_hold(struct kv *kv, uint32_t page)
{
    assert(chain_has(&kv->chain, page));
    if (kv->counts[page]++ == 0) {
        leave_cache(kv, page);
        kv->n_held++;
    }
}

void kv_release(struct kv *kv, uint32_t page, bool keep)
{
    assert(kv->counts[page] > 0);
    if (--kv->counts[page] > 0) {
        return;
    }
    kv->n_held--;
    if (chain_has(&kv->chain, page)) {
        if (keep || !chain_is_leaf(&kv->chain, page)) {
            enter_cache(kv, page);
            keep_limit(kv);
            return;
        }
        chain_remove(&kv->chain, page);
    }
    kv->free[kv->n_free++] = page;
}

static uint32_t take_page(struct kv *kv)
{
    uint32_t page;

    if (kv->n_free == 0) {
        evict(kv);
    }
    page = kv->free[--kv->n_free];
    assert(kv->counts[page] == 0);
    kv->counts[page] = 1;
    kv->n_held++;
    keep_limit(kv);
    return page;
}

/* ---- pages of a sequence ---- */

int kv_pages_create(struct kv_pages *pages, uint32_t n_tokens_max)
{
    *pages = (struct kv_pages){ .cap = (uint32_t)num_div_up(n_tokens_max, KV_PAGE_TOK) };
    pages->list = mem_calloc(MEM_KV, pages->cap, sizeof(*pages->list));
    return pages->list ? 0 : err_new(-ENOMEM);
}

void kv_pages_finish(struct kv *kv, struct kv_pages *pages)
{
    kv_pages_shrink(kv, pages, 0, true);
    mem_free(pages->list);
    *pages = (struct kv_pages){ .list = NULL };
}

void kv_pages_join(struct kv *kv, struct kv_pages *pages, uint32_t page)
{
    assert(pages->n < pages->cap);
    kv_hold(kv, page);
    pages->list[pages->n++] = page;
}

int kv_pages_grow(struct kv *kv, struct kv_pages *pages, uint32_t n_tokens)
{
    uint32_t n = (uint32_t)num_div_up(n_tokens, KV_PAGE_TOK);

    assert(n <= pages->cap);
    if (n > pages->n && n - pages->n > kv_n_left(kv, 0)) {
        return KV_NO_PAGES;
    }
    while (pages->n < n) {
        pages->list[pages->n++] = take_page(kv);
    }
    return KV_OK;
}

void kv_pages_shrink(struct kv *kv, struct kv_pages *pages, uint32_t n_tokens, bool keep)
{
    uint32_t n = (uint32_t)num_div_up(n_tokens, KV_PAGE_TOK);

    while (pages->n > n) {
        kv_release(kv, pages->list[--pages->n], keep);
    }
}

void kv_pages_publish(struct kv *kv, struct kv_pages *pages, uint32_t i, struct chain_domain *domain,
                      const uint32_t *tokens, uint32_t n_tok)
{
    uint32_t before = i == 0 ? CHAIN_NONE : pages->list[i - 1];
    uint32_t same = CHAIN_NONE;

    if (n_tok == KV_PAGE_TOK) {
        same = chain_find(&kv->chain, domain, before, tokens);
    }
    if (same == CHAIN_NONE) {
        chain_add(&kv->chain, domain, before, tokens, n_tok, pages->list[i]);
        return;
    }
    kv_hold(kv, same);
    kv_release(kv, pages->list[i], false);
    pages->list[i] = same;
}

void kv_limit(struct kv *kv, uint64_t n_bytes)
{
    kv->n_limit = (uint32_t)num_min(n_bytes / kv->page_bytes, kv->n_pages);
    keep_limit(kv);
}

/* ---- checking ---- */

/* Returns true if the LRU list is whole and eviction in its order always takes a leaf: no page is evicted before a page
 * behind it, and no held page is behind a cached one. */
static bool check_cache(const struct kv *kv)
{
    const struct chain_page *pages = kv->chain.pages;
    uint32_t n = 0;
    uint32_t older = kv->n_pages;

    for (uint32_t i = kv->lru[kv->n_pages].newer; i != kv->n_pages; i = kv->lru[i].newer) {
        if (n++ == kv->n_pages || kv->lru[i].older != older || kv->counts[i] != 0 || !pages[i].domain) {
            return false;
        }
        for (uint32_t j = kv->lru[i].newer; j != kv->n_pages; j = kv->lru[j].newer) {
            if (pages[j].before == i) {
                return false;
            }
        }
        for (uint32_t j = pages[i].first; j != CHAIN_NONE; j = pages[j].right) {
            if (kv->counts[j] > 0) {
                return false;
            }
        }
        older = i;
    }
    return n == kv->n_cached;
}

bool kv_check(const struct kv *kv)
{
    uint32_t n_counted = 0;

    for (uint32_t i = 0; i < kv->n_pages; i++) {
        n_counted += kv->counts[i] > 0;
    }
    for (uint32_t i = 0; i < kv->n_free; i++) {
        if (kv->counts[kv->free[i]] != 0 || chain_has(&kv->chain, kv->free[i])) {
            return false;
        }
    }
    return n_counted == kv->n_held && kv->n_free + kv->n_held + kv->n_cached == kv->n_pages && check_cache(kv) &&
           chain_check(&kv->chain);
}
