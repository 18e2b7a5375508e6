/*
 * Chain: what stands in which page, so that a prompt that begins like an earlier one finds it
 *
 * A page of the chain is known by what its rows were computed from: its own tokens, the page before it, and the domain
 * (salt, adapter, numerics) of the whole. A hash over page before and tokens finds it; then tokens, page before and
 * domain are compared, so that two prompts whose hashes are equal never meet. The page before is compared by its
 * number: it can't become another page while a page behind it is in the chain, since only leaves leave.
 *
 * Pages of several domains may stand behind one: what is pinned for all has behind it what each goes on with. Whoever
 * looks names the domain, and finds no other's.
 *
 * A page that its sequence had not filled may stand in the chain, too. It is never found as a whole and is always a
 * leaf: its rows may be copied by who begins the same.
 *
 * Who holds a page and which one must go is kv.h's. All but domains is allocated at creation.
 */
#ifndef SOTTO_MODEL_CHAIN_H
#define SOTTO_MODEL_CHAIN_H

#include "base/list.h"
#include "exec/exec.h"

#define CHAIN_NONE UINT32_MAX /* no page; as a page before: the beginning of a domain */

/* Finds only: a hash that is always the same makes it slow, not wrong. map_hash() unless a test has another. */
typedef uint64_t (*chain_hash_fn)(const void *bytes, size_t n, uint64_t salt);

/* Sequences of one domain share. All fields decide what is computed, or who may know of it. */
struct chain_key {
    const uint8_t *salt; /* who shares with whom */
    size_t n_salt;
    const uint8_t *adapter;
    size_t n_adapter;
    const char *numerics;
};

/* Counted: by the sequences that name it and by its pages. */
struct chain_domain {
    struct list link; /* chain::domains */
    uint32_t n_refs;
    uint32_t first; /* of the pages that begin in it */
    uint64_t hash;
    size_t n_key;
    uint8_t key[]; /* each field with a tag and its length before it, so that no two keys have the same bytes */
};

struct chain_page {
    struct chain_domain *domain; /* NULL: the page is not in the chain */
    uint32_t before;
    uint32_t first; /* of the pages behind it */
    uint32_t left;  /* among those behind the same one */
    uint32_t right;
    uint32_t next; /* in its bucket */
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
    uint64_t salt; /* drawn, so that strangers can't aim at one bucket */
};

int chain_create(struct chain *chain, uint32_t n_pages, chain_hash_fn hash); /* 0 or -ENOMEM */

/* No sequence has a domain any more. */
void chain_finish(struct chain *chain);

/* The domain of @key, counted once more; made if there is none. 0 or -ENOMEM. */
int chain_get_domain(struct chain *chain, const struct chain_key *key, struct chain_domain **ret_domain);
void chain_drop_domain(struct chain_domain *domain); /* NULL is fine */

/* The full page with @tokens (EXEC_PAGE_TOK of them) behind @before, or CHAIN_NONE. */
uint32_t chain_find(const struct chain *chain, const struct chain_domain *domain, uint32_t before,
                    const uint32_t *tokens);

/* Of the newest pages of @domain behind @before the one that begins with most of the @n @tokens; how many in
 * *ret_n_same. */
uint32_t chain_find_part(const struct chain *chain, const struct chain_domain *domain, uint32_t before,
                         const uint32_t *tokens, uint32_t n, uint32_t *ret_n_same);

/* @page (not in the chain) has rows of the @n_tok @tokens behind @before, a full page, which may be of another domain
 * that those of @domain may look into. A full one must not be there already. Never allocates. */
void chain_add(struct chain *chain, struct chain_domain *domain, uint32_t before, const uint32_t *tokens,
               uint32_t n_tok, uint32_t page);

/* Takes out a page that none stands behind. */
void chain_remove(struct chain *chain, uint32_t page);

bool chain_has(const struct chain *chain, uint32_t page);
bool chain_is_leaf(const struct chain *chain, uint32_t page);

/* True if what each page says of its neighbours is what they say of it. */
bool chain_check(const struct chain *chain);

#endif
