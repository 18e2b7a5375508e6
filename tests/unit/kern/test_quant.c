/*
 * Writing formats: as near to the floats as another program's quantiser, nearer than plain rounding, and for any floats
 */
#include "fixture.h"
#include "unit.h"

#include "base/clean.h"
#include "kern/half.h"
#include "kern/quant.h"
#include "tensor/block.h"

#include <math.h>
#include <string.h>

#define GOLDEN   (FIXTURE_GOLDEN_ROWS * FIXTURE_GOLDEN_COLS)
#define GUARD    0xa5
#define ROW_CAP  (4 * 512)
#define NEAR_TOP 1.0 /* of the other program's squared error: what we may have at most */

/* A plain quantiser: each run by its largest magnitude or by its ends, scales rounded to bits. */
static const struct format {
    const char *name;
    uint32_t type;
    uint32_t n_run;
    int lo, hi;
    bool has_m;
    uint32_t n_bits; /* of the magnitude of a run's scale within a super-block; 0: a float */
    bool has_values; /* sixteen of the integers only */
} formats[] = {
    { "q4_0", ELEM_Q4_0, 32, -8, 7, false, 0 },
    { "q4_1", ELEM_Q4_1, 32, 0, 15, true, 0 },
    { "q5_0", ELEM_Q5_0, 32, -16, 15, false, 0 },
    { "q5_1", ELEM_Q5_1, 32, 0, 31, true, 0 },
    { "q8_0", ELEM_Q8_0, 32, -127, 127, false, 0 },
    { "q2_K", ELEM_Q2_K, 16, 0, 3, true, 4 },
    { "q3_K", ELEM_Q3_K, 16, -4, 3, false, 5 },
    { "q4_K", ELEM_Q4_K, 32, 0, 15, true, 6 },
    { "q5_K", ELEM_Q5_K, 32, 0, 31, true, 6 },
    { "q6_K", ELEM_Q6_K, 16, -32, 31, false, 7 },
    { "iq4_nl", ELEM_IQ4_NL, 32, -127, 113, false, 0, true },
    { "iq4_xs", ELEM_IQ4_XS, 32, -127, 113, false, 5, true },
};

#define N_FORMATS ((int)COUNTOF(formats))

static double unpacked_error(uint32_t type, const uint8_t *row, const float *x, uint32_t n)
{
    float out[512];
    double error = 0;

    fixture_set(0)->unpack(type, row, n, out);
    for (uint32_t i = 0; i < n; i++) {
        error += ((double)out[i] - (double)x[i]) * ((double)out[i] - (double)x[i]);
    }
    return error;
}

static double written_error(uint32_t type, const float *x, uint32_t n)
{
    uint8_t row[ROW_CAP];

    ck_assert_int_eq(quant_row(type, x, n, row), QUANT_OK);
    return unpacked_error(type, row, x, n);
}

START_TEST(errors_are_no_larger_than_another_programs)
{
    const struct format *format = &formats[_i];
    uint8_t packed[GOLDEN * 4];
    float x[GOLDEN];
    uint64_t row_bytes;
    double ours = 0, theirs = 0;

    ck_assert(elem_row_bytes(format->type, FIXTURE_GOLDEN_COLS, &row_bytes));
    if (!fixture_golden("input", "f32", x, sizeof(x)) ||
        !fixture_golden(format->name, "q", packed, FIXTURE_GOLDEN_ROWS * row_bytes)) {
        return;
    }

    for (uint32_t r = 0; r < FIXTURE_GOLDEN_ROWS; r++) {
        const float *row = x + r * FIXTURE_GOLDEN_COLS;

        ours += written_error(format->type, row, FIXTURE_GOLDEN_COLS);
        theirs += unpacked_error(format->type, packed + r * row_bytes, row, FIXTURE_GOLDEN_COLS);
    }

    fprintf(stderr, "%s: squared error %.3f of the other program's\n", format->name, ours / theirs);
    ck_assert_double_le(ours, NEAR_TOP * theirs);
}
END_TEST

/* The scale of a run by the plain rule; its min at @ret_m. */
static double plain_scale(const struct format *format, const float *x, double *ret_m)
{
    double lo = 0, top = 0, most = 0;

    for (uint32_t i = 0; i < format->n_run; i++) {
        lo = fmin(lo, (double)x[i]);
        top = fmax(top, (double)x[i]);
        most = fabs((double)x[i]) > fabs(most) ? (double)x[i] : most;
    }
    *ret_m = format->has_m ? lo : 0;
    return format->has_m ? (top - lo) / format->hi : most / format->lo;
}

static double plain_level(const struct format *format, double x)
{
    static const int8_t values[16] = { BLOCK_IQ4_VALUES };
    double nearest = values[0];

    if (!format->has_values) {
        return fmin(fmax(rint(x), format->lo), format->hi);
    }
    for (int i = 1; i < 16; i++) {
        nearest = fabs(x - values[i]) < fabs(x - nearest) ? values[i] : nearest;
    }
    return nearest;
}

