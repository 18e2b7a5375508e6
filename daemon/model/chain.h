/*
 * Chain: which tokens each page holds, so that a prompt finds the pages of an earlier one that begins the same
 *
 * A page of the chain is identified by what its rows were computed from: its own tokens, the page before it, and the
 * domain (salt, adapter, numerics). A hash over these finds it; then tokens, previous page and domain are compared, so
 * prompts with equal hashes are never confused. The previous page is compared by its number, which cannot come to mean
 * another page while a page behind it is in the chain, since only leaves are removed.
 *
 * Pages of several domains may follow one page: each domain continues a pinned prefix by itself. A search names its
 * domain and finds no other's pages.
 *
 * A page that its sequence did not fill may be in the chain, too. It is always a leaf and is never found as a whole,
 * but its rows may be copied by a sequence that begins the same.
 *
 * kv_pool.h counts the holders of pages and decides which page is evicted. All memory but that of domains is allocated
 * at creation.
 */
#ifndef SOTTO_MODEL_CHAIN_H
#define SOTTO_MODEL_CHAIN_H

#include "base/list.h"
#include "exec/exec.h"

#define CHAIN_NONE UINT32_MAX /* no page; as the previous page: the beginning of a domain */

/* Only finds candidates: a constant hash makes the search slow, not wrong. map_hash() unless a test has another one. */
typedef uint64_t (*chain_hash_fn)(const void *bytes, size_t n, uint64_t salt);

/* Sequences with equal keys share pages. All fields decide what is computed, or which clients may know of it. */
struct chain_key {
    const uint8_t *salt; /* the sharing domain's secret */
    size_t n_salt;
    const uint8_t *adapter;
    size_t n_adapter;
    const char *numerics;
};

/* Reference counted: by the sequences that use it and by its pages. */
struct chain_domain {
    struct list link; /* chain::domains */
    uint32_t n_refs;
    uint32_t first; /* head of the pages that begin in it */
    uint64_t hash;
    size_t n_key;
    uint8_t key[]; /* each field after a tag and its length, so that different keys have different bytes */
};

struct chain_page {
    struct chain_domain *domain; /* NULL: the page is not in the chain */
    uint32_t before;
    uint32_t first; /* head of the pages behind it */
    uint32_t left;  /* neighbours in the list of pages behind the same page */
    uint32_t right;
    uint32_t next; /* in the hash bucket */
    uint32_t n_tok;
    uint64_t hash;
    uint32_t tokens[EXEC_PAGE_TOK];
};

struct chain {
    struct chain_page *pages; /* [n_pages], owned */
    uint32_t *buckets;        /* [n_buckets], owned: first page of each */
    uint32_t n_pages;
    uint32_t n_buckets; /* a power of two */
    struct list domains;
    chain_hash_fn hash;
    uint64_t salt; /* random, so that clients cannot aim at one bucket */
};

int chain_create(struct chain *chain, uint32_t n_pages, chain_hash_fn hash); /* 0 or -ENOMEM */

/* No sequence may have a domain any more. */
void chain_finish(struct chain *chain);

/* Returns the domain of @key in *ret_domain with one more reference, creating it if needed. 0 or -ENOMEM. */
int chain_get_domain(struct chain *chain, const struct chain_key *key, struct chain_domain **ret_domain);
void chain_drop_domain(struct chain_domain *domain); /* NULL is fine */

/* The full page with @tokens (EXEC_PAGE_TOK of them) behind @before, or CHAIN_NONE. */
uint32_t chain_find(const struct chain *chain, const struct chain_domain *domain, uint32_t before,
                    const uint32_t *tokens);

/* Among the newest pages of @domain behind @before, returns the one that shares most of the leading @n @tokens (how
 * many: *ret_n_same), or CHAIN_NONE. */
uint32_t chain_find_part(const struct chain *chain, const struct chain_domain *domain, uint32_t before,
                         const uint32_t *tokens, uint32_t n, uint32_t *ret_n_same);

/* Adds @page, which holds rows of the @n_tok @tokens, behind @before. @before is a full page; it may be of another
 * domain that sequences of @domain may search. A full page must not be in the chain already. Never allocates. */
void chain_add(struct chain *chain, struct chain_domain *domain, uint32_t before, const uint32_t *tokens,
               uint32_t n_tok, uint32_t page);

/* Removes a page that has none behind it. */
void chain_remove(struct chain *chain, uint32_t page);

bool chain_has(const struct chain *chain, uint32_t page);
bool chain_is_leaf(const struct chain *chain, uint32_t page);

/* Returns true if the links between pages agree with each other. */
bool chain_check(const struct chain *chain);

#endif
