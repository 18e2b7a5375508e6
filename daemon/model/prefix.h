/*
 * Prefix: how a sequence reuses what others have computed
 *
 * When it opens, a sequence takes the pages of the chain that begin as it does, and copies the equal rows of one more
 * page. Its last known row is always computed, since its logits are needed. While it runs, each page that becomes full
 * goes into the chain, so that others find it. A row is a function of the tokens up to it, so its bits are the same
 * whether it is found or computed.
 *
 * A sequence searches the domains of its pins first (pin.h), then its own, page by page. So all sequences with a pinned
 * prefix hold the same pages of it, and what each computes behind them is in its own domain.
 *
 * Sequences without a salt publish nothing, and without pins search nothing; so do families with states.
 */
#ifndef SOTTO_MODEL_PREFIX_H
#define SOTTO_MODEL_PREFIX_H

#include "model/private.h"

/* Takes what @seq may share and all pages for @n_tokens; sets seq->n_done. KV_OK, KV_NO_PAGES, or a fault; prefix_end()
 * releases what was taken in any case. */
int prefix_begin(struct model *model, struct seq *seq, const struct seq_request *request, uint32_t n_tokens);

/* Adds the pages that are full now to the chain. Called between steps. */
void prefix_publish(struct model *model, struct seq *seq);

/* Prepares for writing the next row of @seq: if it is in a page of the chain, @seq gets its own pages from there on.
 * May lower seq->n_done and leave @seq with fewer pages. KV_OK, KV_NO_PAGES, or a fault. */
int prefix_own(struct model *model, struct seq *seq);

/* Returns true if @seq can continue with other tokens, the first @n_kept of which it has computed, with pages for
 * @n_tokens in all. Changes nothing. */
bool prefix_may_renew(const struct model *model, const struct seq *seq, uint32_t n_kept, uint32_t n_tokens);

/* Continues @seq with other tokens, which seq->tokens holds. Computed rows stay its own; if they end inside a page of
 * the chain, the chain is searched for the new tokens as at opening. Sets seq->n_done. 0 or a fault. */
int prefix_renew(struct model *model, struct seq *seq, uint32_t n_kept, uint32_t n_tokens);

/* Moves the pages of the first @n_rows rows of @seq, all computed, to @ret_pages, in the chain and held, and releases
 * the others. prefix_end() follows. */
void prefix_hand_over(struct model *model, struct seq *seq, uint32_t n_rows, struct kv_pages *ret_pages);

/* Releases all pages. With @keep they stay in the chain, including the rows of the last one. */
void prefix_end(struct model *model, struct seq *seq, bool keep);

#endif
