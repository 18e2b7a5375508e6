#include "model/chain.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/num.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

/* Successors of a page that are searched for a partly equal one, the newest ones. Older ones are found as a whole or
 * not at all. */
#define PARTS_LOOKED_AT 64

enum key_tag { TAG_SALT = 1, TAG_ADAPTER, TAG_NUMERICS };

#define KEY_HEAD (1 + sizeof(uint64_t)) /* tag, length */

int chain_create(struct chain *chain, uint32_t n_pages, chain_hash_fn hash)
{
    uint32_t n_buckets = 16;

    while (n_buckets < n_pages && n_buckets < UINT32_C(1) << 31) {
        n_buckets *= 2;
    }
    *chain = (struct chain){ .n_pages = n_pages, .n_buckets = n_buckets, .hash = hash ? hash : map_hash };
    list_init(&chain->domains);
    clock_entropy(&chain->salt, sizeof(chain->salt));
    chain->pages = mem_calloc(MEM_KV, n_pages, sizeof(*chain->pages));
    chain->buckets = mem_calloc(MEM_KV, n_buckets, sizeof(*chain->buckets));
    if (!chain->pages || !chain->buckets) {
        chain_finish(chain);
        return err_new(-ENOMEM);
    }
    memset(chain->buckets, 0xff, n_buckets * sizeof(*chain->buckets)); /* CHAIN_NONE */
    return 0;
}

void chain_finish(struct chain *chain)
{
    for (uint32_t i = 0; chain->pages && i < chain->n_pages; i++) {
        chain_drop_domain(chain->pages[i].domain);
    }
    mem_free(chain->pages);
    mem_free(chain->buckets);
    *chain = (struct chain){ .pages = NULL };
}

/* ---- domains ---- */

static uint8_t *put_field(uint8_t *at, enum key_tag tag, const void *bytes, size_t n)
{
    uint64_t length = n;

    *at = (uint8_t)tag;
    memcpy(at + 1, &length, sizeof(length));
    if (n > 0) {
        memcpy(at + KEY_HEAD, bytes, n);
    }
    return at + KEY_HEAD + n;
}

static struct chain_domain *make_domain(const struct chain *chain, const struct chain_key *key)
{
    size_t n_numerics = strlen(key->numerics);
    size_t n_key = 3 * KEY_HEAD + key->n_salt + key->n_adapter + n_numerics;
    struct chain_domain *domain = mem_alloc(MEM_KV, sizeof(*domain) + n_key);
    uint8_t *at;

    if (!domain) {
        return NULL;
    }
    *domain = (struct chain_domain){ .n_refs = 1, .first = CHAIN_NONE, .n_key = n_key };
    list_init(&domain->link);
    at = put_field(domain->key, TAG_SALT, key->salt, key->n_salt);
    at = put_field(at, TAG_ADAPTER, key->adapter, key->n_adapter);
    put_field(at, TAG_NUMERICS, key->numerics, n_numerics);
    domain->hash = chain->hash(domain->key, n_key, chain->salt);
    return domain;
}

int chain_get_domain(struct chain *chain, const struct chain_key *key, struct chain_domain **ret_domain)
{
    struct chain_domain *domain = make_domain(chain, key);
    struct list *link;

    if (!domain) {
        return err_new(-ENOMEM);
    }
    list_for_each (link, &chain->domains) {
        struct chain_domain *known = container_of(link, struct chain_domain, link);

        if (known->hash == domain->hash && known->n_key == domain->n_key &&
            memcmp(known->key, domain->key, known->n_key) == 0) {
            mem_free(domain);
            known->n_refs++;
            *ret_domain = known;
            return 0;
        }
    }
    list_append(&chain->domains, &domain->link);
    *ret_domain = domain;
    return 0;
}

void chain_drop_domain(struct chain_domain *domain)
{
    if (domain && --domain->n_refs == 0) {
        list_remove(&domain->link);
        mem_free(domain);
    }
}

/* ---- finding ---- */

static uint64_t hash_of(const struct chain *chain, const struct chain_domain *domain, uint32_t before,
                        const uint32_t *tokens)
{
    struct {
        uint64_t before;
        uint32_t tokens[EXEC_PAGE_TOK];
    } bytes = { .before = before == CHAIN_NONE ? domain->hash : chain->pages[before].hash };

    memcpy(bytes.tokens, tokens, sizeof(bytes.tokens));
    return chain->hash(&bytes, sizeof(bytes), chain->salt);
}

static uint32_t *bucket_of(const struct chain *chain, uint64_t hash)
{
    return &chain->buckets[hash & (chain->n_buckets - 1)];
}

/* Returns the head of the list of pages behind @before. */
static uint32_t *first_behind(const struct chain *chain, struct chain_domain *domain, uint32_t before)
{
    return before == CHAIN_NONE ? &domain->first : &chain->pages[before].first;
}

