/*
 * Score: sums, means and their standard errors
 */
#include "tool/score.h"
#include <math.h>

/* Returns the logarithm of the sum of e^logit. */
static double log_sum(const float *logits, uint32_t n)
{
    double top = -INFINITY;
    double sum = 0;

    for (uint32_t i = 0; i < n; i++) {
        top = fmax(top, (double)logits[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        sum += exp((double)logits[i] - top);
    }
    return top + log(sum);
}

static uint32_t best_of(const float *logits, uint32_t n)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < n; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    return best;
}

static void compare(struct score *score, const float *logits, const float *reference, uint32_t n, double sum)
{
    double reference_sum = log_sum(reference, n);
    double divergence = 0;

    for (uint32_t i = 0; i < n; i++) {
        double lp = (double)reference[i] - reference_sum;

        divergence += exp(lp) * (lp - ((double)logits[i] - sum));
    }
    /* It is below 0 only by rounding. */
    divergence = divergence < 0 ? 0 : divergence;
    score->divergence += divergence;
    score->divergence2 += divergence * divergence;
    score->farthest = fmax(score->farthest, divergence);
    score->n_same += best_of(logits, n) == best_of(reference, n);
}

void score_add(struct score *score, const float *logits, const float *reference, uint32_t n_vocab, uint32_t token)
{
    double sum = log_sum(logits, n_vocab);
    double surprise = sum - (double)logits[token];

    score->n++;
    score->surprise += surprise;
    score->surprise2 += surprise * surprise;
    if (reference) {
        score->reference += log_sum(reference, n_vocab) - (double)reference[token];
        compare(score, logits, reference, n_vocab, sum);
    }
}

/* Returns the standard error of a mean, from sums of values and of their squares. */
static double error_of(double sum, double sum2, uint64_t n)
{
    double mean = sum / (double)n;

    return n > 1 ? sqrt(fmax(sum2 / (double)n - mean * mean, 0) / (double)(n - 1)) : 0;
}

double score_perplexity(const struct score *score)
{
    return exp(score->surprise / (double)score->n);
}

double score_reference_perplexity(const struct score *score)
{
    return exp(score->reference / (double)score->n);
}

double score_perplexity_error(const struct score *score)
{
    return score_perplexity(score) * error_of(score->surprise, score->surprise2, score->n);
}

double score_divergence(const struct score *score)
{
    return score->divergence / (double)score->n;
}

double score_divergence_error(const struct score *score)
{
    return error_of(score->divergence, score->divergence2, score->n);
}
