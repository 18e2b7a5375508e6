#include "model/prefix.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/num.h"
#include <assert.h>
#include <errno.h>

/* Fewest equal rows that are worth copying a page; fewer are a token or two that every prompt begins with. */
#define PART_LEAST 4

static int name_domain(struct model *model, const uint8_t *salt, size_t n_salt, struct chain_domain **ret_domain)
{
    return err_up(chain_get_domain(
        &model->kv.chain, &(struct chain_key){ .salt = salt, .n_salt = n_salt, .numerics = model->facts.numerics },
        ret_domain));
}

static int name_domains(struct model *model, struct seq *seq, const struct seq_request *request)
{
    int r = 0;

    if (model->arch->never_shares) {
        return 0;
    }
    assert(request->n_pins <= SEQ_PINS_MAX);
    if (request->n_salt > 0) {
        r = name_domain(model, request->salt, request->n_salt, &seq->domain);
    }
    for (size_t i = 0; r == 0 && i < request->n_pins; i++) {
        r = name_domain(model, request->pins[i].bytes, request->pins[i].n, &seq->pins[i]);
        seq->n_pins += r == 0;
    }
    return err_up(r);
}

static void drop_domains(struct seq *seq)
{
    chain_drop_domain(steal(&seq->domain));
    while (seq->n_pins > 0) {
        chain_drop_domain(steal(&seq->pins[--seq->n_pins]));
    }
}

/* Returns domain @i of those that @seq searches: those of its pins, then its own; NULL behind the last. */
static const struct chain_domain *domain_at(const struct seq *seq, uint32_t i)
{
    if (i < seq->n_pins) {
        return seq->pins[i];
    }
    return i == seq->n_pins ? seq->domain : NULL;
}

/* Returns the page in the chain that the next page of @seq follows. */
static uint32_t last_published(const struct seq *seq)
{
    return seq->n_published ? seq->pages.list[seq->n_published - 1] : CHAIN_NONE;
}

/* Returns the next full page of @seq from the chain, or CHAIN_NONE. */
static uint32_t find_page(const struct model *model, const struct seq *seq)
{
    const struct chain_domain *domain;
    uint32_t page = CHAIN_NONE;

    for (uint32_t i = 0; page == CHAIN_NONE && (domain = domain_at(seq, i)); i++) {
        page = chain_find(&model->kv.chain, domain, last_published(seq),
                          seq->tokens + (size_t)seq->n_published * KV_PAGE_TOK);
    }
    return page;
}

/* Counts rows found in @page if it is of another domain than @seq. */
static void count_pinned(const struct model *model, struct seq *seq, uint32_t page, uint32_t n_rows)
{
    if (model->kv.chain.pages[page].domain != seq->domain) {
        seq->n_pinned += n_rows;
    }
}

/* Joins the full pages within the first @n_most tokens. */
static void join_pages(struct model *model, struct seq *seq, uint32_t n_most)
{
    while ((seq->n_published + 1) * KV_PAGE_TOK <= n_most) {
        uint32_t page = find_page(model, seq);

        if (page == CHAIN_NONE) {
            return;
        }
        kv_pages_join(&model->kv, &seq->pages, page);
        count_pinned(model, seq, page, KV_PAGE_TOK);
        seq->n_published++;
    }
}

/* Returns a page, held once more, of which the next page of @seq may copy the first rows, or CHAIN_NONE. */
static uint32_t find_part(struct model *model, struct seq *seq, uint32_t n_most, uint32_t *ret_n_rows)
{
    uint32_t n_from = seq->n_published * KV_PAGE_TOK;
    const struct chain_domain *domain;
    uint32_t best = CHAIN_NONE;

    *ret_n_rows = PART_LEAST - 1;
    for (uint32_t i = 0; (domain = domain_at(seq, i)); i++) {
        uint32_t n_rows;
        uint32_t page = chain_find_part(&model->kv.chain, domain, last_published(seq), seq->tokens + n_from,
                                        n_most - n_from, &n_rows);

        if (page != CHAIN_NONE && n_rows > *ret_n_rows) {
            *ret_n_rows = n_rows;
            best = page;
        }
    }
    if (best != CHAIN_NONE) {
        kv_hold(&model->kv, best);
    }
    return best;
}

