/*
 * Rotary position embedding (RoPE)
 *
 * The libraries describe it in two ways: by rope_theta and rope_scaling (until version 4), and by rope_parameters,
 * which has both, for all layers or for each kind of layer. GGUF has keys for the scalings linear and yarn, and tensors
 * of factors, one for each pair, for those that treat each frequency separately (llama3, longrope).
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "import/family.h"
#include <errno.h>
#include <math.h>

#define FULL "full_attention"

/* The rotation of one kind of layer. */
struct rope {
    const json_t *params; /* or NULL */
    const char *type;
    float base;
};

/* Returns the object with the parameters of layers of @kind, or NULL. */
static const json_t *find_params(const struct folder *folder, const char *kind)
{
    const json_t *params = json_object_get(folder->text, "rope_parameters");
    const json_t *of_kind = json_object_get(params, kind);

    if (json_is_object(of_kind)) {
        return of_kind;
    }
    if (json_is_object(params)) {
        return params;
    }
    params = json_object_get(folder->text, "rope_scaling");
    return json_is_object(params) ? params : NULL;
}

int rope_keys_read_base(const struct folder *folder, const char *kind, float *ret, struct diag *diag)
{
    int r =
        json_get_f32(json_object_get(json_object_get(folder->text, "rope_parameters"), kind), "rope_theta", ret, diag);

    if (r == JSON_NONE) {
        r = json_get_f32(folder->text, "rope_local_base_freq", ret, diag);
    }
    return r == JSON_WRONG ? IMPORT_REFUSED : IMPORT_OK;
}

static int read_rope(const struct import *import, struct rope *rope, struct diag *diag)
{
    const json_t *params = find_params(import->folder, FULL);

    *rope = (struct rope){ .params = params, .type = "default", .base = 10000.0f };
    if (json_get_f32(import->folder->text, "rope_theta", &rope->base, diag) == JSON_WRONG ||
        json_get_f32(params, "rope_theta", &rope->base, diag) == JSON_WRONG ||
        json_get_text(params, "type", &rope->type, diag) == JSON_WRONG ||
        json_get_text(params, "rope_type", &rope->type, diag) == JSON_WRONG) {
        return IMPORT_REFUSED;
    }
    if (!(rope->base >= 1.0f)) {
        diag_blame(diag, "rope_theta", "config.json: \"rope_theta\" is %g; it must be at least 1", (double)rope->base);
        return IMPORT_REFUSED;
    }
    return IMPORT_OK;
}

/* Reads how many dimensions of a head rotate. */
static int read_n_rot(struct import *import, const struct rope *rope, struct diag *diag)
{
    struct import_facts *facts = &import->facts;
    float part = 1.0f;

    if (json_get_f32(import->folder->text, "partial_rotary_factor", &part, diag) == JSON_WRONG ||
        json_get_f32(rope->params, "partial_rotary_factor", &part, diag) == JSON_WRONG) {
        return IMPORT_REFUSED;
    }
    if (!(part > 0.0f && part <= 1.0f)) {
        diag_blame(diag, "partial_rotary_factor", "config.json: \"partial_rotary_factor\" must lie between 0 and 1");
        return IMPORT_REFUSED;
    }
    facts->n_rot = (uint32_t)((float)facts->head_dim * part);
    if (facts->n_rot == 0 || facts->n_rot % 2 != 0) {
        diag_blame(diag, "partial_rotary_factor", "config.json: %u elements of a head can't rotate in pairs",
                   facts->n_rot);
        return IMPORT_REFUSED;
    }
    return IMPORT_OK;
}

/* Reads a required number of the parameters, at least @min. */
static int need(const struct rope *rope, const char *name, float min, float *ret, struct diag *diag)
{
    const int r = json_get_f32(rope->params, name, ret, diag);

    if (r == JSON_NONE) {
        diag_blame(diag, name, "config.json: the rotation is of type %.40s, but \"%s\" is missing", rope->type, name);
    }
    if (r == JSON_GOT && !(*ret >= min)) {
        diag_blame(diag, name, "config.json: \"%s\" is %g; it must be at least %g", name, (double)*ret, (double)min);
        return IMPORT_REFUSED;
    }
    return r ? IMPORT_REFUSED : IMPORT_OK;
}

