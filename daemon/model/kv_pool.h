/*
 * Kv: pages of keys and values, counted
 *
 * A page holds KV_PAGE_TOK positions of all layers. It is free, held by sequences (its count says by how many), or
 * cached: held by nobody, kept in the chain for a prompt that begins the same. free + held + cached = the pool,
 * always; kv_check() says so. Here is who has which page; the bytes belong to the backend. All that is counted is
 * allocated at creation.
 *
 * Sequences take the pages of everything that they may still need when they open, so that nothing fails in
 * mid-stream. Where no page is free, the cached one goes that was given back longest ago. A sequence gives its pages
 * back from the last to the first, and who holds a page holds all that stand before it: so the one that goes never
 * has another one behind it.
 *
 * The memory behind a page is touched only when its rows are computed.
 */
#ifndef SOTTO_MODEL_KV_POOL_H
#define SOTTO_MODEL_KV_POOL_H

#include "model/chain.h"

#define KV_PAGE_TOK EXEC_PAGE_TOK

/* Neighbours of a cached page in the order of its coming back. */
struct kv_lru {
    uint32_t older;
    uint32_t newer;
};

struct kv {
    uint32_t *counts;   /* [n_pages], owned: holders of each page */
    uint32_t *free;     /* [n_pages], owned: a stack, so that touched pages are used again first */
    struct kv_lru *lru; /* [n_pages + 1], owned: of cached pages; the last is head and tail */
    struct chain chain;
    uint32_t n_pages;
    uint32_t n_free;
    uint32_t n_cached;
    uint32_t n_held;
    uint32_t n_limit; /* pages that may be held or cached */
    uint64_t page_bytes;
    uint64_t n_evicted; /* cached pages that had to go, ever */
};

enum kv_outcome {
    KV_OK,
    KV_NO_PAGES, /* not now: nothing was taken */
};

/* 0 or -ENOMEM. @hash as in chain_create(). */
int kv_create(struct kv *kv, uint32_t n_pages, uint64_t page_bytes, chain_hash_fn hash);
void kv_finish(struct kv *kv);

/* Pages that could be taken now, cached ones among them. */
uint32_t kv_n_left(const struct kv *kv);

/* The same once @n_back pages that are held were given back. */
uint32_t kv_n_left_after(const struct kv *kv, uint32_t n_back);

/* One holder more of a page in the chain; one less. With @keep a page of the chain is cached when nobody holds it any
 * more; without, only if others stand behind it. */
void kv_hold(struct kv *kv, uint32_t page);
void kv_release(struct kv *kv, uint32_t page, bool keep);

/* The store of a sequence that grows with its length: its pages in order of position. */
struct kv_pages {
    uint32_t *list; /* [cap], owned; cap is a full context's */
    uint32_t n;
    uint32_t cap;
};

int kv_pages_create(struct kv_pages *pages, uint32_t n_tokens_max); /* 0 or -ENOMEM */

/* Gives every page back and the list up. */
void kv_pages_finish(struct kv *kv, struct kv_pages *pages);

/* Puts @page, which is in the chain, behind the others: held once more. */
void kv_pages_join(struct kv *kv, struct kv_pages *pages, uint32_t page);

/* Makes room for @n_tokens in all (at most what the list was made for): all pages that lack, or KV_NO_PAGES. Never
 * allocates. */
int kv_pages_grow(struct kv *kv, struct kv_pages *pages, uint32_t n_tokens);

/* Gives back the pages that lie behind @n_tokens; @keep as in kv_release(). */
void kv_pages_shrink(struct kv *kv, struct kv_pages *pages, uint32_t n_tokens, bool keep);

/* Page @i of @pages has the rows of its @n_tok @tokens and goes into the chain; those before it are there, full. Where
 * the chain has the same full page already, @pages takes that one instead: same tokens, same bits. */
void kv_pages_publish(struct kv *kv, struct kv_pages *pages, uint32_t i, struct chain_domain *domain,
                      const uint32_t *tokens, uint32_t n_tok);

/* Lowers or restores the bytes that may be held or cached. Pages held beyond it stay until they are given back. */
void kv_limit(struct kv *kv, uint64_t n_bytes);

/* True if the three kinds of pages add up to the pool, the counts agree with them, the chain is whole, and what must
 * go next can always go. */
bool kv_check(const struct kv *kv);

#endif
