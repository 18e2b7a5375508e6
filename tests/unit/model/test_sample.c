/*
 * The sampler at its edges (degenerate logits, parameters at both ends), its order of stages, and its draws.
 */
#include "model/sample.h"

#include "base/clean.h"
#include "base/mem.h"
#include "unit.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define VOCAB 8

/* Everything off, at the temperature that changes nothing. */
static struct sample_params plain(float temperature)
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

static int draw_nth(const struct case_of *c, uint32_t n_answer, struct sample_result *result)
{
    struct sample_scratch *scratch = NULL;
    int r;

    ck_assert_int_eq(sample_scratch_create(&scratch, c->n_vocab), 0);
    r = sample_draw(&c->params, c->logits, c->n_vocab, c->tokens, c->n_tokens, n_answer, scratch, result);
    sample_scratch_destroy(scratch);
    return r;
}

static uint32_t drawn(const struct case_of *c, uint32_t n_answer)
{
    struct sample_result result = { .id = UINT32_MAX };

    ck_assert_int_eq(draw_nth(c, n_answer, &result), SAMPLE_OK);
    return result.id;
}

/* Which ids come in 400 draws, as a bit set. */
static uint32_t seen(const struct case_of *c)
{
    uint32_t set = 0;

    for (uint32_t n = 0; n < 400; n++) {
        set |= 1U << drawn(c, n);
    }
    return set;
}

static struct case_of case_with(struct sample_params params, const float *logits)
{
    return (struct case_of){ .params = params, .logits = logits, .n_vocab = VOCAB };
}

/* ---- degenerate logits */

static const float temperatures[] = { 0, 1e-30F, 1, 1e6F };

static void check_numeric(const float *logits)
{
    for (size_t i = 0; i < COUNTOF(temperatures); i++) {
        const struct case_of c = case_with(plain(temperatures[i]), logits);
        struct sample_result result = { .id = 77 };

        ck_assert_int_eq(draw_nth(&c, 0, &result), SAMPLE_NUMERIC);
        ck_assert_uint_eq(result.id, 77);
    }
}

START_TEST(no_candidate_among_minus_infinities)
{
    float logits[VOCAB];

    for (size_t i = 0; i < VOCAB; i++) {
        logits[i] = -INFINITY;
    }
    check_numeric(logits);
}
END_TEST

START_TEST(no_candidate_among_nans)
{
    float logits[VOCAB];

    for (size_t i = 0; i < VOCAB; i++) {
        logits[i] = i % 2 ? NAN : -NAN;
    }
    check_numeric(logits);
}
END_TEST

START_TEST(nan_is_never_chosen)
{
    for (size_t at = 0; at < VOCAB; at++) {
        float logits[VOCAB] = { 0 };

        logits[at] = NAN;
        for (size_t i = 0; i < COUNTOF(temperatures); i++) {
            const struct case_of c = case_with(plain(temperatures[i]), logits);

            ck_assert_uint_eq(seen(&c) & (1U << at), 0);
        }
    }
}
END_TEST

START_TEST(only_number_among_nans_is_chosen)
{
    const float logits[VOCAB] = { NAN, NAN, NAN, -30, NAN, NAN, NAN, NAN };

    for (size_t i = 0; i < COUNTOF(temperatures); i++) {
        const struct case_of c = case_with(plain(temperatures[i]), logits);

        ck_assert_uint_eq(seen(&c), 1U << 3);
    }
}
END_TEST

START_TEST(two_plus_infinities_are_equals)
{
    const float logits[VOCAB] = { 1, 2, INFINITY, 3, 4, INFINITY, 5, -INFINITY };
    const struct case_of greedy = case_with(plain(0), logits);
    const struct case_of warm = case_with(plain(1), logits);

    ck_assert_uint_eq(drawn(&greedy, 0), 2);
    ck_assert_uint_eq(seen(&warm), 1U << 2 | 1U << 5);
}
END_TEST

