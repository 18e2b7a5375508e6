/*
 * A folder becomes keys and tensors: with the right names, with every number, and with nothing left out silently.
 */
#include "base/mem.h"
#include "import/fixture.h"
#include "import/import.h"

static size_t find(const struct import *import, const char *name)
{
    size_t i = 0;

    while (i < import_n_tensors(import) && strcmp(import_tensor_at(import, i)->name, name) != 0) {
        i++;
    }
    ck_assert_msg(i < import_n_tensors(import), "there is no tensor %s", name);
    return i;
}

static struct import *open_llama(void)
{
    struct diag diag = DIAG_INIT;
    struct import *import = NULL;
    const int r = import_open(&import, fixture_llama(NULL, NULL), &diag);

    ck_assert_msg(r == IMPORT_OK, "%s", diag.text);
    return import;
}

START_TEST(a_llama_has_its_tensors_under_their_names)
{
    struct import *import = open_llama();
    const struct import_tensor *tensor;

    ck_assert_str_eq(import_family(import), "llama");
    ck_assert_uint_eq(import_n_tensors(import), 13);
    tensor = import_tensor_at(import, find(import, "blk.0.ffn_down.weight"));
    ck_assert_uint_eq(tensor->n_cols, 12);
    ck_assert_uint_eq(tensor->n_rows, 8);
    ck_assert_uint_eq(tensor->type, ELEM_F32);
    ck_assert(!tensor->is_floats);
    tensor = import_tensor_at(import, find(import, "blk.0.ffn_norm.weight"));
    ck_assert_str_eq(tensor->from, "model.layers.0.post_attention_layernorm.weight");
    ck_assert(tensor->is_floats);
    import_close(import);
}
END_TEST

START_TEST(keys_have_the_values_of_the_configuration)
{
    struct import *import = open_llama();
    struct gguf *gguf = fixture_head(import);

    ck_assert_uint_eq(fixture_u32(gguf, "llama.block_count"), 1);
    ck_assert_uint_eq(fixture_u32(gguf, "llama.embedding_length"), 8);
    ck_assert_uint_eq(fixture_u32(gguf, "llama.feed_forward_length"), 12);
    ck_assert_uint_eq(fixture_u32(gguf, "llama.attention.head_count"), 2);
    ck_assert_uint_eq(fixture_u32(gguf, "llama.attention.head_count_kv"), 1);
    ck_assert_uint_eq(fixture_u32(gguf, "llama.rope.dimension_count"), 4);
    ck_assert_uint_eq(fixture_u32(gguf, "llama.context_length"), 64);
    ck_assert_uint_eq(fixture_u32(gguf, "llama.vocab_size"), 8);
    ck_assert_uint_eq(fixture_u32(gguf, "tokenizer.ggml.eos_token_id"), 5);
    gguf_destroy(gguf);
    import_close(import);
}
END_TEST

/* In a head of 4, element 0 rotates with element 2: in GGUF they are neighbours. */
START_TEST(rows_of_a_head_are_reordered_from_halves_to_neighbours)
{
    static const unsigned from[] = { 0, 2, 1, 3, 4, 6, 5, 7 };
    struct import *import = open_llama();
    struct diag diag = DIAG_INIT;
    float rows[64];

    ck_assert_int_eq(import_rows(import, find(import, "blk.0.attn_q.weight"), 0, 8, rows, &diag), IMPORT_OK);

    for (unsigned i = 0; i < 64; i++) {
        ck_assert_float_eq(rows[i], fixture_value("model.layers.0.self_attn.q_proj.weight", from[i / 8] * 8 + i % 8));
    }
    import_close(import);
}
END_TEST

START_TEST(a_bias_is_reordered_with_its_rows)
{
    static const unsigned from[] = { 0, 2, 1, 3, 4, 6, 5, 7 };
    struct import *import = open_llama();
    struct diag diag = DIAG_INIT;
    float bias[8];

    ck_assert_int_eq(import_rows(import, find(import, "blk.0.attn_q.bias"), 0, 1, bias, &diag), IMPORT_OK);

    for (unsigned i = 0; i < 8; i++) {
        ck_assert_float_eq(bias[i], fixture_value("model.layers.0.self_attn.q_proj.bias", from[i]));
    }
    import_close(import);
}
END_TEST

