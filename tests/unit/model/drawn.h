/* Drawn: one call of the sampler on a small vocabulary, and the set of ids that many calls return */
#ifndef SOTTO_TESTS_DRAWN_H
#define SOTTO_TESTS_DRAWN_H

#include "model/sample.h"

#include "unit.h"

#define VOCAB 8

/* Returns parameters with everything off and the given temperature. */
static inline struct sample_params plain(float temperature)
{
    return (struct sample_params){ .temperature = temperature, .top_p = 1, .repetition_penalty = 1 };
}

struct case_of {
    struct sample_params params;
    const float *logits;
    uint32_t n_vocab;
    const uint32_t *tokens;
    size_t n_tokens;
};

static inline int draw_nth(const struct case_of *c, uint32_t n_answer, struct sample_result *result)
{
    struct sample_scratch *scratch = NULL;
    int r;

    ck_assert_int_eq(sample_scratch_create(&scratch, c->n_vocab), 0);
    r = sample_draw(&c->params, c->logits, c->n_vocab, c->tokens, c->n_tokens, n_answer, scratch, result);
    sample_scratch_destroy(scratch);
    return r;
}

static inline uint32_t drawn(const struct case_of *c, uint32_t n_answer)
{
    struct sample_result result = { .id = UINT32_MAX };

    ck_assert_int_eq(draw_nth(c, n_answer, &result), SAMPLE_OK);
    return result.id;
}

/* Returns the ids of 400 draws as a bit set. */
static inline uint32_t seen(const struct case_of *c)
{
    uint32_t set = 0;

    for (uint32_t n = 0; n < 400; n++) {
        set |= 1U << drawn(c, n);
    }
    return set;
}

static inline struct case_of case_with(struct sample_params params, const float *logits)
{
    return (struct case_of){ .params = params, .logits = logits, .n_vocab = VOCAB };
}

static const float slope[VOCAB] = { 0, 1, 2, 3, 4, 5, 6, 7 };

#endif
