/*
 * Qwen3.5: layers of gated delta net, with one of full attention at regular intervals
 *
 * A linear layer has fewer heads of keys than of values; the folder keeps the values of one head of keys together, GGUF
 * keeps the first value of every head of keys first, then the second ones: v head h reads key head h mod n_keys. So all
 * tensors with a line for each value, or for each head of values, are reordered. The decay is stored as the logarithm
 * of its negative; norms are stored minus one, except the one inside a linear layer.
 */
#include "base/clean.h"
#include "import/family.h"

#define FULL   (FAMILY_LAYER | FAMILY_FULL)
#define LINEAR (FAMILY_LAYER | FAMILY_LINEAR)
#define NORM   (FAMILY_FLOATS | FAMILY_PLUS_ONE)

static const struct family_tensor rows[] = {
    { "input_layernorm.weight", "attn_norm.weight", FAMILY_LAYER | NORM },
    { "post_attention_layernorm.weight", "post_attention_norm.weight", FAMILY_LAYER | NORM },
    { "self_attn.q_proj.weight", "attn_q.weight", FULL },
    { "self_attn.k_proj.weight", "attn_k.weight", FULL },
    { "self_attn.v_proj.weight", "attn_v.weight", FULL },
    { "self_attn.o_proj.weight", "attn_output.weight", FULL },
    { "self_attn.q_norm.weight", "attn_q_norm.weight", FULL | NORM },
    { "self_attn.k_norm.weight", "attn_k_norm.weight", FULL | NORM },
    { "linear_attn.in_proj_qkv.weight", "attn_qkv.weight", LINEAR },
    { "linear_attn.in_proj_z.weight", "attn_gate.weight", LINEAR },
    { "linear_attn.in_proj_b.weight", "ssm_beta.weight", LINEAR },
    { "linear_attn.in_proj_a.weight", "ssm_alpha.weight", LINEAR },
    { "linear_attn.conv1d.weight", "ssm_conv1d.weight", LINEAR | FAMILY_FLOATS },
    { "linear_attn.dt_bias", "ssm_dt.bias", LINEAR | FAMILY_FLOATS },
    { "linear_attn.A_log", "ssm_a", LINEAR | FAMILY_FLOATS },
    { "linear_attn.norm.weight", "ssm_norm.weight", LINEAR | FAMILY_FLOATS },
    { "linear_attn.out_proj.weight", "ssm_out.weight", LINEAR },
};

#undef FULL
#undef LINEAR
#undef NORM

static const struct family_table table = { rows, COUNTOF(rows) };

#define COUNT_MAX (1u << 16) /* so that no product of three wraps */

/* The heads of a linear layer; 0 where config.json has no number or an impossible one. */
struct heads {
    uint64_t n_keys;
    uint64_t n_values;
    uint64_t key_dim;
    uint64_t value_dim;
    uint64_t n_taps; /* of the convolution */
};

static uint64_t count_of(const struct import *import, const char *key)
{
    uint64_t n = 0;

    return json_count(json_object_get(import->folder->text, key), &n) && n <= COUNT_MAX ? n : 0;
}

static struct heads heads_of(const struct import *import)
{
    return (struct heads){
        .n_keys = count_of(import, "linear_num_key_heads"),
        .n_values = count_of(import, "linear_num_value_heads"),
        .key_dim = count_of(import, "linear_key_head_dim"),
        .value_dim = count_of(import, "linear_value_head_dim"),
        .n_taps = count_of(import, "linear_conv_kernel_dim"),
    };
}

static uint64_t interval_of(const struct import *import)
{
    const json_t *kinds = json_object_get(import->folder->text, "layer_types");
    uint64_t interval = 4;
    size_t i = 0;

    if (json_count(json_object_get(import->folder->text, "full_attention_interval"), &interval) ||
        !json_is_array(kinds)) {
        return interval;
    }
    while (i < json_array_size(kinds) &&
           strcmp(json_is_string(json_array_get(kinds, i)) ? json_string_value(json_array_get(kinds, i)) : "",
                  "full_attention") != 0) {
        i++;
    }
    return i + 1;
}

static bool is_full(const struct import *import, uint32_t layer)
{
    const uint64_t interval = interval_of(import);

    return interval > 0 && (layer + 1) % interval == 0;
}

static bool has(const struct import *import, const struct family_tensor *row, uint32_t layer)
{
    if (row->flags & FAMILY_FULL) {
        return is_full(import, layer);
    }
    return !(row->flags & FAMILY_LINEAR) || !is_full(import, layer);
}