START_TEST(equal_logits_give_lowest_id_greedily_and_all_when_warm)
{
    const float logits[VOCAB] = { 0 };
    const struct case_of greedy = case_with(plain(0), logits);
    const struct case_of warm = case_with(plain(1), logits);

    ck_assert_uint_eq(drawn(&greedy, 0), 0);
    ck_assert_uint_eq(seen(&warm), (1U << VOCAB) - 1);
}
END_TEST

/* ---- temperature */

static const float slope[VOCAB] = { 0, 1, 2, 3, 4, 5, 6, 7 };

START_TEST(tiny_temperature_is_greedy)
{
    const struct case_of c = case_with(plain(1e-30F), slope);
    const struct case_of denormal = case_with(plain(1e-44F), slope);

    ck_assert_uint_eq(seen(&c), 1U << 7);
    ck_assert_uint_eq(seen(&denormal), 1U << 7);
}
END_TEST

START_TEST(huge_temperature_levels_all)
{
    const struct case_of c = case_with(plain(1e6F), slope);

    ck_assert_uint_eq(seen(&c), (1U << VOCAB) - 1);
}
END_TEST

START_TEST(temperature_out_of_range_is_greedy_or_level_but_defined)
{
    const struct case_of below = case_with(plain(-1), slope);
    const struct case_of nan = case_with(plain(NAN), slope);
    const struct case_of infinite = case_with(plain(INFINITY), slope);

    ck_assert_uint_eq(seen(&below), 1U << 7);
    ck_assert_uint_eq(seen(&nan), 1U << 7);
    ck_assert_uint_eq(seen(&infinite), (1U << VOCAB) - 1);
}
END_TEST

/* ---- filters */

START_TEST(top_k_keeps_k_best)
{
    for (uint32_t k = 1; k <= VOCAB + 1; k++) {
        struct case_of c = case_with(plain(1e6F), slope);
        uint32_t n = k < VOCAB ? k : VOCAB;

        c.params.top_k = k;

        ck_assert_uint_eq(seen(&c), ((1U << n) - 1) << (VOCAB - n));
    }
}
END_TEST

START_TEST(top_k_0_is_off)
{
    struct case_of c = case_with(plain(1e6F), slope);

    c.params.top_k = 0;

    ck_assert_uint_eq(seen(&c), (1U << VOCAB) - 1);
}
END_TEST

START_TEST(top_k_among_equals_keeps_lowest_ids)
{
    const float logits[VOCAB] = { 0 };
    struct case_of c = case_with(plain(1), logits);

    c.params.top_k = 3;

    ck_assert_uint_eq(seen(&c), 7);
}
END_TEST

START_TEST(tiny_top_p_keeps_the_best_alone)
{
    struct case_of c = case_with(plain(1), slope);

    c.params.top_p = 1e-30F;
    ck_assert_uint_eq(seen(&c), 1U << 7);
    c.params.top_p = 0;
    ck_assert_uint_eq(seen(&c), 1U << 7);
}
END_TEST

START_TEST(top_p_keeps_fewest_that_reach_it)
{
    /* 0.4, 0.3, 0.2, 0.1 */
    const float logits[VOCAB] = { -1.2039728F, -INFINITY, -0.9162907F, -2.3025851F,
                                  -1.6094379F, -INFINITY, -INFINITY,   -INFINITY };
    struct case_of c = case_with(plain(1), logits);

    c.params.top_p = 0.39F;
    ck_assert_uint_eq(seen(&c), 1U << 2);
    c.params.top_p = 0.41F;
    ck_assert_uint_eq(seen(&c), 1U << 2 | 1U << 0);
    c.params.top_p = 0.75F;
    ck_assert_uint_eq(seen(&c), 1U << 2 | 1U << 0 | 1U << 4);
    c.params.top_p = 0.95F;
    ck_assert_uint_eq(seen(&c), 1U << 2 | 1U << 0 | 1U << 4 | 1U << 3);
}
END_TEST

START_TEST(top_p_counts_after_top_k)
{
    /* 0.4, 0.3, 0.2, 0.1: of the best two alone, the first has 0.571 */
    const float logits[VOCAB] = { -1.2039728F, -INFINITY, -0.9162907F, -2.3025851F,
                                  -1.6094379F, -INFINITY, -INFINITY,   -INFINITY };
    struct case_of c = case_with(plain(1), logits);

    c.params.top_k = 2;
    c.params.top_p = 0.5F;

    ck_assert_uint_eq(seen(&c), 1U << 2);
}
END_TEST

