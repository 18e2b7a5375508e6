/*
 * Sample: from logits to a token
 *
 * In this order: bias, penalties (repetition, frequency, presence; over prompt and answer, last `window` tokens),
 * temperature, top-k, top-p, min-p, draw. Greedy (temperature 0) takes the best after penalties, ties to the lowest
 * id. The random number of the answer's token n is a hash of (seed, n): no state, so a rebuilt stream draws the
 * same. Log-probabilities are of the raw distribution, before bias. Deterministic to the bit on every machine: exp
 * and log are our own, sums are binary64 in a defined order. Allocates nothing; time is linear in the vocabulary.
 *
 * Whatever comes in, something defined comes out. A logit that is NaN or -infinity is no candidate, +infinity counts
 * as the largest finite number (two of them are equals). At least one candidate always remains, or the outcome is
 * SAMPLE_NUMERIC. Parameters are in range where sottod has checked them; here a temperature that is not above 0 is
 * greedy, and a NaN elsewhere switches its stage off or its token out.
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
    uint32_t n_window; /* tokens looked back at; 0: penalties off */
    const struct sample_bias *biases;
    size_t n_biases;
    const uint32_t *never; /* ids masked always */
    size_t n_never;
    bool logprobs;  /* the token's log-probability is wanted */
    uint32_t n_top; /* so many of the best log-probabilities, too */
};

struct sample_scratch; /* sized for a vocabulary; one for each draw that may have begun */

int sample_scratch_create(struct sample_scratch **ret_scratch, uint32_t n_vocab);
void sample_scratch_destroy(struct sample_scratch *scratch);

struct sample_result {
    uint32_t id;
    float logprob;     /* 0 unless wanted */
    uint32_t *top_ids; /* caller's room for n_top of each; filled best first, ties to the lowest id */
    float *top_logprobs;
    uint32_t n_top; /* filled: fewer if fewer tokens have a finite logit */
};

enum sample_outcome {
    SAMPLE_OK,
    SAMPLE_NUMERIC, /* no finite logit was left */
    SAMPLE_MORE,    /* the draw is not done */
};

/*
 * @logits [n_vocab] are read only. @tokens are all of the sequence, prompt first, n_tokens of them; @n_answer is
 * the index in the answer of the token to draw.
 */
int sample_draw(const struct sample_params *params, const float *logits, uint32_t n_vocab, const uint32_t *tokens,
                size_t n_tokens, uint32_t n_answer, struct sample_scratch *scratch, struct sample_result *result);

/* The same, a little at a time. All that is pointed to stays as it is until the draw is done, or another is begun. */
void sample_begin(struct sample_scratch *scratch, const struct sample_params *params, const float *logits,
                  uint32_t n_vocab, const uint32_t *tokens, size_t n_tokens, uint32_t n_answer,
                  struct sample_result *result);

/* Goes on with what is like looking at @n logits. However a draw is cut, its result is the same. */
int sample_go(struct sample_scratch *scratch, size_t n);

/* The hash behind the draw, as a number in [0, 1). Source: splitmix64 finaliser over seed and index. */
double sample_random(uint64_t seed, uint32_t n_answer);

#endif