/* Returns the shuffle of [n_keys][values of one head of keys][@n_unit] to [values of one][n_keys][@n_unit], behind
 * @n_kept lines. */
static struct shuffle values_first(const struct heads *heads, uint64_t n_kept, uint64_t n_unit)
{
    if (heads->n_keys == 0 || heads->n_values % heads->n_keys != 0) {
        return (struct shuffle){ .n_outer = 0 };
    }
    return (struct shuffle){
        .n_kept = n_kept, .n_outer = heads->n_keys, .n_inner = heads->n_values / heads->n_keys, .n_unit = n_unit
    };
}

static void place(const struct import *import, const struct family_tensor *row, struct import_source *source)
{
    const struct heads heads = heads_of(import);
    const uint64_t n_qk = 2 * heads.n_keys * heads.key_dim;

    source->minus_exp = strcmp(row->to, "ssm_a") == 0;
    if (!(row->flags & FAMILY_LINEAR) || heads.n_keys == heads.n_values) {
        return;
    }
    if (strcmp(row->to, "attn_qkv.weight") == 0 || strcmp(row->to, "ssm_conv1d.weight") == 0) {
        source->rows = values_first(&heads, n_qk, heads.value_dim);
    } else if (strcmp(row->to, "attn_gate.weight") == 0) {
        source->rows = values_first(&heads, 0, heads.value_dim);
    } else if (strcmp(row->to, "ssm_out.weight") == 0) {
        source->cols = values_first(&heads, 0, heads.value_dim);
    } else if (strcmp(row->to, "ssm_norm.weight") != 0) {
        source->rows = values_first(&heads, 0, 1);
    }
}

/* Refuses layers of full attention at irregular intervals, since GGUF has one number for all of them. */
static int check_layers(const struct import *import, struct diag *diag)
{
    const json_t *kinds = json_object_get(import->folder->text, "layer_types");

    for (size_t i = 0; i < json_array_size(kinds); i++) {
        const char *kind = json_string_value(json_array_get(kinds, i));

        if (!kind || strcmp(kind, is_full(import, (uint32_t)i) ? "full_attention" : "linear_attention") != 0) {
            diag_blame(diag, "layer_types",
                       "config.json: layer %zu is \"%.40s\", but every %u layers one, and only that, must have full "
                       "attention",
                       i, kind ? kind : "", (unsigned)interval_of(import));
            return IMPORT_REFUSED;
        }
    }
    return IMPORT_OK;
}

static void put_sections(struct import *import)
{
    const json_t *list = json_object_get(json_object_get(import->folder->text, "rope_parameters"), "mrope_section");
    int32_t sections[4] = { 0 };

    for (size_t i = 0; i < COUNTOF(sections); i++) {
        sections[i] = (int32_t)json_integer_value(json_array_get(list, i));
    }
    if (json_array_size(list) > 0) {
        gguf_put_numbers(import->writer, import_key(import, "rope.dimension_sections"), GGUF_I32, sections,
                         COUNTOF(sections));
    }
}

static int more(struct import *import, struct diag *diag)
{
    const struct heads heads = heads_of(import);

    if (heads.n_keys == 0 || heads.n_values == 0 || heads.n_values % heads.n_keys != 0 || heads.key_dim == 0 ||
        heads.value_dim == 0 || heads.n_taps == 0) {
        diag_blame(diag, "linear_num_value_heads",
                   "config.json: the heads of the linear layers (linear_...) are missing or do not fit each other");
        return IMPORT_REFUSED;
    }
    gguf_put_u32(import->writer, import_key(import, "full_attention_interval"), (uint32_t)interval_of(import));
    gguf_put_u32(import->writer, import_key(import, "ssm.conv_kernel"), (uint32_t)heads.n_taps);
    gguf_put_u32(import->writer, import_key(import, "ssm.state_size"), (uint32_t)heads.key_dim);
    gguf_put_u32(import->writer, import_key(import, "ssm.group_count"), (uint32_t)heads.n_keys);
    gguf_put_u32(import->writer, import_key(import, "ssm.time_step_rank"), (uint32_t)heads.n_values);
    gguf_put_u32(import->writer, import_key(import, "ssm.inner_size"), (uint32_t)(heads.n_values * heads.value_dim));
    put_sections(import);
    return check_layers(import, diag);
}

const struct family family_qwen35 = {
    .types = { "qwen3_5_text", "qwen3_5" },
    .arch = "qwen35",
    .tables = { &family_ends_plus, &table, &family_gated },
    .more = more,
    .has = has,
    .place = place,
};
