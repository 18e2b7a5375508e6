/*
 * Kv: pages of keys and values, counted
 *
 * A page holds KV_PAGE_TOK positions of all layers. It is free, held by sequences (its count says by how many), or
 * cached: held by nobody, kept for a prompt that begins the same. free + held + cached = the pool, always; kv_check()
 * says so. Here is who has which page; the bytes belong to the backend. All that is counted is allocated at creation.
 *
 * Sequences take the pages of everything that they may still need when they open, so that nothing fails in
 * mid-stream. The memory behind a page is touched only when its rows are computed.
 */
#ifndef SOTTO_MODEL_KV_H
#define SOTTO_MODEL_KV_H

#include "exec/exec.h"

#define KV_PAGE_TOK EXEC_PAGE_TOK

struct kv {
    uint32_t *counts; /* [n_pages], owned: holders of each page */
    uint32_t *free;   /* [n_pages], owned: a stack, so that touched pages are used again first */
    uint32_t n_pages;
    uint32_t n_free;
    uint32_t n_cached;
    uint32_t n_held;
    uint32_t n_limit; /* pages that may be held */
    uint64_t page_bytes;
};

enum kv_outcome {
    KV_OK,
    KV_NO_PAGES, /* not now: nothing was taken */
};

int kv_create(struct kv *kv, uint32_t n_pages, uint64_t page_bytes); /* 0 or -ENOMEM */
void kv_finish(struct kv *kv);

/* Pages that could be taken now. */
uint32_t kv_n_left(const struct kv *kv);

/* The store of a sequence that grows with its length: its pages in order of position. */
struct kv_pages {
    uint32_t *list; /* [cap], owned; cap is a full context's */
    uint32_t n;
    uint32_t cap;
};

int kv_pages_create(struct kv_pages *pages, uint32_t n_tokens_max); /* 0 or -ENOMEM */

/* Gives every page back and the list up. */
void kv_pages_finish(struct kv *kv, struct kv_pages *pages);

/* Makes room for @n_tokens in all (at most what the list was made for): all pages that lack, or KV_NO_PAGES. Never
 * allocates. */
int kv_pages_grow(struct kv *kv, struct kv_pages *pages, uint32_t n_tokens);

/* Gives back the pages that lie behind @n_tokens. */
void kv_pages_shrink(struct kv *kv, struct kv_pages *pages, uint32_t n_tokens);

/* Lowers or restores the bytes that may be held. Pages held beyond it stay until they are given back. */
void kv_limit(struct kv *kv, uint64_t n_bytes);

/* True if the three kinds of pages add up to the pool, and the counts agree with them. */
bool kv_check(const struct kv *kv);

#endif
