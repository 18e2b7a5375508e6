/*
 * Unpacking: every set gives the very floats that another program got from the same bytes
 */
#include "fixture.h"
#include "unit.h"

#include "base/clean.h"
#include "kern/kern.h"
#include "tensor/block.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name; /* of the file */
    uint32_t type;
} golden[] = {
    { "f16", ELEM_F16 },       { "bf16", ELEM_BF16 },     { "q4_0", ELEM_Q4_0 }, { "q4_1", ELEM_Q4_1 },
    { "q5_0", ELEM_Q5_0 },     { "q5_1", ELEM_Q5_1 },     { "q8_0", ELEM_Q8_0 }, { "q2_K", ELEM_Q2_K },
    { "q3_K", ELEM_Q3_K },     { "q4_K", ELEM_Q4_K },     { "q5_K", ELEM_Q5_K }, { "q6_K", ELEM_Q6_K },
    { "iq4_nl", ELEM_IQ4_NL }, { "iq4_xs", ELEM_IQ4_XS },
};

START_TEST(every_format_unpacks_to_the_published_floats)
{
    const struct kern_ops *ops = fixture_set(_i / (int)COUNTOF(golden));
    const uint32_t type = golden[_i % (int)COUNTOF(golden)].type;
    const char *name = golden[_i % (int)COUNTOF(golden)].name;
    uint8_t packed[FIXTURE_GOLDEN_ROWS * FIXTURE_GOLDEN_COLS * 4];
    float expected[FIXTURE_GOLDEN_ROWS * FIXTURE_GOLDEN_COLS];
    float out[FIXTURE_GOLDEN_COLS];
    uint64_t row_bytes;

    ck_assert(elem_row_bytes(type, FIXTURE_GOLDEN_COLS, &row_bytes));
    if (!ops || !fixture_golden(name, "q", packed, FIXTURE_GOLDEN_ROWS * row_bytes) ||
        !fixture_golden(name, "f32", expected, sizeof(expected))) {
        return;
    }

    for (uint32_t r = 0; r < FIXTURE_GOLDEN_ROWS; r++) {
        ops->unpack(type, packed + r * row_bytes, FIXTURE_GOLDEN_COLS, out);

        ck_assert_msg(memcmp(out, expected + r * FIXTURE_GOLDEN_COLS, sizeof(out)) == 0, "%s/%s: row %u differs",
                      ops->name, name, r);
    }
}
END_TEST

START_TEST(sets_unpack_alike_any_bytes_at_any_address)
{
    const struct kern_ops *ref = fixture_set(0);
    const struct kern_ops *ops = fixture_set(1 + _i / FIXTURE_N_TYPES);
    const uint32_t type = fixture_types[_i % FIXTURE_N_TYPES];
    const uint32_t n_block = elem_info(type)->n_block;
    struct fixture_random random = { 7 + (uint64_t)_i };

    if (!ops) {
        return;
    }
    for (uint32_t n = 0; n <= 37 * (n_block == 1 ? 1 : 2) && n * n_block <= 4096; n++) {
        const uint32_t n_cols = n * n_block;
        uint8_t *row = fixture_weights(type, n_cols, 1, FIXTURE_EXTREME, &random);
        float *expected = fixture_guarded(n_cols);
        float *out = fixture_guarded(n_cols);

        ref->unpack(type, row, n_cols, expected);
        ops->unpack(type, row, n_cols, out);

        fixture_same(out, expected, n_cols, elem_info(type)->name);
        fixture_free_guarded(expected, n_cols);
        fixture_free_guarded(out, n_cols);
        fixture_free_weights(row);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kern-unpack");
    TCase *tcase = tcase_create("unpack");

    tcase_add_loop_test(tcase, every_format_unpacks_to_the_published_floats, 0, FIXTURE_N_SETS * (int)COUNTOF(golden));
    tcase_add_loop_test(tcase, sets_unpack_alike_any_bytes_at_any_address, 0, (FIXTURE_N_SETS - 1) * FIXTURE_N_TYPES);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
