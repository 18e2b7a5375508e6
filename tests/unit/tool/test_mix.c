/*
 * The format of each tensor, as in published files.
 */
#include "base/clean.h"
#include "tool/mix.h"
#include "unit.h"
#include <string.h>

static struct gguf_tensor tensor(const char *name, uint64_t n_cols, uint64_t n_rows)
{
    return (struct gguf_tensor){
        .name = { name, strlen(name) }, .n_dims = 2, .dims = { n_cols, n_rows, 1, 1 }, .type = ELEM_F32
    };
}

static uint32_t type_of(const char *mix, const char *name, uint64_t n_cols, bool is_output)
{
    struct gguf_tensor matrix = tensor(name, n_cols, 64);

    return mix_type(mix_find(mix), &matrix, 32, is_output);
}

START_TEST(only_matrices_are_rounded)
{
    struct gguf_tensor matrix = tensor("blk.0.attn_q.weight", 64, 64);
    struct gguf_tensor norm = tensor("blk.0.attn_norm.weight", 64, 64);
    struct gguf_tensor bias = tensor("blk.0.attn_q.bias", 64, 64);
    struct gguf_tensor row = tensor("rope_freqs.weight", 64, 1);

    ck_assert(mix_may_round(&matrix));
    ck_assert(!mix_may_round(&norm));
    ck_assert(!mix_may_round(&bias));
    ck_assert(!mix_may_round(&row));
}
END_TEST

START_TEST(a_plain_mix_has_one_format_except_for_the_output)
{
    ck_assert_uint_eq(type_of("Q4_0", "blk.0.ffn_up.weight", 256, false), ELEM_Q4_0);
    ck_assert_uint_eq(type_of("Q4_0", "output.weight", 256, true), ELEM_Q6_K);
    ck_assert_uint_eq(type_of("Q8_0", "output.weight", 256, true), ELEM_Q8_0);
    ck_assert_uint_eq(type_of("F16", "output.weight", 256, true), ELEM_F16);
}
END_TEST

START_TEST(finer_layers_are_the_first_and_last_eighth_and_each_third_between)
{
    static const uint32_t fine[] = { 0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31 };
    size_t at = 0;

    for (uint32_t layer = 0; layer < 32; layer++) {
        char name[64];
        bool is_fine = at < COUNTOF(fine) && fine[at] == layer;

        at += is_fine;
        snprintf(name, sizeof(name), "blk.%u.ffn_down.weight", layer);
        ck_assert_msg(type_of("Q4_K_M", name, 256, false) == (is_fine ? ELEM_Q6_K : ELEM_Q4_K), "layer %u", layer);
        snprintf(name, sizeof(name), "blk.%u.ffn_up.weight", layer);
        ck_assert_uint_eq(type_of("Q4_K_M", name, 256, false), ELEM_Q4_K);
    }
    ck_assert_uint_eq(type_of("Q4_K_S", "blk.3.attn_v.weight", 256, false), ELEM_Q5_K);
    ck_assert_uint_eq(type_of("Q4_K_S", "blk.4.attn_v.weight", 256, false), ELEM_Q4_K);
}
END_TEST

START_TEST(tensors_outside_layers_get_the_base_format)
{
    static const char *const names[] = { "blk.attn_v.weight", "blk..attn_v.weight", "blk.99.attn_v.weight",
                                         "blk.99999999999.attn_v.weight", "x.attn_v.weight" };

    for (size_t i = 0; i < COUNTOF(names); i++) {
        ck_assert_msg(type_of("Q4_K_M", names[i], 256, false) == ELEM_Q4_K, "%s", names[i]);
    }
}
END_TEST

START_TEST(rows_that_are_not_whole_blocks_get_smaller_blocks_or_f16)
{
    ck_assert_uint_eq(type_of("Q4_K_M", "blk.9.attn_q.weight", 576, false), ELEM_Q5_0);
    ck_assert_uint_eq(type_of("Q5_K_M", "blk.9.attn_q.weight", 576, false), ELEM_Q5_1);
    ck_assert_uint_eq(type_of("Q6_K", "blk.9.attn_q.weight", 576, false), ELEM_Q8_0);
    ck_assert_uint_eq(type_of("Q2_K", "blk.9.attn_q.weight", 576, false), ELEM_IQ4_NL);
    ck_assert_uint_eq(type_of("IQ4_XS", "blk.9.attn_q.weight", 576, false), ELEM_IQ4_NL);
    ck_assert_uint_eq(type_of("Q4_K_M", "blk.9.attn_q.weight", 172, false), ELEM_F16);
    ck_assert_uint_eq(type_of("Q4_0", "blk.9.attn_q.weight", 172, false), ELEM_F16);
    ck_assert_uint_eq(type_of("F32", "blk.9.attn_q.weight", 171, false), ELEM_F32);
}
END_TEST

START_TEST(every_mix_is_found_by_its_name_and_no_other)
{
    for (const struct mix *mix = mixes; mix->name; mix++) {
        ck_assert_ptr_eq(mix_find(mix->name), mix);
    }
    ck_assert_ptr_eq(mix_find("q4_k_m"), mix_find("Q4_K_M"));
    ck_assert_ptr_null(mix_find(""));
}
END_TEST

START_TEST(a_format_has_the_file_type_of_its_common_mix)
{
    ck_assert_uint_eq(mix_file_type(ELEM_F32), 0);
    ck_assert_uint_eq(mix_file_type(ELEM_Q4_0), 2);
    ck_assert_uint_eq(mix_file_type(ELEM_Q3_K), 12);
    ck_assert_uint_eq(mix_file_type(ELEM_Q4_K), 15);
    ck_assert_uint_eq(mix_file_type(ELEM_Q5_K), 17);
    ck_assert_uint_eq(mix_file_type(ELEM_TYPE_COUNT), MIX_FILE_MANY);
    for (uint32_t type = 0; type < ELEM_TYPE_COUNT; type++) {
        const struct elem_info *info = elem_info(type);

        ck_assert_msg(!info || !info->computes || mix_file_type(type) != MIX_FILE_MANY, "no mix has %s", info->name);
    }
}
END_TEST

int main(void)
{
    return unit_facts("tool-mix", only_matrices_are_rounded, a_plain_mix_has_one_format_except_for_the_output,
                      finer_layers_are_the_first_and_last_eighth_and_each_third_between,
                      tensors_outside_layers_get_the_base_format,
                      rows_that_are_not_whole_blocks_get_smaller_blocks_or_f16,
                      every_mix_is_found_by_its_name_and_no_other, a_format_has_the_file_type_of_its_common_mix);
}
