#include "model/kv.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include <assert.h>
#include <errno.h>

int kv_create(struct kv *kv, uint32_t n_pages, uint64_t page_bytes)
{
    *kv = (struct kv){ .n_pages = n_pages, .n_free = n_pages, .n_limit = n_pages, .page_bytes = page_bytes };
    kv->counts = mem_calloc(MEM_KV, n_pages, sizeof(*kv->counts));
    kv->free = mem_calloc(MEM_KV, n_pages, sizeof(*kv->free));
    if (!kv->counts || !kv->free) {
        kv_finish(kv);
        return err_new(-ENOMEM);
    }
    for (uint32_t i = 0; i < n_pages; i++) {
        kv->free[i] = n_pages - 1 - i; /* page 0 is taken first */
    }
    return 0;
}

void kv_finish(struct kv *kv)
{
    mem_free(kv->counts);
    mem_free(kv->free);
    *kv = (struct kv){ .counts = NULL };
}

uint32_t kv_n_left(const struct kv *kv)
{
    uint32_t n_allowed = kv->n_limit > kv->n_held ? kv->n_limit - kv->n_held : 0;

    return (uint32_t)num_min(n_allowed, kv->n_free);
}

static uint32_t take_page(struct kv *kv)
{
    uint32_t page = kv->free[--kv->n_free];

    assert(kv->counts[page] == 0);
    kv->counts[page] = 1;
    kv->n_held++;
    return page;
}

static void give_page(struct kv *kv, uint32_t page)
{
    assert(kv->counts[page] > 0);
    if (--kv->counts[page] == 0) {
        kv->free[kv->n_free++] = page;
        kv->n_held--;
    }
}

int kv_pages_create(struct kv_pages *pages, uint32_t n_tokens_max)
{
    *pages = (struct kv_pages){ .cap = (uint32_t)num_div_up(n_tokens_max, KV_PAGE_TOK) };
    pages->list = mem_calloc(MEM_KV, pages->cap, sizeof(*pages->list));
    return pages->list ? 0 : err_new(-ENOMEM);
}

void kv_pages_finish(struct kv *kv, struct kv_pages *pages)
{
    kv_pages_shrink(kv, pages, 0);
    mem_free(pages->list);
    *pages = (struct kv_pages){ .list = NULL };
}

int kv_pages_grow(struct kv *kv, struct kv_pages *pages, uint32_t n_tokens)
{
    uint32_t n = (uint32_t)num_div_up(n_tokens, KV_PAGE_TOK);

    assert(n <= pages->cap);
    if (n > pages->n && n - pages->n > kv_n_left(kv)) {
        return KV_NO_PAGES;
    }
    while (pages->n < n) {
        pages->list[pages->n++] = take_page(kv);
    }
    return KV_OK;
}

void kv_pages_shrink(struct kv *kv, struct kv_pages *pages, uint32_t n_tokens)
{
    uint32_t n = (uint32_t)num_div_up(n_tokens, KV_PAGE_TOK);

    while (pages->n > n) {
        give_page(kv, pages->list[--pages->n]);
    }
}

void kv_limit(struct kv *kv, uint64_t n_bytes)
{
    kv->n_limit = (uint32_t)num_min(n_bytes / kv->page_bytes, kv->n_pages);
}

bool kv_check(const struct kv *kv)
{
    uint32_t n_counted = 0;

    for (uint32_t i = 0; i < kv->n_pages; i++) {
        n_counted += kv->counts[i] > 0;
    }
    for (uint32_t i = 0; i < kv->n_free; i++) {
        if (kv->counts[kv->free[i]] != 0) {
            return false;
        }
    }
    return n_counted == kv->n_held && kv->n_free + kv->n_held + kv->n_cached == kv->n_pages;
}