static void put_type(struct import *import, const char *type)
{
    gguf_put_text(import->writer, import_key(import, "rope.scaling.type"), type, strlen(type));
}

static int put_linear(struct import *import, const struct rope *rope, struct diag *diag)
{
    float factor;

    if (need(rope, "factor", 1.0f, &factor, diag)) {
        return IMPORT_REFUSED;
    }
    put_type(import, "linear");
    gguf_put_f32(import->writer, import_key(import, "rope.scaling.factor"), factor);
    return IMPORT_OK;
}

/*
 * Llama 3 stretches wavelengths longer than its first context by @factor, keeps short ones, and interpolates between
 * them. GGUF stores the divisor of each frequency.
 */
static int put_llama3(struct import *import, const struct rope *rope, struct diag *diag)
{
    const uint32_t n = import->facts.n_rot / 2;
    cleanup(mem_freep) float *factors = mem_calloc(MEM_SCRATCH, n, sizeof(float));
    float factor;
    float low;
    float high;
    float n_first;

    if (!factors) {
        return err_new(-ENOMEM);
    }
    if (need(rope, "factor", 1.0f, &factor, diag) || need(rope, "low_freq_factor", 1e-6f, &low, diag) ||
        need(rope, "high_freq_factor", 1e-6f, &high, diag) ||
        need(rope, "original_max_position_embeddings", 1.0f, &n_first, diag)) {
        return IMPORT_REFUSED;
    }
    if (!(high > low)) {
        diag_blame(diag, "high_freq_factor", "config.json: \"high_freq_factor\" must be above \"low_freq_factor\"");
        return IMPORT_REFUSED;
    }
    for (uint32_t i = 0; i < n; i++) {
        const double wave = 2.0 * M_PI * pow((double)rope->base, 2.0 * i / import->facts.n_rot);
        const double smooth = ((double)n_first / wave - (double)low) / ((double)high - (double)low);

        if (wave < (double)n_first / (double)high) {
            factors[i] = 1.0f;
        } else if (wave > (double)n_first / (double)low) {
            factors[i] = factor;
        } else {
            factors[i] = (float)(1.0 / ((1.0 - smooth) / (double)factor + smooth));
        }
    }
    return import_add_made(import, "rope_freqs.weight", factors, n);
}

static int put_yarn(struct import *import, const struct rope *rope, struct diag *diag)
{
    static const char *const unknown[] = { "mscale", "mscale_all_dim" };
    float factor;
    float n_first = (float)import->facts.n_trained;
    float fast = 32.0f;
    float slow = 1.0f;
    float magnitude;

    if (need(rope, "factor", 1.0f, &factor, diag) ||
        json_get_f32(rope->params, "original_max_position_embeddings", &n_first, diag) == JSON_WRONG ||
        json_get_f32(rope->params, "beta_fast", &fast, diag) == JSON_WRONG ||
        json_get_f32(rope->params, "beta_slow", &slow, diag) == JSON_WRONG) {
        return IMPORT_REFUSED;
    }
    for (size_t i = 0; i < COUNTOF(unknown); i++) {
        if (json_object_get(rope->params, unknown[i])) {
            diag_blame(diag, unknown[i], "config.json: \"%s\" of yarn is not supported", unknown[i]);
            return IMPORT_REFUSED;
        }
    }
    magnitude = 0.1f * logf(factor) + 1.0f;
    put_type(import, "yarn");
    gguf_put_f32(import->writer, import_key(import, "rope.scaling.factor"), factor);
    gguf_put_u32(import->writer, import_key(import, "rope.scaling.original_context_length"), (uint32_t)n_first);
    gguf_put_f32(import->writer, import_key(import, "rope.scaling.yarn_beta_fast"), fast);
    gguf_put_f32(import->writer, import_key(import, "rope.scaling.yarn_beta_slow"), slow);
    if (json_get_f32(rope->params, "attention_factor", &magnitude, diag) == JSON_GOT) {
        /* Readers of GGUF multiply by the magnitude of yarn. */
        gguf_put_f32(import->writer, import_key(import, "rope.scaling.attn_factor"),
                     magnitude / (0.1f * logf(factor) + 1.0f));
    }
    return IMPORT_OK;
}