START_TEST(min_p_1_keeps_the_best_alone)
{
    struct case_of c = case_with(plain(1), slope);

    c.params.min_p = 1;
    ck_assert_uint_eq(seen(&c), 1U << 7);
    c.params.min_p = 5;
    ck_assert_uint_eq(seen(&c), 1U << 7);
}
END_TEST

START_TEST(min_p_is_a_share_of_the_best)
{
    const float logits[VOCAB] = { 0, -0.6F, -0.8F, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY };
    struct case_of c = case_with(plain(1), logits);

    c.params.min_p = 0.5F; /* ln 0.5 = -0.693 */

    ck_assert_uint_eq(seen(&c), 3);
}
END_TEST

START_TEST(nan_filters_are_off)
{
    struct case_of c = case_with(plain(1e6F), slope);

    c.params.top_p = NAN;
    c.params.min_p = NAN;

    ck_assert_uint_eq(seen(&c), (1U << VOCAB) - 1);
}
END_TEST

/* ---- biases and masks */

START_TEST(bias_minus_infinity_on_all_but_one_leaves_that_one)
{
    struct sample_bias biases[VOCAB - 1];

    for (uint32_t i = 0; i < VOCAB - 1; i++) {
        biases[i] = (struct sample_bias){ .id = i < 2 ? i : i + 1, .bias = -INFINITY };
    }
    for (size_t i = 0; i < COUNTOF(temperatures); i++) {
        struct case_of c = case_with(plain(temperatures[i]), slope);

        c.params.biases = biases;
        c.params.n_biases = COUNTOF(biases);
        c.params.top_k = 5;
        c.params.top_p = 0.9F;
        c.params.min_p = 0.1F;

        ck_assert_uint_eq(seen(&c), 1U << 2);
    }
}
END_TEST

START_TEST(bias_on_unknown_id_changes_nothing)
{
    const struct sample_bias bias = { .id = VOCAB, .bias = 100 };
    struct case_of c = case_with(plain(0), slope);

    c.params.biases = &bias;
    c.params.n_biases = 1;

    ck_assert_uint_eq(drawn(&c, 0), 7);
}
END_TEST

START_TEST(bias_lifts_a_token)
{
    const struct sample_bias bias = { .id = 2, .bias = 5.5F };
    struct case_of c = case_with(plain(0), slope);

    c.params.biases = &bias;
    c.params.n_biases = 1;

    ck_assert_uint_eq(drawn(&c, 0), 2);
}
END_TEST

START_TEST(nan_bias_takes_its_token_out)
{
    const struct sample_bias bias = { .id = 7, .bias = NAN };
    struct case_of c = case_with(plain(0), slope);

    c.params.biases = &bias;
    c.params.n_biases = 1;

    ck_assert_uint_eq(drawn(&c, 0), 6);
}
END_TEST

START_TEST(masked_id_is_never_chosen_even_when_lifted)
{
    const uint32_t never[] = { 7, 6, VOCAB + 5 };
    const struct sample_bias bias = { .id = 7, .bias = INFINITY };

    for (size_t i = 0; i < COUNTOF(temperatures); i++) {
        struct case_of c = case_with(plain(temperatures[i]), slope);

        c.params.never = never;
        c.params.n_never = COUNTOF(never);
        c.params.biases = &bias;
        c.params.n_biases = 1;

        ck_assert_uint_eq(seen(&c) & (1U << 7 | 1U << 6), 0);
    }
}
END_TEST

START_TEST(all_masked_is_numeric)
{
    const uint32_t never[VOCAB] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    struct case_of c = case_with(plain(1), slope);
    struct sample_result result;

    c.params.never = never;
    c.params.n_never = VOCAB;

    ck_assert_int_eq(draw_nth(&c, 0, &result), SAMPLE_NUMERIC);
}
END_TEST

/* ---- penalties */

static const uint32_t said[] = { 7, 7, 6 };

