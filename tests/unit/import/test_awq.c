/*
 * AWQ weights are imported without loss: blocks and floats both give (q - z) * s, to the bit.
 */
#include "base/mem.h"
#include "import/fixture.h"
#include "import/import.h"
#include "kern/half.h"
#include "tensor/block.h"

#define N_COLS 64
#define N_ROWS 16
#define GROUP  32

#define Q_PROJ "model.layers.0.self_attn.q_proj."

/* A matrix as the public tools pack it, and its numbers. */
struct packed {
    uint32_t weights[N_COLS][N_ROWS / 8];
    uint32_t zeros[N_COLS / GROUP][N_ROWS / 8];
    uint16_t scales[N_COLS / GROUP][N_ROWS];
    int q[N_ROWS][N_COLS];
    int z[N_ROWS][N_COLS / GROUP];
};

/* "order[j]" of the layout: the output at place j of a word. */
static const unsigned output_at[8] = { 0, 2, 4, 6, 1, 3, 5, 7 };

static void put(uint32_t *words, unsigned row, int value)
{
    for (unsigned place = 0; place < 8; place++) {
        if (output_at[place] == row % 8) {
            words[row / 8] |= (uint32_t)value << (4 * place);
        }
    }
}

static void pack(struct packed *packed, bool is_plain)
{
    memset(packed, 0, sizeof(*packed));
    for (unsigned row = 0; row < N_ROWS; row++) {
        for (unsigned group = 0; group < N_COLS / GROUP; group++) {
            packed->z[row][group] = is_plain ? 8 : (int)((row * 5 + group * 3) % 16);
            packed->scales[group][row] = (uint16_t)(0x2001 + row * 37 + group * 511); /* about 2^-7, odd fractions */
            put(packed->zeros[group], row, packed->z[row][group]);
        }
        for (unsigned col = 0; col < N_COLS; col++) {
            packed->q[row][col] = (int)((row * 3 + col * 7 + col / 16) % 16);
            put(packed->weights[col], row, packed->q[row][col]);
        }
    }
}

/* Writes a llama 64 wide with one head of 16; all its matrices except q are floats. */
static const char *make_folder(const struct packed *packed, const char *quantization)
{
    static struct fixture_tensors tensors;
    const char *folder = fixture_folder();
    char config[1024];

    memset(&tensors, 0, sizeof(tensors));
    fixture_add(&tensors, "model.embed_tokens.weight", "F32", 8, N_COLS, NULL);
    fixture_add(&tensors, "model.norm.weight", "F32", N_COLS, 0, NULL);
    fixture_add(&tensors, "model.layers.0.input_layernorm.weight", "F32", N_COLS, 0, NULL);
    fixture_add(&tensors, "model.layers.0.post_attention_layernorm.weight", "F32", N_COLS, 0, NULL);
    fixture_add(&tensors, Q_PROJ "qweight", "I32", N_COLS, N_ROWS / 8, packed->weights);
    fixture_add(&tensors, Q_PROJ "qzeros", "I32", N_COLS / GROUP, N_ROWS / 8, packed->zeros);
    fixture_add(&tensors, Q_PROJ "scales", "F16", N_COLS / GROUP, N_ROWS, packed->scales);
    fixture_add(&tensors, "model.layers.0.self_attn.k_proj.weight", "F32", 16, N_COLS, NULL);
    fixture_add(&tensors, "model.layers.0.self_attn.v_proj.weight", "F32", 16, N_COLS, NULL);
    fixture_add(&tensors, "model.layers.0.self_attn.o_proj.weight", "F32", N_COLS, 16, NULL);
    fixture_add(&tensors, "model.layers.0.mlp.gate_proj.weight", "F32", 4, N_COLS, NULL);
    fixture_add(&tensors, "model.layers.0.mlp.up_proj.weight", "F32", 4, N_COLS, NULL);
    fixture_add(&tensors, "model.layers.0.mlp.down_proj.weight", "F32", N_COLS, 4, NULL);
    fixture_save(&tensors, folder, "model.safetensors");
    snprintf(config, sizeof(config),
             "{\"model_type\": \"qwen2\", \"hidden_size\": 64, \"intermediate_size\": 4, \"num_hidden_layers\": 1,"
             " \"num_attention_heads\": 1, \"head_dim\": 16, \"max_position_embeddings\": 64, \"rms_norm_eps\": "
             "1e-5,"
             " \"tie_word_embeddings\": true, \"quantization_config\": {%s}}",
             quantization);
    fixture_write_text(folder, "config.json", config);
    fixture_write_text(folder, "tokenizer.json", fixture_tokenizer);
    return folder;
}

#define KNOWN                                                                                                          \
    "\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 32, \"zero_point\": true, \"version\": "                  \
    "\"gemm\""

static size_t find_q(const struct import *import)
{
    size_t i = 0;

    while (strcmp(import_tensor_at(import, i)->name, "blk.0.attn_q.weight") != 0) {
        i++;
        ck_assert_uint_lt(i, import_n_tensors(import));
    }
    return i;
}

static struct import *open_packed(struct packed *packed, bool is_plain)
{
    struct diag diag = DIAG_INIT;
    struct import *import = NULL;
    int r;

    pack(packed, is_plain);
    r = import_open(&import, make_folder(packed, KNOWN), &diag);
    ck_assert_msg(r == IMPORT_OK, "%s", diag.text);
    return import;
}

