/* The draw: its random numbers, its distribution, its log-probabilities, and filters on a vocabulary of real size. */
#include "drawn.h"

#include "base/clean.h"
#include "base/mem.h"
#include "model/weight.h"
#include <float.h>
#include <math.h>
#include <string.h>

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

    ck_assert_double_lt(chi, 24.3); /* 7 degrees of freedom: passed by chance once in a thousand sets of seeds */
}
END_TEST

/* ---- weights */

START_TEST(weights_are_e_to_x_within_their_bound)
{
    double worst = 0;

    for (float x = 0; x >= WEIGHT_MIN; x -= 0.00173F) {
        const double wanted = exp((double)x);
        const float near = (float)wanted;
        const double unit = (double)nextafterf(near, INFINITY) - near;
        const double error = fabs(weight_of(x) - wanted) / unit;

        worst = error > worst ? error : worst;
    }

    ck_assert_double_lt(worst, 0.6);
    ck_assert_float_eq(weight_of(0), 1);
    ck_assert_float_eq(weight_of(-0.0F), 1);
}
END_TEST

START_TEST(weights_are_0_far_below_and_for_nan)
{
    ck_assert_float_eq(weight_of(-80.01F), 0);
    ck_assert_float_eq(weight_of(-FLT_MAX), 0);
    ck_assert_float_eq(weight_of(-INFINITY), 0);
    ck_assert_float_eq(weight_of(NAN), 0);
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
    ck_assert_uint_eq(top_ids[0], 1); /* equal values, the lower id first */
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

#define MIDDLE 3000

/* Draws once in pieces of @most, after another draw that was left halfway. */
static void check_pieces(struct sample_scratch *scratch, const struct sample_params *params, const float *logits,
                         const uint32_t *tokens, size_t n_tokens, size_t most)
{
    uint32_t ids[2][20];
    float logprobs[2][20];
    struct sample_result whole = { .top_ids = ids[0], .top_logprobs = logprobs[0] };
    struct sample_result pieces = { .top_ids = ids[1], .top_logprobs = logprobs[1] };
    unsigned n_left = (unsigned)(MIDDLE * 3 / 2 / most);
    int r;

    ck_assert_int_eq(sample_draw(params, logits, MIDDLE, tokens, n_tokens, (uint32_t)most, scratch, &whole), SAMPLE_OK);
    for (unsigned i = 0; i < 2; i++) {
        sample_begin(scratch, params, logits, MIDDLE, tokens, n_tokens, (uint32_t)most, &pieces);
        do {
            r = sample_go(scratch, most);
        } while (r == SAMPLE_MORE && (i == 1 || n_left-- > 0));
    }

    ck_assert_int_eq(r, SAMPLE_OK);
    ck_assert_uint_eq(pieces.id, whole.id);
    ck_assert(memcmp(&pieces.logprob, &whole.logprob, sizeof(float)) == 0);
    ck_assert_uint_eq(pieces.n_top, whole.n_top);
    ck_assert(memcmp(ids[0], ids[1], whole.n_top * sizeof(uint32_t)) == 0);
    ck_assert(memcmp(logprobs[0], logprobs[1], whole.n_top * sizeof(float)) == 0);
}

START_TEST(a_draw_is_the_same_in_whatever_pieces)
{
    static const size_t mosts[] = { 1, 7, 100, 1499, 100000 };
    static const float temperatures[] = { 0, 0.7F, 5 };
    static float logits[LARGE];
    static uint32_t tokens[2 * MIDDLE];
    const struct sample_bias biases[] = { { .id = 5, .bias = 3 }, { .id = 70, .bias = -3 } };
    const uint32_t never[] = { 9, 2000 };
    struct sample_scratch *scratch = NULL;

    fill_large(logits, 11);
    ck_assert_int_eq(sample_scratch_create(&scratch, MIDDLE), 0);
    for (size_t i = 0; i < COUNTOF(tokens); i++) {
        tokens[i] = (uint32_t)(i * i % 2500);
    }
    for (unsigned which = 0; which < 16; which++) {
        struct sample_params params = plain(temperatures[which % 3]);

        params.top_k = which & 1 ? 40 : 0;
        params.top_p = which & 2 ? 0.9F : 1;
        params.min_p = which & 4 ? 0.01F : 0;
        params.n_window = which & 8 ? 2 * MIDDLE : 0;
        params.repetition_penalty = 1.3F;
        params.frequency_penalty = 0.1F;
        params.biases = biases;
        params.n_biases = COUNTOF(biases);
        params.never = never;
        params.n_never = COUNTOF(never);
        params.n_top = which % 2 * 20;
        for (size_t i = 0; i < COUNTOF(mosts); i++) {
            check_pieces(scratch, &params, logits, tokens, COUNTOF(tokens), mosts[i]);
        }
    }
    sample_scratch_destroy(scratch);
}
END_TEST

/* Counts the tokens that top-p keeps by its definition: sort all, add up in binary64. */
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

START_TEST(top_p_of_a_large_vocabulary_equals_that_of_a_full_sort)
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

int main(void)
{
    Suite *suite = suite_create("draw");
    TCase *tests = tcase_create("all");

    tcase_add_test(tests, random_numbers_are_those_of_splitmix64);
    tcase_add_test(tests, random_numbers_stay_below_1);
    tcase_add_test(tests, same_seed_and_index_draw_the_same_whatever_came_before);
    tcase_add_test(tests, other_seeds_draw_otherwise);
    tcase_add_test(tests, draws_follow_the_distribution);
    tcase_add_test(tests, weights_are_e_to_x_within_their_bound);
    tcase_add_test(tests, weights_are_0_far_below_and_for_nan);
    tcase_add_test(tests, logprobs_are_of_the_raw_distribution);
    tcase_add_test(tests, top_logprobs_are_as_many_as_there_are_candidates);
    tcase_add_test(tests, logprobs_not_asked_for_are_0);
    tcase_add_test(tests, a_draw_is_the_same_in_whatever_pieces);
    tcase_add_test(tests, every_filter_on_a_large_vocabulary_keeps_its_promise_and_allocates_nothing);
    tcase_add_test(tests, top_p_of_a_large_vocabulary_equals_that_of_a_full_sort);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
