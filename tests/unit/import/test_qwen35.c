/*
 * Qwen3.5: values are reordered by their heads, the decay is converted, and layers must be of the expected kinds.
 */
#include "import/fixture.h"
#include "import/import.h"
#include "tensor/real.h"

#define LINEAR "model.layers.0.linear_attn."
#define FULL   "model.layers.1.self_attn."

static const char config[] =
    "{\"model_type\": \"qwen3_5_text\", \"hidden_size\": 8, \"intermediate_size\": 4, \"num_hidden_layers\": "
    "2,"
    " \"num_attention_heads\": 1, \"head_dim\": 8, \"max_position_embeddings\": 64, \"rms_norm_eps\": 1e-5,"
    " \"tie_word_embeddings\": true, \"full_attention_interval\": 2, \"linear_num_key_heads\": 2,"
    " \"linear_num_value_heads\": 4, \"linear_key_head_dim\": 2, \"linear_value_head_dim\": 2,"
    " \"linear_conv_kernel_dim\": 4, \"layer_types\": [\"linear_attention\", \"full_attention\"]}";

static const char *make_folder(void)
{
    static const struct {
        const char *name;
        unsigned n_rows;
        unsigned n_cols;
    } rows[] = {
        { "model.embed_tokens.weight", 8, 8 },
        { "model.norm.weight", 8, 0 },
        { "model.layers.0.input_layernorm.weight", 8, 0 },
        { "model.layers.0.post_attention_layernorm.weight", 8, 0 },
        { LINEAR "in_proj_qkv.weight", 16, 8 },
        { LINEAR "in_proj_z.weight", 8, 8 },
        { LINEAR "in_proj_b.weight", 4, 8 },
        { LINEAR "in_proj_a.weight", 4, 8 },
        { LINEAR "conv1d.weight", 16, 4 },
        { LINEAR "dt_bias", 4, 0 },
        { LINEAR "A_log", 4, 0 },
        { LINEAR "norm.weight", 2, 0 },
        { LINEAR "out_proj.weight", 8, 8 },
        { "model.layers.0.mlp.gate_proj.weight", 4, 8 },
        { "model.layers.0.mlp.up_proj.weight", 4, 8 },
        { "model.layers.0.mlp.down_proj.weight", 8, 4 },
        { "model.layers.1.input_layernorm.weight", 8, 0 },
        { "model.layers.1.post_attention_layernorm.weight", 8, 0 },
        { FULL "q_proj.weight", 16, 8 },
        { FULL "k_proj.weight", 8, 8 },
        { FULL "v_proj.weight", 8, 8 },
        { FULL "o_proj.weight", 8, 8 },
        { FULL "q_norm.weight", 8, 0 },
        { FULL "k_norm.weight", 8, 0 },
        { "model.layers.1.mlp.gate_proj.weight", 4, 8 },
        { "model.layers.1.mlp.up_proj.weight", 4, 8 },
        { "model.layers.1.mlp.down_proj.weight", 8, 4 },
        { "mtp.norm.weight", 8, 0 },
    };
    static struct fixture_tensors tensors;
    const char *folder = fixture_folder();

    memset(&tensors, 0, sizeof(tensors));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fixture_add(&tensors, rows[i].name, "F32", rows[i].n_rows, rows[i].n_cols, NULL);
    }
    fixture_save(&tensors, folder, "model.safetensors");
    fixture_write_text(folder, "config.json", config);
    fixture_write_text(folder, "tokenizer.json", fixture_tokenizer);
    return folder;
}

/* Reads all of tensor @name of a good folder. */
static void read_all(const char *name, float *out)
{
    struct diag diag = DIAG_INIT;
    struct import *import = NULL;
    size_t i = 0;
    const int r = import_open(&import, make_folder(), &diag);

    ck_assert_msg(r == IMPORT_OK, "%s", diag.text);
    while (strcmp(import_tensor_at(import, i)->name, name) != 0) {
        i++;
        ck_assert_uint_lt(i, import_n_tensors(import));
    }
    ck_assert_int_eq(import_rows(import, i, 0, import_tensor_at(import, i)->n_rows, out, &diag), IMPORT_OK);
    import_close(import);
}