static struct case_of case_said(void)
{
    struct case_of c = case_with(plain(0), slope);

    c.params.n_window = 64;
    c.tokens = said;
    c.n_tokens = COUNTOF(said);
    return c;
}

START_TEST(presence_is_taken_once)
{
    struct case_of c = case_said();

    c.params.presence_penalty = 1.5F; /* 7: 5.5, 6: 4.5, 5: 5 */
    ck_assert_uint_eq(drawn(&c, 0), 7);
    c.params.presence_penalty = 2.5F; /* 7: 4.5 */
    ck_assert_uint_eq(drawn(&c, 0), 5);
}
END_TEST

START_TEST(frequency_is_taken_for_each_time)
{
    struct case_of c = case_said();

    c.params.frequency_penalty = 0.4F; /* 7: 6.2, 6: 5.6 */
    ck_assert_uint_eq(drawn(&c, 0), 7);
    c.params.frequency_penalty = 0.9F; /* 7: 5.2, 6: 5.1, 5: 5 */
    ck_assert_uint_eq(drawn(&c, 0), 7);
    c.params.frequency_penalty = 1.1F; /* 7: 4.8, 6: 4.9 */
    ck_assert_uint_eq(drawn(&c, 0), 5);
}
END_TEST

START_TEST(repetition_scales_towards_less_likely_on_both_sides_of_0)
{
    const float below[VOCAB] = { -9, -9, -9, -9, -9, -2, -1.5F, -1 };
    struct case_of c = case_said();

    c.params.repetition_penalty = 1.5F; /* 7: 4.67, 6: 4, 5: 5 */
    ck_assert_uint_eq(drawn(&c, 0), 5);

    c.logits = below;
    c.params.repetition_penalty = 1.9F; /* 7: -1.9, 5: -2 */
    ck_assert_uint_eq(drawn(&c, 0), 7);
    c.params.repetition_penalty = 2.1F;
    ck_assert_uint_eq(drawn(&c, 0), 5);
}
END_TEST

START_TEST(window_bounds_what_is_looked_back_at)
{
    struct case_of c = case_said();

    c.params.presence_penalty = 4;
    c.params.n_window = 1; /* the 6 alone */
    ck_assert_uint_eq(drawn(&c, 0), 7);
    c.params.n_window = 2;
    ck_assert_uint_eq(drawn(&c, 0), 5);
    c.params.n_window = 0;
    ck_assert_uint_eq(drawn(&c, 0), 7);
    c.params.n_window = UINT32_MAX;
    ck_assert_uint_eq(drawn(&c, 0), 5);
}
END_TEST

START_TEST(window_leaves_no_trace_for_the_next_draw)
{
    struct sample_scratch *scratch = NULL;
    struct case_of c = case_said();
    struct sample_result result = { .id = 0 };

    c.params.frequency_penalty = 0.4F;
    ck_assert_int_eq(sample_scratch_create(&scratch, VOCAB), 0);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(sample_draw(&c.params, slope, VOCAB, said, COUNTOF(said), 0, scratch, &result),
                         SAMPLE_OK);
        ck_assert_uint_eq(result.id, 7);
    }
    sample_scratch_destroy(scratch);
}
END_TEST

START_TEST(nan_penalty_takes_what_was_said_out)
{
    struct case_of c = case_said();

    c.params.repetition_penalty = NAN;

    ck_assert_uint_eq(drawn(&c, 0), 5);
}
END_TEST

START_TEST(greedy_takes_the_best_after_penalties_and_bias)
{
    const struct sample_bias bias = { .id = 0, .bias = 4.9F };
    struct case_of c = case_said();

    c.params.presence_penalty = 4;
    c.params.biases = &bias;
    c.params.n_biases = 1;

    ck_assert_uint_eq(drawn(&c, 0), 5);
}
END_TEST

/* ---- the draw */

