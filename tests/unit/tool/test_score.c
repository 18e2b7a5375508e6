/*
 * Surprise and divergence against values worked out by hand.
 */
#include "tool/score.h"
#include "unit.h"
#include <math.h>

START_TEST(equal_logits_have_a_perplexity_of_the_vocabulary_size)
{
    const float logits[8] = { 3, 3, 3, 3, 3, 3, 3, 3 };
    struct score score = { .n = 0 };

    score_add(&score, logits, NULL, 8, 5);
    score_add(&score, logits, NULL, 8, 0);

    ck_assert_uint_eq(score.n, 2);
    ck_assert_double_eq_tol(score_perplexity(&score), 8, 1e-12);
    ck_assert_double_eq_tol(score_perplexity_error(&score), 0, 1e-6);
}
END_TEST

START_TEST(large_logits_do_not_overflow)
{
    const float logits[2] = { 3000, -3000 };
    struct score score = { .n = 0 };

    score_add(&score, logits, NULL, 2, 0);

    ck_assert_double_eq_tol(score_perplexity(&score), 1, 1e-12);
}
END_TEST

START_TEST(divergence_is_from_the_reference_to_the_model)
{
    /* p = (1/4, 3/4) of the reference, q = (1/2, 1/2) of the model: p log(p / q). */
    const float logits[2] = { 0, 0 };
    const float reference[2] = { 0, 1.0986122886681098F };
    const double wanted = 0.25 * log(0.5) + 0.75 * log(1.5);
    struct score score = { .n = 0 };

    score_add(&score, logits, reference, 2, 1);

    ck_assert_double_eq_tol(score_divergence(&score), wanted, 1e-7);
    ck_assert_double_eq_tol(score.farthest, wanted, 1e-7);
    ck_assert_double_eq_tol(score_reference_perplexity(&score), 4.0 / 3, 1e-6);
    ck_assert_uint_eq(score.n_same, 0);
}
END_TEST

START_TEST(a_model_does_not_diverge_from_itself)
{
    const float logits[3] = { 1, -2, 0.5F };
    struct score score = { .n = 0 };

    score_add(&score, logits, logits, 3, 1);

    ck_assert_double_eq(score_divergence(&score), 0);
    ck_assert_uint_eq(score.n_same, 1);
}
END_TEST

START_TEST(errors_are_standard_errors_of_a_mean)
{
    const float logits[2] = { 0, 1.0986122886681098F };
    struct score score = { .n = 0 };

    score_add(&score, logits, NULL, 2, 0); /* log 4 */
    score_add(&score, logits, NULL, 2, 1); /* log 4/3 */

    /* The values differ by log 3, so their standard error is half of that. */
    ck_assert_double_eq_tol(score_perplexity_error(&score), score_perplexity(&score) * log(3) / 2, 1e-6);
}
END_TEST

START_TEST(logits_that_are_not_numbers_give_nan)
{
    const float logits[2] = { NAN, 1 };
    struct score score = { .n = 0 };

    score_add(&score, logits, NULL, 2, 1);

    ck_assert(!isfinite(score.surprise));
}
END_TEST

int main(void)
{
    return unit_facts("tool-score", equal_logits_have_a_perplexity_of_the_vocabulary_size, large_logits_do_not_overflow,
                      divergence_is_from_the_reference_to_the_model, a_model_does_not_diverge_from_itself,
                      errors_are_standard_errors_of_a_mean, logits_that_are_not_numbers_give_nan);
}