START_TEST(values_are_reordered_from_heads_of_keys_to_interleaved)
{
    /* Four heads of two rows follow 8 rows of q and k. */
    static const unsigned from[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15 };
    float rows[16 * 8];

    read_all("blk.0.attn_qkv.weight", rows);

    for (unsigned i = 0; i < 16 * 8; i++) {
        ck_assert_float_eq(rows[i], fixture_value(LINEAR "in_proj_qkv.weight", from[i / 8] * 8 + i % 8));
    }
}
END_TEST

START_TEST(columns_of_the_output_follow_the_values)
{
    static const unsigned from[] = { 0, 1, 4, 5, 2, 3, 6, 7 };
    float rows[8 * 8];

    read_all("blk.0.ssm_out.weight", rows);

    for (unsigned i = 0; i < 64; i++) {
        ck_assert_float_eq(rows[i], fixture_value(LINEAR "out_proj.weight", i / 8 * 8 + from[i % 8]));
    }
}
END_TEST

START_TEST(the_decay_is_the_negated_exponential)
{
    static const unsigned from[] = { 0, 2, 1, 3 };
    float decay[4];

    read_all("blk.0.ssm_a", decay);

    for (unsigned i = 0; i < 4; i++) {
        ck_assert_float_eq(decay[i], -real_exp(fixture_value(LINEAR "A_log", from[i])));
    }
}
END_TEST

START_TEST(norms_are_stored_minus_one_except_in_linear_layers)
{
    float norm[8];

    read_all("blk.1.attn_q_norm.weight", norm);
    ck_assert_float_eq(norm[3], fixture_value(FULL "q_norm.weight", 3) + 1.0f);
    read_all("blk.0.ssm_norm.weight", norm);
    ck_assert_float_eq(norm[1], fixture_value(LINEAR "norm.weight", 1));
}
END_TEST

static const struct {
    const char *from;
    const char *to;
    const char *says;
} refused[] = {
    { "\"full_attention_interval\": 2", "\"full_attention_interval\": 1", "lacks tensor" },
    { "\"full_attention\"]", "\"linear_attention\"]", "every 2 layers one" },
    { "\"linear_num_key_heads\": 2", "\"linear_num_key_heads\": 3", "do not fit each other" },
    { "\"linear_num_key_heads\": 2", "\"linear_num_key_heads\": 4000000000", "do not fit each other" },
    { "\"linear_value_head_dim\": 2", "\"linear_value_head_dim\": 3", "not a whole number of heads" },
    { "\"linear_conv_kernel_dim\": 4", "\"linear_conv_kernel_dim\": 0", "do not fit each other" },
};

START_TEST(linear_layers_that_contradict_themselves_are_refused_with_a_reason)
{
    const char *folder = make_folder();
    struct diag diag = DIAG_INIT;
    struct import *import = NULL;

    fixture_put(folder, "config.json", config, refused[_i].from, refused[_i].to);

    ck_assert_int_eq(import_open(&import, folder, &diag), IMPORT_REFUSED);
    ck_assert_msg(strstr(diag.text, refused[_i].says) != NULL, "said: %s", diag.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import-qwen35");
    TCase *tcase = tcase_create("qwen35");

    tcase_add_test(tcase, values_are_reordered_from_heads_of_keys_to_interleaved);
    tcase_add_test(tcase, columns_of_the_output_follow_the_values);
    tcase_add_test(tcase, the_decay_is_the_negated_exponential);
    tcase_add_test(tcase, norms_are_stored_minus_one_except_in_linear_layers);
    tcase_add_loop_test(tcase, linear_layers_that_contradict_themselves_are_refused_with_a_reason, 0,
                        (int)(sizeof(refused) / sizeof(refused[0])));
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