uint32_t chain_find(const struct chain *chain, const struct chain_domain *domain, uint32_t before,
                    const uint32_t *tokens)
{
    uint64_t hash = hash_of(chain, domain, before, tokens);

    for (uint32_t i = *bucket_of(chain, hash); i != CHAIN_NONE; i = chain->pages[i].next) {
        const struct chain_page *page = &chain->pages[i];

        if (page->hash == hash && page->domain == domain && page->before == before &&
            memcmp(page->tokens, tokens, sizeof(page->tokens)) == 0) {
            return i;
        }
    }
    return CHAIN_NONE;
}

static uint32_t count_same(const struct chain_page *page, const uint32_t *tokens, uint32_t n)
{
    uint32_t n_same = 0;

    while (n_same < n && n_same < page->n_tok && page->tokens[n_same] == tokens[n_same]) {
        n_same++;
    }
    return n_same;
}

uint32_t chain_find_part(const struct chain *chain, const struct chain_domain *domain, uint32_t before,
                         const uint32_t *tokens, uint32_t n, uint32_t *ret_n_same)
{
    uint32_t i = before == CHAIN_NONE ? domain->first : chain->pages[before].first;
    uint32_t best = CHAIN_NONE;

    *ret_n_same = 0;
    for (unsigned k = 0; k < PARTS_LOOKED_AT && i != CHAIN_NONE; i = chain->pages[i].right) {
        uint32_t n_same;

        if (chain->pages[i].domain != domain) {
            continue; /* another domain's */
        }
        n_same = count_same(&chain->pages[i], tokens, n);
        if (n_same > *ret_n_same) {
            *ret_n_same = n_same;
            best = i;
        }
        k++;
    }
    return best;
}

/* ---- changing ---- */

void chain_add(struct chain *chain, struct chain_domain *domain, uint32_t before, const uint32_t *tokens,
               uint32_t n_tok, uint32_t page)
{
    struct chain_page *at = &chain->pages[page];
    uint32_t *first = first_behind(chain, domain, before);

    assert(!at->domain && n_tok > 0 && n_tok <= EXEC_PAGE_TOK);
    assert(before == CHAIN_NONE || (chain->pages[before].domain && chain->pages[before].n_tok == EXEC_PAGE_TOK));
    *at = (struct chain_page){ .domain = domain,
                               .before = before,
                               .first = CHAIN_NONE,
                               .left = CHAIN_NONE,
                               .right = *first,
                               .next = CHAIN_NONE,
                               .n_tok = n_tok };
    memcpy(at->tokens, tokens, n_tok * sizeof(*tokens));
    if (*first != CHAIN_NONE) {
        chain->pages[*first].left = page;
    }
    *first = page;
    if (n_tok == EXEC_PAGE_TOK) {
        uint32_t *bucket;

        at->hash = hash_of(chain, domain, before, tokens);
        bucket = bucket_of(chain, at->hash);
        at->next = *bucket;
        *bucket = page;
    }
    domain->n_refs++;
}

void chain_remove(struct chain *chain, uint32_t page)
{
    struct chain_page *at = &chain->pages[page];

    assert(at->domain && at->first == CHAIN_NONE);
    if (at->n_tok == EXEC_PAGE_TOK) {
        uint32_t *slot = bucket_of(chain, at->hash);

        while (*slot != page) {
            slot = &chain->pages[*slot].next;
        }
        *slot = at->next;
    }
    if (at->left != CHAIN_NONE) {
        chain->pages[at->left].right = at->right;
    } else {
        *first_behind(chain, at->domain, at->before) = at->right;
    }
    if (at->right != CHAIN_NONE) {
        chain->pages[at->right].left = at->left;
    }
    chain_drop_domain(steal(&at->domain));
}

bool chain_has(const struct chain *chain, uint32_t page)
{
    return chain->pages[page].domain != NULL;
}

bool chain_is_leaf(const struct chain *chain, uint32_t page)
{
    return chain->pages[page].first == CHAIN_NONE;
}

/* ---- checking ---- */

static bool check_page(const struct chain *chain, uint32_t i)
{
    const struct chain_page *page = &chain->pages[i];
    const struct chain_page *before = page->before == CHAIN_NONE ? NULL : &chain->pages[page->before];
    uint32_t first = before ? before->first : page->domain->first;

    if (before && (!before->domain || before->n_tok != EXEC_PAGE_TOK)) {
        return false;
    }
    if (page->left == CHAIN_NONE ? first != i : chain->pages[page->left].right != i) {
        return false;
    }
    if (page->right != CHAIN_NONE &&
        (chain->pages[page->right].left != i || chain->pages[page->right].before != page->before)) {
        return false;
    }
    if (page->n_tok < EXEC_PAGE_TOK) {
        return page->first == CHAIN_NONE;
    }
    return chain_find(chain, page->domain, page->before, page->tokens) == i;
}

bool chain_check(const struct chain *chain)
{
    for (uint32_t i = 0; i < chain->n_pages; i++) {
        if (chain_has(chain, i) && !check_page(chain, i)) {
            return false;
        }
    }
    return true;
}