START_TEST(random_numbers_are_those_of_splitmix64)
{
    /* First outputs of splitmix64 from state 0 and from 1234567, as published with the generator. */
    ck_assert_double_eq(sample_random(0, 0), (double)(0xe220a8397b1dcdafU >> 11) * 0x1p-53);
    ck_assert_double_eq(sample_random(0, 1), (double)(0x6e789e6aa1b965f4U >> 11) * 0x1p-53);
    ck_assert_double_eq(sample_random(1234567, 0), (double)(6457827717110365317U >> 11) * 0x1p-53);
    ck_assert_double_eq(sample_random(1234567, 1), (double)(3203168211198807973U >> 11) * 0x1p-53);
}
END_TEST

START_TEST(random_numbers_stay_below_1)
{
    for (uint64_t seed = 0; seed < 20000; seed++) {
        double random = sample_random(seed * 0x123456789abcdefU, (uint32_t)seed);

        ck_assert(random >= 0 && random < 1);
    }
}
END_TEST

START_TEST(same_seed_and_index_draw_the_same_whatever_came_before)
{
    const struct case_of c = case_with(plain(2), slope);
    uint32_t first[50];

    for (uint32_t n = 0; n < 50; n++) {
        first[n] = drawn(&c, n);
    }
    for (uint32_t n = 50; n-- > 0;) {
        ck_assert_uint_eq(drawn(&c, n), first[n]);
    }
}
END_TEST

START_TEST(other_seeds_draw_otherwise)
{
    struct case_of c = case_with(plain(1e6F), slope);
    unsigned n_same = 0;

    for (uint32_t n = 0; n < 200; n++) {
        uint32_t one;

        c.params.seed = 1;
        one = drawn(&c, n);
        c.params.seed = 2;
        n_same += drawn(&c, n) == one;
    }

    ck_assert_uint_lt(n_same, 60); /* 25 of 200 would agree by chance */
}
END_TEST

/* Chi-squared of 20,000 draws against the distribution computed in binary64 by the C library. */
START_TEST(draws_follow_the_distribution)
{
    enum { N = 20000 };
    struct case_of c = case_with(plain(0.8F), slope);
    unsigned counts[VOCAB] = { 0 };
    double total = 0;
    double chi = 0;

    c.logits = (const float[VOCAB]){ 0.3F, -0.5F, 1.1F, 0.0F, 0.9F, -1.2F, 0.5F, 0.2F };
    for (uint32_t n = 0; n < N; n++) {
        c.params.seed = 1000 + n / 100;
        counts[drawn(&c, n)]++;
    }
    for (size_t i = 0; i < VOCAB; i++) {
        total += exp((double)c.logits[i] / 0.8);
    }
    for (size_t i = 0; i < VOCAB; i++) {
        double wanted = N * exp((double)c.logits[i] / 0.8) / total;

        chi += (counts[i] - wanted) * (counts[i] - wanted) / wanted;
    }

    ck_assert_double_lt(chi,
                        24.3); /* 7 degrees of freedom: passed by chance once in a thousand sets of seeds */
}
END_TEST

/* ---- log-probabilities */

START_TEST(logprobs_are_of_the_raw_distribution)
{
    const struct sample_bias bias = { .id = 2, .bias = 100 };
    uint32_t top_ids[3];
    float top_logprobs[3];
    struct sample_result result = { .top_ids = top_ids, .top_logprobs = top_logprobs };
    struct case_of c = case_with(plain(0), slope);
    double log_sum = 0;

    for (size_t i = 0; i < VOCAB; i++) {
        log_sum += exp(slope[i]);
    }
    log_sum = log(log_sum);
    c.params.biases = &bias;
    c.params.n_biases = 1;
    c.params.n_top = 3;

    ck_assert_int_eq(draw_nth(&c, 0, &result), SAMPLE_OK);

    ck_assert_uint_eq(result.id, 2);
    ck_assert_float_eq_tol(result.logprob, (float)(2 - log_sum), 1e-5F);
    ck_assert_uint_eq(result.n_top, 3);
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(top_ids[i], 7 - i);
        ck_assert_float_eq_tol(top_logprobs[i], (float)(7 - i - log_sum), 1e-5F);
    }
}
END_TEST