/* Takes all pages for @n_tokens. The first new one begins with @n_rows rows copied from @part, which is held for
 * this. */
static int grow_from(struct model *model, struct seq *seq, uint32_t n_tokens, uint32_t part, uint32_t n_rows)
{
    uint32_t n_shared = seq->pages.n;
    int r = kv_pages_grow(&model->kv, &seq->pages, n_tokens);

    if (r == KV_OK) {
        r = exec_copy_page(model->exec, model->kv_mem, part, seq->pages.list[n_shared]);
        seq->n_done = n_shared * KV_PAGE_TOK + n_rows;
        count_pinned(model, seq, part, n_rows);
    }
    kv_release(&model->kv, part, true);
    return err_pass(r);
}

/* Takes what the chain has for the tokens behind the pages of @seq, all of which are published, and all pages for
 * @n_tokens. */
static int take(struct model *model, struct seq *seq, uint32_t n_tokens)
{
    /* The last row must be computed, and so must watched rows. */
    uint32_t n_most = (uint32_t)num_min(seq->n_known - 1, seq->watch ? seq->watch_from : UINT32_MAX);
    uint32_t part = CHAIN_NONE;
    uint32_t n_rows = 0;
    bool all_found = seq->n_found == seq->n_published; /* no page of its own precedes what is found now */
    int r;

    if (domain_at(seq, 0)) {
        join_pages(model, seq, n_most);
        seq->n_found = all_found ? seq->n_published : seq->n_found;
        part = find_part(model, seq, n_most, &n_rows);
    }
    seq->n_done = seq->n_published * KV_PAGE_TOK;
    if (part != CHAIN_NONE) {
        r = grow_from(model, seq, n_tokens, part, n_rows);
        if (r != KV_NO_PAGES) {
            return err_pass(r);
        }
        /* The page to copy from may be the one that is lacking. */
    }
    return kv_pages_grow(&model->kv, &seq->pages, n_tokens);
}

int prefix_begin(struct model *model, struct seq *seq, const struct seq_request *request, uint32_t n_tokens)
{
    int r = name_domains(model, seq, request);

    return r ? err_up(r) : take(model, seq, n_tokens);
}

/* Returns the pages that stay. If the row behind the kept ones is in a page of the chain: all before that page; else as
 * many as are needed. */
static uint32_t count_staying(const struct seq *seq, uint32_t n_kept, uint32_t n_tokens)
{
    uint32_t first = n_kept / KV_PAGE_TOK;

    if (first < seq->n_published) {
        return first;
    }
    return (uint32_t)num_min(seq->pages.n, num_div_up(n_tokens, KV_PAGE_TOK));
}

bool prefix_may_renew(const struct model *model, const struct seq *seq, uint32_t n_kept, uint32_t n_tokens)
{
    uint32_t n_stay = count_staying(seq, n_kept, n_tokens);
    uint32_t n_lack = (uint32_t)num_div_up(n_tokens, KV_PAGE_TOK) - n_stay;
    uint32_t n_back = 0;

    for (uint32_t i = n_stay; i < seq->pages.n; i++) {
        n_back += model->kv.counts[seq->pages.list[i]] == 1;
    }
    return n_lack <= kv_n_left(&model->kv, n_back);
}

