/*
 * The sampler at its edges (degenerate logits, parameters at both ends) and the order of its stages.
 */
#include "drawn.h"

#include "base/clean.h"
#include <math.h>

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

START_TEST(window_bounds_the_tokens_of_penalties)
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
        ck_assert_int_eq(sample_draw(&c.params, slope, VOCAB, said, COUNTOF(said), 0, scratch, &result), SAMPLE_OK);
        ck_assert_uint_eq(result.id, 7);
    }
    sample_scratch_destroy(scratch);
}
END_TEST

START_TEST(nan_penalty_excludes_tokens_of_the_window)
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
    tcase_add_test(tests, window_bounds_the_tokens_of_penalties);
    tcase_add_test(tests, window_leaves_no_trace_for_the_next_draw);
    tcase_add_test(tests, nan_penalty_excludes_tokens_of_the_window);
    tcase_add_test(tests, greedy_takes_the_best_after_penalties_and_bias);
}

int main(void)
{
    Suite *suite = suite_create("sample");
    TCase *tests = tcase_create("all");

    add_edges(tests);
    add_filters(tests);
    add_changes(tests);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
