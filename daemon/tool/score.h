/*
 * Score: how well logits predict a text, and how far the logits of two models differ
 *
 * All are sums over positions in binary64. Pure; one thread at a time.
 */
#ifndef SOTTO_TOOL_SCORE_H
#define SOTTO_TOOL_SCORE_H

#include <stdint.h>

struct score {
    uint64_t n;         /* tokens scored */
    double surprise;    /* sum of -log p of each, in nats */
    double surprise2;   /* sum of its squares */
    double divergence;  /* sum of KL(reference || model), in nats */
    double divergence2; /* sum of its squares */
    double farthest;    /* largest KL of a position */
    uint64_t n_same;    /* positions with the same best token */
    double reference;   /* sum of -log p by the reference */
};

/* Adds a position: @logits [n_vocab] of the model, which @token follows in the text. @reference [n_vocab] is of the
 * other model, or NULL. Logits that are not finite make the sums NaN. */
void score_add(struct score *score, const float *logits, const float *reference, uint32_t n_vocab, uint32_t token);

/* Return e to the mean surprise of the model and of the reference; NaN if nothing was scored. */
double score_perplexity(const struct score *score);
double score_reference_perplexity(const struct score *score);

/* Returns the standard error of the perplexity, from that of the mean surprise. */
double score_perplexity_error(const struct score *score);

double score_divergence(const struct score *score); /* mean KL */
double score_divergence_error(const struct score *score);

#endif