int prefix_renew(struct model *model, struct seq *seq, uint32_t n_kept, uint32_t n_tokens)
{
    uint32_t n_stay = count_staying(seq, n_kept, n_tokens);
    bool is_shared = n_stay < seq->n_published;
    int r;

    seq->n_pinned = 0;
    kv_pages_shrink(&model->kv, &seq->pages, n_stay * KV_PAGE_TOK, true);
    if (is_shared) {
        seq->n_published = n_stay;
        seq->n_found = (uint32_t)num_min(seq->n_found, n_stay);
        r = take(model, seq, n_tokens);
    } else {
        seq->n_done = n_kept;
        r = kv_pages_grow(&model->kv, &seq->pages, n_tokens);
    }
    return r == KV_NO_PAGES ? err_new(-ENOSPC) : err_up(r);
}

void prefix_publish(struct model *model, struct seq *seq)
{
    while (seq->domain && (seq->n_published + 1) * KV_PAGE_TOK <= seq->n_done) {
        kv_pages_publish(&model->kv, &seq->pages, seq->n_published, seq->domain,
                         seq->tokens + (size_t)seq->n_published * KV_PAGE_TOK, KV_PAGE_TOK);
        seq->n_published++;
    }
}

int prefix_own(struct model *model, struct seq *seq)
{
    uint32_t n_before = seq->pages.n;
    uint32_t first = seq->n_done / KV_PAGE_TOK;
    uint32_t n_rows = seq->n_done % KV_PAGE_TOK;
    uint32_t part;
    int r;

    if (first >= seq->n_published) {
        return KV_OK;
    }
    part = seq->pages.list[first];
    kv_hold(&model->kv, part);
    kv_pages_shrink(&model->kv, &seq->pages, first * KV_PAGE_TOK, true);
    seq->n_published = first;
    seq->n_found = (uint32_t)num_min(seq->n_found, first);
    r = grow_from(model, seq, n_before * KV_PAGE_TOK, part, n_rows);
    if (r != KV_NO_PAGES) {
        return err_pass(r);
    }
    seq->n_done = first * KV_PAGE_TOK;
    return kv_pages_grow(&model->kv, &seq->pages, seq->n_known);
}

/* Publishes the rows of the last page unless another page has them. */
static void publish_rest(struct model *model, struct seq *seq)
{
    uint32_t n_from = seq->n_published * KV_PAGE_TOK;
    uint32_t n_same;

    if (seq->n_done < n_from + PART_LEAST) {
        return;
    }
    chain_find_part(&model->kv.chain, seq->domain, last_published(seq), seq->tokens + n_from, seq->n_done - n_from,
                    &n_same);
    if (n_same < seq->n_done - n_from) {
        kv_pages_publish(&model->kv, &seq->pages, seq->n_published, seq->domain, seq->tokens + n_from,
                         seq->n_done - n_from);
    }
}

void prefix_hand_over(struct model *model, struct seq *seq, uint32_t n_rows, struct kv_pages *ret_pages)
{
    uint32_t n_rest = n_rows % KV_PAGE_TOK;

    assert(n_rows <= seq->n_done);
    prefix_publish(model, seq);
    if (seq->n_published * KV_PAGE_TOK < n_rows && n_rest >= PART_LEAST) {
        /* Published even if another page has the same rows, since that one may be evicted. */
        kv_pages_publish(&model->kv, &seq->pages, seq->n_published, seq->domain, seq->tokens + (n_rows - n_rest),
                         n_rest);
    } else if (n_rest < PART_LEAST) {
        n_rows -= n_rest;
    }
    kv_pages_shrink(&model->kv, &seq->pages, n_rows, true);
    *ret_pages = seq->pages;
    seq->pages = (struct kv_pages){ .list = NULL };
}

void prefix_end(struct model *model, struct seq *seq, bool keep)
{
    if (seq->pages.list) {
        if (keep && seq->domain) {
            publish_rest(model, seq);
        }
        /* Pages that were found stay in the chain; other sequences computed them. */
        kv_pages_shrink(&model->kv, &seq->pages, seq->n_found * KV_PAGE_TOK, keep);
        kv_pages_finish(&model->kv, &seq->pages);
    }
    drop_domains(seq);
}
