/*
 * Score: how well logits foretell a text, and how far two models' logits lie apart
 *
 * Sums over positions, in binary64. Pure; one thread at a time.
 */
#ifndef SOTTO_TOOL_SCORE_H
#define SOTTO_TOOL_SCORE_H

#include <stdint.h>

struct score {
    uint64_t n;         /* tokens foretold */
    double surprise;    /* sum of -log p of each, in nats */
    double surprise2;   /* of its squares */
    double divergence;  /* sum of KL(reference || model), in nats */
    double divergence2; /* of its squares */
    double farthest;    /* largest KL of a position */
    uint64_t n_same;    /* positions where both like the same token best */
    double reference;   /* sum of -log p by the reference */
};

/* One position: @logits [n_vocab] of the model, after which @token came. @reference [n_vocab]: of the other model, or
 * NULL. Logits that are no finite numbers make the sums NaN. */
void score_add(struct score *score, const float *logits, const float *reference, uint32_t n_vocab, uint32_t token);

/* e to the mean surprise: of the model, and of the reference. NaN where nothing was scored. */
double score_perplexity(const struct score *score);
double score_reference_perplexity(const struct score *score);

/* Standard error of the perplexity, by that of the mean surprise. */
double score_perplexity_error(const struct score *score);

double score_divergence(const struct score *score); /* mean KL */
double score_divergence_error(const struct score *score);

#endif
