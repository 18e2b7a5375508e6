/*
 * Prefix: how a sequence meets what others have computed
 *
 * At its opening it takes the pages of the chain that begin as it does, and copies the rows of one more where that
 * begins the same. Its last known row is always computed, since somebody wants its logits. While it runs, each page
 * that becomes full goes into the chain, so that others find it while it lives. A row is a function of the tokens up to
 * it: found or computed, the bits are the same.
 *
 * It looks first in the domains of pins that it may look into (pin.h), then in its own, page by page: so all who begin
 * with what is pinned hold the same pages of it, and what each computes behind those is in its own domain.
 *
 * Sequences without a salt publish nothing, and without pins look for nothing, as do families
 * whose state is no row of a page.
 */
#ifndef SOTTO_MODEL_PREFIX_H
#define SOTTO_MODEL_PREFIX_H

#include "model/private.h"

/* Takes what @seq may share and all pages for @n_tokens. KV_OK with seq->n_done, KV_NO_PAGES, or a fault; whatever it
 * has taken goes with prefix_end(). */
int prefix_begin(struct model *model, struct seq *seq, const struct seq_request *request, uint32_t n_tokens);

/* Pages that are full now go into the chain. Between steps. */
void prefix_publish(struct model *model, struct seq *seq);

/* The next row of @seq may be written: where it lies in a page of the chain, @seq gets pages of its own from there on.
 * May lower seq->n_done, and may leave it fewer pages. KV_OK, KV_NO_PAGES, or a fault. */
int prefix_own(struct model *model, struct seq *seq);

/* @seq goes on with other tokens, which begin with those of its first @n_kept rows, and pages for @n_tokens
 * in all. May it? Counts only. */
bool prefix_may_renew(const struct model *model, const struct seq *seq, uint32_t n_kept, uint32_t n_tokens);

/* It does: the tokens are there. Rows that it has stay its own; where they end inside a page of the chain,
 * what the chain has for the new tokens is taken as at its opening. Sets seq->n_done. 0, or a fault. */
int prefix_renew(struct model *model, struct seq *seq, uint32_t n_kept, uint32_t n_tokens);

/* The first @n_rows rows of @seq, all computed, go to @ret_pages, in the chain and held; the rest goes back. Behind it
 * comes prefix_end(). */
void prefix_hand_over(struct model *model, struct seq *seq, uint32_t n_rows, struct kv_pages *ret_pages);

/* Gives all pages back. With @keep they stay in the chain, the rows of the last one, too. */
void prefix_end(struct model *model, struct seq *seq, bool keep);

#endif
