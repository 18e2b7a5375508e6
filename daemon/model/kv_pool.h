/*
 * Kv: the pool of pages of keys and values
 *
 * A page holds KV_PAGE_TOK positions of all layers. It is free, held (its count says by how many sequences), or cached:
 * held by none but kept in the chain for a prompt that begins the same. free + held + cached = the pool, always;
 * kv_check() verifies it. This file keeps the counts; the bytes belong to the backend. Everything is allocated at
 * creation.
 *
 * A sequence takes the pages of everything that it may still need when it opens, so that nothing fails in mid-stream.
 * Where no page is free, the least recently used cached page is evicted. A sequence gives its pages back from the last
 * to the first, and the holder of a page holds all pages before it: so the evicted page never has another one behind
 * it.
 *
 * The memory behind a page is touched only when its rows are computed.
 */
#ifndef SOTTO_MODEL_KV_POOL_H
#define SOTTO_MODEL_KV_POOL_H

#include "model/chain.h"

#define KV_PAGE_TOK EXEC_PAGE_TOK

/* Neighbours of a cached page in order of release. */
struct kv_lru {
    uint32_t older;
    uint32_t newer;
};

struct kv {
    uint32_t *counts;   /* [n_pages], owned: number of holders of each page */
    uint32_t *free;     /* [n_pages], owned: a stack, so that touched pages are used again first */
    struct kv_lru *lru; /* [n_pages + 1], owned: list of cached pages; the last entry is its head and tail */
    struct chain chain;
    uint32_t n_pages;
    uint32_t n_free;
    uint32_t n_cached;
    uint32_t n_held;
    uint32_t n_limit; /* pages that may be held or cached */
    uint64_t page_bytes;
    uint64_t n_evicted; /* cached pages evicted since creation */
};

enum kv_outcome {
    KV_OK,
    KV_NO_PAGES, /* not now; nothing was taken */
};

/* 0 or -ENOMEM. @hash is as in chain_create(). */
int kv_create(struct kv *kv, uint32_t n_pages, uint64_t page_bytes, chain_hash_fn hash);
void kv_finish(struct kv *kv);

/* Returns the pages that could be taken, cached ones included, once @n_back held ones were released. */
uint32_t kv_n_left(const struct kv *kv, uint32_t n_back);

/* Adds or removes a holder of a page in the chain. When the last holder leaves, a page of the chain becomes cached with
 * @keep; without, only if other pages are behind it. */
void kv_hold(struct kv *kv, uint32_t page);
void kv_release(struct kv *kv, uint32_t page, bool keep);

/* The pages of a sequence, in order of position. */
struct kv_pages {
    uint32_t *list; /* [cap], owned; cap is that of a full context */
    uint32_t n;
    uint32_t cap;
};

int kv_pages_create(struct kv_pages *pages, uint32_t n_tokens_max); /* 0 or -ENOMEM */

/* Releases all pages and frees the list. */
void kv_pages_finish(struct kv *kv, struct kv_pages *pages);

/* Appends @page, which is in the chain, and holds it once more. */
void kv_pages_join(struct kv *kv, struct kv_pages *pages, uint32_t page);

/* Takes pages so that @n_tokens fit in all, at most as many as the list was made for. KV_NO_PAGES takes none. Never
 * allocates. */
int kv_pages_grow(struct kv *kv, struct kv_pages *pages, uint32_t n_tokens);

/* Releases the pages behind @n_tokens; @keep is as in kv_release(). */
void kv_pages_shrink(struct kv *kv, struct kv_pages *pages, uint32_t n_tokens, bool keep);

/* Adds page @i of @pages, which holds rows of the @n_tok @tokens, to the chain; the pages before it are there and full.
 * If the chain has an equal full page, @pages uses that one instead: same tokens, same bits. */
void kv_pages_publish(struct kv *kv, struct kv_pages *pages, uint32_t i, struct chain_domain *domain,
                      const uint32_t *tokens, uint32_t n_tok);

/* Sets the bytes of pages that may be held or cached. Pages held beyond that stay until they are released. */
void kv_limit(struct kv *kv, uint64_t n_bytes);

/* Returns true if the three kinds of pages add up to the pool, the counts agree with them, the chain is whole, and
 * eviction always takes a leaf. */
bool kv_check(const struct kv *kv);

#endif