START_TEST(rows_of_v_and_o_keep_their_order)
{
    struct import *import = open_llama();
    struct diag diag = DIAG_INIT;
    float rows[16];

    ck_assert_int_eq(import_rows(import, find(import, "blk.0.attn_v.weight"), 2, 2, rows, &diag), IMPORT_OK);

    for (unsigned i = 0; i < 16; i++) {
        ck_assert_float_eq(rows[i], fixture_value("model.layers.0.self_attn.v_proj.weight", 16 + i));
    }
    import_close(import);
}
END_TEST

START_TEST(a_missing_tensor_is_named)
{
    struct diag diag = DIAG_INIT;
    struct import *import = NULL;

    ck_assert_int_eq(import_open(&import, fixture_llama("model.layers.0.mlp.up_proj.weight", NULL), &diag),
                     IMPORT_REFUSED);

    ck_assert_ptr_nonnull(strstr(diag.text, "lacks tensor model.layers.0.mlp.up_proj.weight"));
}
END_TEST

START_TEST(a_tensor_that_no_row_names_is_refused)
{
    struct diag diag = DIAG_INIT;
    struct import *import = NULL;

    ck_assert_int_eq(import_open(&import, fixture_llama(NULL, "model.layers.0.mlp.up_proj.bias"), &diag),
                     IMPORT_REFUSED);

    ck_assert_ptr_nonnull(strstr(diag.text, "model.layers.0.mlp.up_proj.bias has no place"));
}
END_TEST

START_TEST(tensors_derived_by_old_writers_are_ignored)
{
    struct diag diag = DIAG_INIT;
    struct import *import = NULL;

    ck_assert_int_eq(import_open(&import, fixture_llama(NULL, "model.layers.0.self_attn.rotary_emb.inv_freq"), &diag),
                     IMPORT_OK);

    ck_assert_uint_eq(import_n_tensors(import), 13);
    import_close(import);
}
END_TEST

/* Each row replaces a text of the configuration. */
static const struct {
    const char *from;
    const char *to;
    const char *says;
} configs[] = {
    { "\"llama\"", "\"mamba\"",
      "model_type \"mamba\" is not supported; there are llama, mistral, smollm3, qwen2, qwen3, qwen3_5_text" },
    { "\"hidden_size\": 8", "\"hidden_size\": 0", "must lie between 1" },
    { "\"hidden_size\": 8", "\"hidden_size\": \"8\"", "must be a whole number" },
    { "\"intermediate_size\": 12,", "", "\"intermediate_size\" is missing" },
    { "\"hidden_act\": \"silu\"", "\"hidden_act\": \"relu\"", "activation relu" },
    { "\"rms_norm_eps\": 1e-5,", "", "rms_norm_eps" },
    { "\"rope_theta\": 10000.0", "\"rope_theta\": 0.5", "must be at least 1" },
    { "\"rope_theta\": 10000.0", "\"rope_scaling\": {\"type\": \"dynamic\", \"factor\": 2.0}", "\"dynamic\" is not" },
    { "\"rope_theta\": 10000.0", "\"rope_scaling\": {\"type\": \"linear\"}", "\"factor\" is missing" },
    { "\"rope_theta\": 10000.0", "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 0.5}", "at least 1" },
    { "\"rope_theta\": 10000.0", "\"rope_scaling\": {\"rope_type\": \"longrope\"}", "original_max_position" },
    { "\"rope_theta\": 10000.0",
      "\"rope_scaling\": {\"rope_type\": \"longrope\", \"original_max_position_embeddings\": 32, "
      "\"long_factor\": [1]}",
      "list of 2 numbers" },
    { "\"rope_theta\": 10000.0", "\"layer_types\": [\"full_attention\", \"full_attention\"]", "lists 2 layers" },
    { "\"rope_theta\": 10000.0", "\"layer_types\": [\"linear_attention\"]", "of the kind \"linear_attention\"" },
    { "\"rope_theta\": 10000.0", "\"quantization_config\": {\"quant_method\": \"gptq\"}", "by \"gptq\" are not read" },
    { "\"rope_theta\": 10000.0", "\"quantization_config\": {\"quant_method\": \"awq\", \"bits\": 3}", "not 3 bits" },
    { "\"rope_theta\": 10000.0", "\"partial_rotary_factor\": 1.5", "between 0 and 1" },
    { "\"num_attention_heads\": 2", "\"num_attention_heads\": 2, \"head_dim\": 3", "can't rotate in pairs" },
};