START_TEST(top_logprobs_are_as_many_as_there_are_candidates)
{
    const float logits[VOCAB] = { NAN, 1, -INFINITY, 1, NAN, 0, -INFINITY, NAN };
    uint32_t top_ids[20];
    float top_logprobs[20];
    struct sample_result result = { .top_ids = top_ids, .top_logprobs = top_logprobs };
    struct case_of c = case_with(plain(0), logits);

    c.params.n_top = 20;

    ck_assert_int_eq(draw_nth(&c, 0, &result), SAMPLE_OK);

    ck_assert_uint_eq(result.n_top, 3);
    ck_assert_uint_eq(top_ids[0], 1); /* of equals the lower id first */
    ck_assert_uint_eq(top_ids[1], 3);
    ck_assert_uint_eq(top_ids[2], 5);
}
END_TEST

START_TEST(logprobs_not_asked_for_are_0)
{
    const struct case_of c = case_with(plain(0), slope);
    struct sample_result result = { .logprob = 5, .n_top = 5 };

    ck_assert_int_eq(draw_nth(&c, 0, &result), SAMPLE_OK);

    ck_assert_float_eq(result.logprob, 0);
    ck_assert_uint_eq(result.n_top, 0);
}
END_TEST

/* ---- a real vocabulary's size */

#define LARGE 151936

static void fill_large(float *logits, uint64_t state)
{
    for (size_t i = 0; i < LARGE; i++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        logits[i] = (float)(state >> 40) * 0x1p-20F - 8;
    }
}

START_TEST(every_filter_on_a_large_vocabulary_keeps_its_promise_and_allocates_nothing)
{
    static float logits[LARGE];
    static const float top_ps[] = { 1, 0.95F, 0.5F, 1e-6F };
    static const uint32_t top_ks[] = { 0, 1, 40, 100000, LARGE + 1 };
    static const float warm[] = { 0.7F, 1e6F };
    struct sample_scratch *scratch = NULL;
    struct sample_result result = { .id = 0 };
    uint64_t n_allocs;

    fill_large(logits, 3);
    ck_assert_int_eq(sample_scratch_create(&scratch, LARGE), 0);
    n_allocs = mem_n_allocs();
    for (size_t p = 0; p < COUNTOF(top_ps); p++) {
        for (size_t k = 0; k < COUNTOF(top_ks); k++) {
            for (size_t t = 0; t < COUNTOF(warm); t++) {
                struct sample_params params = plain(warm[t]);
                unsigned n_better = 0;

                params.top_p = top_ps[p];
                params.top_k = top_ks[k];
                ck_assert_int_eq(sample_draw(&params, logits, LARGE, NULL, 0, (uint32_t)p, scratch, &result),
                                 SAMPLE_OK);
                for (size_t i = 0; i < LARGE; i++) {
                    n_better += logits[i] > logits[result.id];
                }
                ck_assert(params.top_k == 0 || n_better < params.top_k);
                ck_assert(params.top_p > 0.01F || n_better < 2);
            }
        }
    }
    ck_assert_uint_eq(mem_n_allocs(), n_allocs);
    sample_scratch_destroy(scratch);
}
END_TEST

/* Top-p by the book: sort all, add up in binary64. */
static unsigned n_kept_by_sorting(const float *logits, double temperature, double top_p)
{
    static bool taken[LARGE];
    double total = 0;
    double sum = 0;
    unsigned n = 0;

    memset(taken, 0, sizeof(taken));
    for (size_t i = 0; i < 2000; i++) {
        total += exp(logits[i] / temperature);
    }
    while (sum < top_p * total) {
        size_t best = 2000;

        for (size_t i = 0; i < 2000; i++) {
            if (!taken[i] && (best == 2000 || logits[i] > logits[best])) {
                best = i;
            }
        }
        taken[best] = true;
        sum += exp(logits[best] / temperature);
        n++;
    }
    return n;
}