static int put_factors(struct import *import, const struct rope *rope, const char *from, const char *to,
                       struct diag *diag)
{
    const json_t *list = json_object_get(rope->params, from);
    const size_t n = import->facts.n_rot / 2;
    cleanup(mem_freep) float *factors = mem_calloc(MEM_SCRATCH, n, sizeof(float));

    if (!factors) {
        return err_new(-ENOMEM);
    }
    if (json_array_size(list) != n) {
        diag_blame(diag, from, "config.json: \"%s\" must be a list of %zu numbers, one for each pair that rotates",
                   from, n);
        return IMPORT_REFUSED;
    }
    for (size_t i = 0; i < n; i++) {
        factors[i] = (float)json_number_value(json_array_get(list, i));
        if (!(factors[i] > 0.0f && isfinite(factors[i]))) {
            diag_blame(diag, from, "config.json: number %zu of \"%s\" must be above 0", i, from);
            return IMPORT_REFUSED;
        }
    }
    return import_add_made(import, to, factors, n);
}

/* longrope: each frequency has two divisors, one within the first context and one beyond it. */
static int put_longrope(struct import *import, const struct rope *rope, struct diag *diag)
{
    uint32_t n_first = 0;
    float magnitude = 1.0f;
    float factor;
    int r;

    if (json_get_u32(import->folder->text, "original_max_position_embeddings", &n_first, diag) == JSON_WRONG ||
        json_get_u32(rope->params, "original_max_position_embeddings", &n_first, diag) == JSON_WRONG) {
        return IMPORT_REFUSED;
    }
    if (n_first < 2) {
        diag_blame(diag, "original_max_position_embeddings",
                   "config.json: \"original_max_position_embeddings\" is missing or below 2");
        return IMPORT_REFUSED;
    }
    factor = (float)import->facts.n_trained / (float)n_first;
    if (json_get_f32(rope->params, "factor", &factor, diag) == JSON_WRONG) {
        return IMPORT_REFUSED;
    }
    if (factor > 1.0f) {
        magnitude = (float)sqrt(1.0 + log((double)factor) / log((double)n_first));
    }
    if (json_get_f32(rope->params, "attention_factor", &magnitude, diag) == JSON_WRONG) {
        return IMPORT_REFUSED;
    }
    put_type(import, "longrope");
    gguf_put_u32(import->writer, import_key(import, "rope.scaling.original_context_length"), n_first);
    gguf_put_f32(import->writer, import_key(import, "rope.scaling.attn_factor"), magnitude);
    r = put_factors(import, rope, "long_factor", "rope_factors_long.weight", diag);
    return r ? r : put_factors(import, rope, "short_factor", "rope_factors_short.weight", diag);
}

static int put_plain(struct import *import, const struct rope *rope, struct diag *diag)
{
    return IMPORT_OK;
}

int rope_keys_import(struct import *import, struct diag *diag)
{
    static const struct {
        const char *type;
        int (*put)(struct import *, const struct rope *, struct diag *);
    } rows[] = {
        { "default", put_plain }, { "linear", put_linear },     { "llama3", put_llama3 },
        { "yarn", put_yarn },     { "longrope", put_longrope }, { "su", put_longrope },
    };
    struct rope rope;

    if (read_rope(import, &rope, diag) || read_n_rot(import, &rope, diag)) {
        return IMPORT_REFUSED;
    }
    gguf_put_f32(import->writer, import_key(import, "rope.freq_base"), rope.base);
    gguf_put_u32(import->writer, import_key(import, "rope.dimension_count"), import->facts.n_rot);
    for (size_t i = 0; i < COUNTOF(rows); i++) {
        if (strcmp(rows[i].type, rope.type) == 0) {
            return rows[i].put(import, &rope, diag);
        }
    }
    diag_blame(diag, "rope_type", "config.json: a rotation of type \"%.40s\" is not supported", rope.type);
    return IMPORT_REFUSED;
}