START_TEST(an_unsupported_configuration_is_refused_with_a_reason)
{
    const char *folder = fixture_llama(NULL, NULL);
    struct diag diag = DIAG_INIT;
    struct import *import = NULL;

    fixture_put(folder, "config.json", fixture_config, configs[_i].from, configs[_i].to);

    ck_assert_int_eq(import_open(&import, folder, &diag), IMPORT_REFUSED);
    ck_assert_msg(strstr(diag.text, configs[_i].says) != NULL, "said: %s", diag.text);
}
END_TEST

START_TEST(llama3_stretches_long_waves_only)
{
    const char *folder = fixture_llama(NULL, NULL);
    struct diag diag = DIAG_INIT;
    struct import *import = NULL;
    float factors[2];

    fixture_put(folder, "config.json", fixture_config, "\"rope_theta\": 10000.0",
                "\"rope_parameters\": {\"rope_theta\": 10000.0, \"rope_type\": \"llama3\", \"factor\": 8.0,"
                " \"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 32}");
    ck_assert_int_eq(import_open(&import, folder, &diag), IMPORT_OK);

    ck_assert_int_eq(import_rows(import, find(import, "rope_freqs.weight"), 0, 1, factors, &diag), IMPORT_OK);
    ck_assert_float_eq(factors[0], 1.0f); /* a wave of 6.3 positions */
    ck_assert_float_eq(factors[1], 8.0f); /* of 628 */
    import_close(import);
}
END_TEST

START_TEST(a_window_lists_its_layers)
{
    const char *folder = fixture_llama(NULL, NULL);
    struct diag diag = DIAG_INIT;
    struct import *import = NULL;
    struct gguf *gguf;

    fixture_put(folder, "config.json", fixture_config, "\"rope_theta\": 10000.0", "\"sliding_window\": 16");
    ck_assert_int_eq(import_open(&import, folder, &diag), IMPORT_OK);
    gguf = fixture_head(import);

    ck_assert_uint_eq(fixture_u32(gguf, "llama.attention.sliding_window"), 16);
    ck_assert_uint_eq(gguf_find_key(gguf, "llama.attention.sliding_window_pattern")->n, 1);
    ck_assert_uint_eq(gguf_find_key(gguf, "llama.attention.sliding_window_pattern")->value[0], 1);
    gguf_destroy(gguf);
    import_close(import);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import-import");
    TCase *tcase = tcase_create("import");

    tcase_add_test(tcase, a_llama_has_its_tensors_under_their_names);
    tcase_add_test(tcase, keys_have_the_values_of_the_configuration);
    tcase_add_test(tcase, rows_of_a_head_are_reordered_from_halves_to_neighbours);
    tcase_add_test(tcase, a_bias_is_reordered_with_its_rows);
    tcase_add_test(tcase, rows_of_v_and_o_keep_their_order);
    tcase_add_test(tcase, a_missing_tensor_is_named);
    tcase_add_test(tcase, a_tensor_that_no_row_names_is_refused);
    tcase_add_test(tcase, tensors_derived_by_old_writers_are_ignored);
    tcase_add_loop_test(tcase, an_unsupported_configuration_is_refused_with_a_reason, 0,
                        (int)(sizeof(configs) / sizeof(configs[0])));
    tcase_add_test(tcase, llama3_stretches_long_waves_only);
    tcase_add_test(tcase, a_window_lists_its_layers);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