static double plain_error(const struct format *format, const float *x, uint32_t n)
{
    const uint32_t n_super = format->n_bits == 0 ? format->n_run : 256;
    const double steps = (double)(1 << format->n_bits) - 1;
    double error = 0;

    for (uint32_t at = 0; at < n; at += n_super) {
        double most = 0, most_m = 0;

        for (uint32_t run = 0; run < n_super; run += format->n_run) {
            double m, d = plain_scale(format, x + at + run, &m);

            most = fmax(most, fabs(d));
            most_m = fmax(most_m, -m);
        }
        for (uint32_t run = 0; run < n_super; run += format->n_run) {
            double m, d = plain_scale(format, x + at + run, &m);

            if (format->n_bits > 0 && most > 0) {
                d = rint(d / most * steps) * most / steps;
                m = most_m > 0 ? rint(m / most_m * steps) * most_m / steps : 0;
            }
            for (uint32_t i = 0; i < format->n_run; i++) {
                const double off = (double)x[at + run + i] - m;
                const double q = d == 0 ? 0 : plain_level(format, off / d);

                error += (off - q * d) * (off - q * d);
            }
        }
    }
    return error;
}

/* About as weights lie: many small ones, few large ones. */
static void fill_like_weights(float *x, uint32_t n, struct fixture_random *random)
{
    for (uint32_t i = 0; i < n; i++) {
        x[i] = 0.02f * (fixture_float(random) + fixture_float(random) + fixture_float(random));
    }
}

START_TEST(a_search_errs_less_than_plain_rounding)
{
    const struct format *format = &formats[_i];
    struct fixture_random random = { 61 };
    float x[512];
    double searched = 0, plain = 0;

    for (int row = 0; row < 40; row++) {
        fill_like_weights(x, 512, &random);
        searched += written_error(format->type, x, 512);
        plain += plain_error(format, x, 512);
    }

    fprintf(stderr, "%s: squared error %.3f of plain rounding's\n", format->name, searched / plain);
    ck_assert_double_lt(searched, (format->type == ELEM_Q8_0 ? 0.995 : 0.97) * plain);
}
END_TEST

START_TEST(float_formats_round_to_nearest_even)
{
    static const struct {
        float x;
        uint16_t f16, bf16;
    } rows[] = {
        { 1.0f, 0x3c00, 0x3f80 },        { 0x1.01p+0f, 0x3c04, 0x3f80 },
        { 0x1.03p+0f, 0x3c0c, 0x3f82 },  { -0x1.002p+0f, 0xbc00, 0xbf80 },
        { 0x1.006p+0f, 0x3c02, 0x3f80 }, { 65520.0f, 0x7c00, 0x4780 },
        { -0.0f, 0x8000, 0x8000 },       { INFINITY, 0x7c00, 0x7f80 },
        { 0x1p-24f, 0x0001, 0x3380 },    { 0x1.fffffep+127f, 0x7c00, 0x7f80 },
    };
    const float nan = NAN;
    uint8_t out[2];
    float same;

    for (size_t i = 0; i < COUNTOF(rows); i++) {
        ck_assert_int_eq(quant_row(ELEM_F16, &rows[i].x, 1, out), QUANT_OK);
        ck_assert_uint_eq(half_load(out), rows[i].f16);
        ck_assert_int_eq(quant_row(ELEM_BF16, &rows[i].x, 1, out), QUANT_OK);
        ck_assert_uint_eq(half_load(out), rows[i].bf16);
        ck_assert_int_eq(quant_row(ELEM_F32, &rows[i].x, 1, &same), QUANT_OK);
        ck_assert(memcmp(&same, &rows[i].x, 4) == 0);
    }
    ck_assert_int_eq(quant_row(ELEM_BF16, &nan, 1, out), QUANT_OK);
    ck_assert(isnan(half_from_bf16(half_load(out))));
}
END_TEST

START_TEST(zeros_stay_zeros)
{
    const uint32_t type = fixture_types[_i];
    const float x[256] = { 0 };
    float out[256];
    uint8_t row[ROW_CAP];

    ck_assert_int_eq(quant_row(type, x, 256, row), QUANT_OK);
    fixture_set(0)->unpack(type, row, 256, out);

    for (uint32_t i = 0; i < 256; i++) {
        ck_assert_float_eq(out[i], 0.0f);
    }
}
END_TEST

