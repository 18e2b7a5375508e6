/*
 * Sample: from logits to a token
 *
 * In this order: bias, penalties (repetition, frequency, presence; over prompt and answer, last `window` tokens),
 * temperature, top-k, top-p, min-p, draw. Greedy sampling (temperature 0) takes the best after penalties, ties to the
 * lowest id. The random number of the answer's token n is a hash of (seed, n); there is no state, so a rebuilt stream
 * draws the same. Log-probabilities are of the raw distribution, before bias. The result is deterministic to the bit on
 * every machine: exp and log are our own, sums are binary64 in a defined order. Nothing is allocated; time is linear in
 * the vocabulary.
 *
 * Any input gives a defined result. A logit that is NaN or -infinity is no candidate; +infinity counts as the largest
 * finite number (two of them are equals). At least one candidate always remains, or the outcome is SAMPLE_NUMERIC.
 * sottod has checked the ranges of parameters; here a temperature that is not above 0 is greedy, and a NaN elsewhere
 * switches its stage off or its token out.
 */
#ifndef SOTTO_MODEL_SAMPLE_H
#define SOTTO_MODEL_SAMPLE_H

#include "base/diag.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sample_bias {
    uint32_t id;
    float bias; /* -INFINITY: never */
};

/* All values in force. The arrays belong to the sequence. */
struct sample_params {
    float temperature;
    uint32_t top_k; /* 0: off */
    float top_p;    /* 1: off */
    float min_p;    /* 0: off */
    uint64_t seed;
    float repetition_penalty; /* 1: off */
    float frequency_penalty;
    float presence_penalty;
    uint32_t n_window; /* last tokens that penalties count; 0: penalties off */
    const struct sample_bias *biases;
    size_t n_biases;
    const uint32_t *never; /* ids that are always masked */
    size_t n_never;
    bool logprobs;  /* the token's log-probability is wanted */
    uint32_t n_top; /* number of best log-probabilities that are wanted as well */
};

struct sample_scratch; /* Memory of a draw for a vocabulary of a given size; a draw that is not done needs its own. */

int sample_scratch_create(struct sample_scratch **ret_scratch, uint32_t n_vocab);
void sample_scratch_destroy(struct sample_scratch *scratch);

struct sample_result {
    uint32_t id;
    float logprob;     /* 0 unless wanted */
    uint32_t *top_ids; /* the caller's, [params.n_top]; filled best first, ties to the lowest id */
    float *top_logprobs;
    uint32_t n_top; /* filled; fewer if fewer tokens have a finite logit */
};

enum sample_outcome {
    SAMPLE_OK,
    SAMPLE_NUMERIC, /* no finite logit was left */
    SAMPLE_MORE,    /* the draw is not done */
};

/*
 * Draws a token. @logits [n_vocab] are only read. @tokens are all @n_tokens of the sequence, prompt first; @n_answer is
 * the index in the answer of the token to draw.
 */
int sample_draw(const struct sample_params *params, const float *logits, uint32_t n_vocab, const uint32_t *tokens,
                size_t n_tokens, uint32_t n_answer, struct sample_scratch *scratch, struct sample_result *result);

/* Begins a draw that sample_go() continues. Everything pointed to must stay unchanged until the draw is done, or
 * another one is begun. */
void sample_begin(struct sample_scratch *scratch, const struct sample_params *params, const float *logits,
                  uint32_t n_vocab, const uint32_t *tokens, size_t n_tokens, uint32_t n_answer,
                  struct sample_result *result);

/* Continues the draw with work equivalent to looking at @n logits. The result does not depend on how the draw is
 * cut. */
int sample_go(struct sample_scratch *scratch, size_t n);

/* Returns the random number of the draw, in [0, 1). Source: splitmix64's finaliser over seed and index. */
double sample_random(uint64_t seed, uint32_t n_answer);

#endif