static float want(const struct packed *packed, unsigned row, unsigned col)
{
    return half_to_float(packed->scales[col / GROUP][row]) * (float)(packed->q[row][col] - packed->z[row][col / GROUP]);
}

START_TEST(floats_are_the_difference_times_the_scale)
{
    static struct packed packed;
    struct import *import = open_packed(&packed, false);
    struct diag diag = DIAG_INIT;
    float rows[N_ROWS * N_COLS];

    ck_assert_int_eq(import_rows(import, find_q(import), 0, N_ROWS, rows, &diag), IMPORT_OK);

    for (unsigned row = 0; row < N_ROWS; row++) {
        for (unsigned col = 0; col < N_COLS; col++) {
            const float x = want(&packed, row, col);

            ck_assert_mem_eq(&rows[row * N_COLS + col], &x, sizeof(x));
        }
    }
    import_close(import);
}
END_TEST

START_TEST(five_bits_hold_every_difference)
{
    static struct packed packed;
    struct import *import = open_packed(&packed, false);
    struct diag diag = DIAG_INIT;
    struct block_q5_0 blocks[N_COLS / BLOCK_SMALL];

    ck_assert_uint_eq(import_tensor_at(import, find_q(import))->type, ELEM_Q5_0);
    for (unsigned row = 0; row < N_ROWS; row++) {
        ck_assert_int_eq(import_blocks(import, find_q(import), row, 1, blocks, &diag), IMPORT_OK);
        for (unsigned col = 0; col < N_COLS; col++) {
            const struct block_q5_0 *block = &blocks[col / 32];
            const unsigned k = col % 32;
            const int low = k < 16 ? block->qs[k] & 15 : block->qs[k - 16] >> 4;
            const int high = block->qh[k / 8] >> (k % 8) & 1;
            const float x = half_to_float((uint16_t)(block->d[0] | block->d[1] << 8)) * (float)(low + 16 * high - 16);

            ck_assert_float_eq(x, want(&packed, row, col));
        }
    }
    import_close(import);
}
END_TEST

START_TEST(zero_points_of_eight_need_four_bits)
{
    static struct packed packed;
    struct import *import = open_packed(&packed, true);
    struct diag diag = DIAG_INIT;
    struct block_q4_0 blocks[N_COLS / BLOCK_SMALL];

    ck_assert_uint_eq(import_tensor_at(import, find_q(import))->type, ELEM_Q4_0);
    for (unsigned row = 0; row < N_ROWS; row++) {
        ck_assert_int_eq(import_blocks(import, find_q(import), row, 1, blocks, &diag), IMPORT_OK);
        for (unsigned col = 0; col < N_COLS; col++) {
            const struct block_q4_0 *block = &blocks[col / 32];
            const unsigned k = col % 32;
            const int q = k < 16 ? block->qs[k] & 15 : block->qs[k - 16] >> 4;

            ck_assert_float_eq(half_to_float((uint16_t)(block->d[0] | block->d[1] << 8)) * (float)(q - 8),
                               want(&packed, row, col));
        }
    }
    import_close(import);
}
END_TEST

START_TEST(a_scale_that_is_no_number_is_refused)
{
    static struct packed packed;
    struct diag diag = DIAG_INIT;
    struct import *import = NULL;
    struct block_q5_0 blocks[N_COLS / BLOCK_SMALL];

    pack(&packed, false);
    packed.scales[1][3] = 0x7c00;
    ck_assert_int_eq(import_open(&import, make_folder(&packed, KNOWN), &diag), IMPORT_OK);

    ck_assert_int_eq(import_blocks(import, find_q(import), 3, 1, blocks, &diag), IMPORT_REFUSED);
    ck_assert_ptr_nonnull(strstr(diag.text, "row 3 is not a finite number"));
    import_close(import);
}
END_TEST

static const struct {
    const char *quantization;
    const char *says;
} refused[] = {
    { "\"quant_method\": \"gptq\"", "by \"gptq\" are not read" },
    { "\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 32, \"zero_point\": false", "without zero points" },
    { "\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 48, \"zero_point\": true", "groups of 48" },
    { "\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 0, \"zero_point\": true", "groups of 0" },
    { "\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 32, \"zero_point\": true, \"version\": "
      "\"gemv\"",
      "in \"gemv\"" },
    { "\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 64, \"zero_point\": true", "do not fit its 64 by 16" },
    { "\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 128, \"zero_point\": true", "whole groups of 128" },
};

START_TEST(another_packing_is_refused_with_a_reason)
{
    static struct packed packed;
    struct diag diag = DIAG_INIT;
    struct import *import = NULL;

    pack(&packed, false);

    ck_assert_int_eq(import_open(&import, make_folder(&packed, refused[_i].quantization), &diag), IMPORT_REFUSED);
    ck_assert_msg(strstr(diag.text, refused[_i].says) != NULL, "said: %s", diag.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import-awq");
    TCase *tcase = tcase_create("awq");

    tcase_add_test(tcase, floats_are_the_difference_times_the_scale);
    tcase_add_test(tcase, five_bits_hold_every_difference);
    tcase_add_test(tcase, zero_points_of_eight_need_four_bits);
    tcase_add_test(tcase, a_scale_that_is_no_number_is_refused);
    tcase_add_loop_test(tcase, another_packing_is_refused_with_a_reason, 0,
                        (int)(sizeof(refused) / sizeof(refused[0])));
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