/* Rows with scales beyond the range of a half on either side, or with equal elements. */
START_TEST(odd_rows_give_finite_weights_no_further_off_than_the_largest)
{
    static const float factors[] = { 0x1p-149f, 0x1p-30f, 0x1p-20f, 1.0f, 0x1p+15f };
    const uint32_t type = fixture_types[_i];
    struct fixture_random random = { 67 };
    uint8_t row[ROW_CAP];
    float x[256], out[256];

    for (size_t f = 0; f < COUNTOF(factors); f++) {
        for (int shape = 0; shape < 4; shape++) {
            for (uint32_t i = 0; i < 256; i++) {
                x[i] = shape == 0   ? factors[f]
                       : shape == 1 ? -factors[f]
                       : shape == 2 ? (i == 77 ? factors[f] : 0.0f)
                                    : factors[f] * fixture_float(&random);
            }
            ck_assert_int_eq(quant_row(type, x, 256, row), QUANT_OK);
            fixture_set(0)->unpack(type, row, 256, out);

            for (uint32_t i = 0; i < 256; i++) {
                ck_assert(isfinite(out[i]));
                ck_assert_float_le(fabsf(out[i] - x[i]), factors[f]);
            }
        }
    }
}
END_TEST

START_TEST(floats_beyond_the_range_of_a_format_stay_finite)
{
    const uint32_t type = fixture_types[_i];
    uint8_t row[ROW_CAP];
    float x[256], out[256];

    for (uint32_t i = 0; i < 256; i++) {
        x[i] = i % 3 == 0 ? 0x1.fffffep+127f : -0x1.fffffep+127f;
    }

    ck_assert_int_eq(quant_row(type, x, 256, row), QUANT_OK);

    fixture_set(0)->unpack(type, row, 256, out);
    for (uint32_t i = 0; i < 256 && elem_info(type)->n_block > 1; i++) {
        ck_assert(isfinite(out[i]));
    }
}
END_TEST

START_TEST(refused_rows_write_nothing)
{
    static const float odd[] = { INFINITY, -INFINITY, NAN };
    const uint32_t type = fixture_types[_i];
    const uint32_t n_block = elem_info(type)->n_block;
    uint8_t row[ROW_CAP];
    float x[257] = { 0 };

    memset(row, GUARD, sizeof(row));
    if (n_block > 1) {
        ck_assert_int_eq(quant_row(type, x, n_block - 1, row), QUANT_NOT_WHOLE);
        ck_assert_int_eq(quant_row(type, x, n_block + 1, row), QUANT_NOT_WHOLE);
    }
    for (size_t i = 0; n_block > 1 && i < COUNTOF(odd); i++) {
        x[n_block - 1] = odd[i];
        ck_assert_int_eq(quant_row(type, x, n_block, row), QUANT_NOT_FINITE);
    }
    ck_assert_int_eq(quant_row(39, x, 32, row), QUANT_NO_FORMAT); /* MXFP4: known by name */
    ck_assert_int_eq(quant_row(ELEM_TYPE_COUNT, x, 32, row), QUANT_NO_FORMAT);
    ck_assert_int_eq(quant_row(type, x, 0, row), QUANT_OK);

    for (size_t i = 0; i < sizeof(row); i++) {
        ck_assert_uint_eq(row[i], GUARD);
    }
}
END_TEST

START_TEST(a_row_is_written_whole_and_no_further_at_any_address)
{
    const uint32_t type = fixture_types[_i];
    struct fixture_random random = { 71 };
    uint8_t even[ROW_CAP], odd[ROW_CAP + 1];
    uint64_t row_bytes;
    float x[512];

    memset(odd, GUARD, sizeof(odd));
    fill_like_weights(x, 512, &random);
    ck_assert(elem_row_bytes(type, 512, &row_bytes));

    ck_assert_int_eq(quant_row(type, x, 512, even), QUANT_OK);
    ck_assert_int_eq(quant_row(type, x, 512, odd + 1), QUANT_OK);

    ck_assert(memcmp(even, odd + 1, row_bytes) == 0);
    ck_assert_uint_eq(odd[0], GUARD);
    for (size_t i = 1 + row_bytes; i < sizeof(odd); i++) {
        ck_assert_uint_eq(odd[i], GUARD);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kern-quant");
    TCase *tcase = tcase_create("quant");

    tcase_add_loop_test(tcase, errors_are_no_larger_than_another_programs, 0, N_FORMATS);
    tcase_add_loop_test(tcase, a_search_errs_less_than_plain_rounding, 0, N_FORMATS);
    tcase_add_test(tcase, float_formats_round_to_nearest_even);
    tcase_add_loop_test(tcase, zeros_stay_zeros, 0, FIXTURE_N_TYPES);
    tcase_add_loop_test(tcase, odd_rows_give_finite_weights_no_further_off_than_the_largest, 0, FIXTURE_N_TYPES);
    tcase_add_loop_test(tcase, floats_beyond_the_range_of_a_format_stay_finite, 0, FIXTURE_N_TYPES);
    tcase_add_loop_test(tcase, refused_rows_write_nothing, 0, FIXTURE_N_TYPES);
    tcase_add_loop_test(tcase, a_row_is_written_whole_and_no_further_at_any_address, 0, FIXTURE_N_TYPES);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