START_TEST(long_top_p_keeps_what_sorting_all_would_keep)
{
    static float logits[LARGE];
    struct case_of c = { .params = plain(4), .logits = logits, .n_vocab = 2000 };
    unsigned n_kept;
    unsigned worst = 0;

    fill_large(logits, 11);
    c.params.top_p = 0.6F;
    n_kept = n_kept_by_sorting(logits, 4, 0.6);
    ck_assert_uint_gt(n_kept, 200); /* more than the first piece */

    for (uint32_t n = 0; n < 3000; n++) {
        uint32_t id = drawn(&c, n);
        unsigned n_better = 0;

        for (size_t i = 0; i < 2000; i++) {
            n_better += logits[i] > logits[id];
        }
        worst = n_better > worst ? n_better : worst;
    }

    ck_assert_uint_le(worst, n_kept); /* one more for a sum that rounds otherwise */
    ck_assert_uint_gt(worst, n_kept - n_kept / 50);
}
END_TEST

static void add_edges(TCase *tests)
{
    tcase_add_test(tests, no_candidate_among_minus_infinities);
    tcase_add_test(tests, no_candidate_among_nans);
    tcase_add_test(tests, nan_is_never_chosen);
    tcase_add_test(tests, only_number_among_nans_is_chosen);
    tcase_add_test(tests, two_plus_infinities_are_equals);
    tcase_add_test(tests, equal_logits_give_lowest_id_greedily_and_all_when_warm);
    tcase_add_test(tests, tiny_temperature_is_greedy);
    tcase_add_test(tests, huge_temperature_levels_all);
    tcase_add_test(tests, temperature_out_of_range_is_greedy_or_level_but_defined);
}

static void add_filters(TCase *tests)
{
    tcase_add_test(tests, top_k_keeps_k_best);
    tcase_add_test(tests, top_k_0_is_off);
    tcase_add_test(tests, top_k_among_equals_keeps_lowest_ids);
    tcase_add_test(tests, tiny_top_p_keeps_the_best_alone);
    tcase_add_test(tests, top_p_keeps_fewest_that_reach_it);
    tcase_add_test(tests, top_p_counts_after_top_k);
    tcase_add_test(tests, min_p_1_keeps_the_best_alone);
    tcase_add_test(tests, min_p_is_a_share_of_the_best);
    tcase_add_test(tests, nan_filters_are_off);
    tcase_add_test(tests, every_filter_on_a_large_vocabulary_keeps_its_promise_and_allocates_nothing);
    tcase_add_test(tests, long_top_p_keeps_what_sorting_all_would_keep);
}

static void add_changes(TCase *tests)
{
    tcase_add_test(tests, bias_minus_infinity_on_all_but_one_leaves_that_one);
    tcase_add_test(tests, bias_on_unknown_id_changes_nothing);
    tcase_add_test(tests, bias_lifts_a_token);
    tcase_add_test(tests, nan_bias_takes_its_token_out);
    tcase_add_test(tests, masked_id_is_never_chosen_even_when_lifted);
    tcase_add_test(tests, all_masked_is_numeric);
    tcase_add_test(tests, presence_is_taken_once);
    tcase_add_test(tests, frequency_is_taken_for_each_time);
    tcase_add_test(tests, repetition_scales_towards_less_likely_on_both_sides_of_0);
    tcase_add_test(tests, window_bounds_what_is_looked_back_at);
    tcase_add_test(tests, window_leaves_no_trace_for_the_next_draw);
    tcase_add_test(tests, nan_penalty_takes_what_was_said_out);
    tcase_add_test(tests, greedy_takes_the_best_after_penalties_and_bias);
}

static void add_draws(TCase *tests)
{
    tcase_add_test(tests, random_numbers_are_those_of_splitmix64);
    tcase_add_test(tests, random_numbers_stay_below_1);
    tcase_add_test(tests, same_seed_and_index_draw_the_same_whatever_came_before);
    tcase_add_test(tests, other_seeds_draw_otherwise);
    tcase_add_test(tests, draws_follow_the_distribution);
    tcase_add_test(tests, logprobs_are_of_the_raw_distribution);
    tcase_add_test(tests, top_logprobs_are_as_many_as_there_are_candidates);
    tcase_add_test(tests, logprobs_not_asked_for_are_0);
}

int main(void)
{
    Suite *suite = suite_create("sample");
    TCase *tests = tcase_create("all");

    add_edges(tests);
    add_filters(tests);
    add_changes(tests);
    add_draws(tests);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
