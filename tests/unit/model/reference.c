#include "base/clean.h"
#include "reference_parts.h"
#include "unit.h"
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGN  32
#define EPS    REFERENCE_EPS
#define N_Q    (REFERENCE_HEADS * REFERENCE_HEAD)
#define N_KV   (REFERENCE_KV_HEADS * REFERENCE_HEAD)
#define TWO_PI 6.283185307179586

/* ---- the file ---- */

/* Returns the next number of splitmix64, scaled to -1 to 1. */
static float random_float(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (float)((double)(int64_t)(z ^ z >> 31) * 0x1p-63);
}

/* Adds a tensor of random numbers, @middle plus or minus @spread. */
static void add(struct reference_model *model, const char *name, uint32_t n_cols, uint32_t n_rows, float middle,
                float spread)
{
    struct reference_tensor *tensor = &model->tensors[model->n_tensors];
    const char *const *omits = model->reference->omits;
    uint64_t state = 77 + model->n_tensors;
    size_t n = (size_t)n_cols * (n_rows ? n_rows : 1);

    for (size_t i = 0; i < COUNTOF(model->reference->omits) && omits[i]; i++) {
        if (strcmp(omits[i], name) == 0) {
            return;
        }
    }
    ck_assert_uint_lt(model->n_tensors++, REFERENCE_TENSORS);
    snprintf(tensor->name, sizeof(tensor->name), "%s", name);
    tensor->n_cols = n_cols;
    tensor->n_rows = n_rows;
    tensor->data = malloc(n * sizeof(float));
    for (size_t i = 0; i < n; i++) {
        tensor->data[i] = middle + spread * random_float(&state);
    }
}

void reference_add(struct reference_model *model, uint32_t layer, const char *name, uint32_t n_cols, uint32_t n_rows,
                   float middle, float spread)
{
    char full[64];

    snprintf(full, sizeof(full), "blk.%u.%s", layer, name);
    add(model, full, n_cols, n_rows, middle, spread);
}

static void add_norm(struct reference_model *model, uint32_t layer, const char *name, uint32_t n)
{
    char full[64];

    snprintf(full, sizeof(full), "blk.%u.%s.weight", layer, name);
    add(model, full, n, 0, 1.0f, 0.4f);
}

static void add_matrix(struct reference_model *model, uint32_t layer, const char *name, uint32_t n_cols,
                       uint32_t n_rows)
{
    char full[64];

    snprintf(full, sizeof(full), "blk.%u.%s.weight", layer, name);
    add(model, full, n_cols, n_rows, 0.0f, 2.5f / sqrtf((float)n_cols));
}

static void add_bias(struct reference_model *model, uint32_t layer, const char *name, uint32_t n)
{
    char full[64];

    snprintf(full, sizeof(full), "blk.%u.%s.bias", layer, name);
    add(model, full, n, 0, 0.0f, 1.0f);
}

static void add_layer(struct reference_model *model, uint32_t layer)
{
    const struct reference *reference = model->reference;

    add_norm(model, layer, "attn_norm", REFERENCE_EMBD);
    if (reference->attends_every > 0) {
        reference_net_add(model, layer);
        return;
    }
    if (reference->is_fused) {
        add_matrix(model, layer, "attn_qkv", REFERENCE_EMBD, N_Q + 2 * N_KV);
        add_matrix(model, layer, "ffn_up", REFERENCE_EMBD, 2 * REFERENCE_FF);
    } else {
        add_matrix(model, layer, "attn_q", REFERENCE_EMBD, N_Q);
        add_matrix(model, layer, "attn_k", REFERENCE_EMBD, N_KV);
        add_matrix(model, layer, "attn_v", REFERENCE_EMBD, N_KV);
        add_matrix(model, layer, "ffn_gate", REFERENCE_EMBD, REFERENCE_FF);
        add_matrix(model, layer, "ffn_up", REFERENCE_EMBD, REFERENCE_FF);
    }
    if (reference->has_biases) {
        add_bias(model, layer, "attn_q", N_Q);
        add_bias(model, layer, "attn_k", N_KV);
        add_bias(model, layer, "attn_v", N_KV);
    }
    if (reference->norms_heads) {
        add_norm(model, layer, "attn_q_norm", REFERENCE_HEAD);
        add_norm(model, layer, "attn_k_norm", REFERENCE_HEAD);
    }
    if (reference->norms_back) {
        add_norm(model, layer, "post_attention_norm", REFERENCE_EMBD);
        add_norm(model, layer, "post_ffw_norm", REFERENCE_EMBD);
    }
    add_matrix(model, layer, "attn_output", N_Q, REFERENCE_EMBD);
    add_norm(model, layer, "ffn_norm", REFERENCE_EMBD);
    add_matrix(model, layer, "ffn_down", REFERENCE_FF, REFERENCE_EMBD);
}

static uint32_t n_rot(const struct reference *reference)
{
    return reference->n_rot ? reference->n_rot : REFERENCE_HEAD;
}

static void add_tensors(struct reference_model *model)
{
    const struct reference *reference = model->reference;

    add(model, "token_embd.weight", REFERENCE_EMBD, REFERENCE_TOKENS, 0.0f, 1.0f);
    add(model, "output_norm.weight", REFERENCE_EMBD, 0, 1.0f, 0.4f);
    if (!reference->is_gemma) {
        add(model, "output.weight", REFERENCE_EMBD, REFERENCE_TOKENS, 0.0f, 1.0f);
    }
    if (reference->has_factors) {
        add(model, "rope_freqs.weight", n_rot(reference) / 2, 0, 4.0f, 3.0f);
    }
    if (reference->has_lists) {
        add(model, "rope_factors_long.weight", n_rot(reference) / 2, 0, 5.0f, 3.0f);
        add(model, "rope_factors_short.weight", n_rot(reference) / 2, 0, 1.5f, 0.4f);
    }
    for (uint32_t layer = 0; layer < reference->n_layers; layer++) {
        add_layer(model, layer);
    }
}

void reference_key(struct maker *maker, const struct reference *reference, const char *name, uint32_t value)
{
    char full[96];

    snprintf(full, sizeof(full), "%s.%s", reference->family, name);
    maker_key_u32(maker, full, value);
}

/* Writes the key unless @value is 0. */
static void key_f32(struct maker *maker, const struct reference *reference, const char *name, float value)
{
    char full[96];

    snprintf(full, sizeof(full), "%s.%s", reference->family, name);
    if (value != 0.0f) {
        maker_key(maker, full, GGUF_F32);
        maker_bytes(maker, &value, sizeof(value));
    }
}

static bool is_local(const struct reference *reference, uint32_t layer)
{
    return reference->window > 0 && (reference->global_every == 0 || (layer + 1) % reference->global_every != 0);
}

static void write_pattern(struct maker *maker, const struct reference *reference)
{
    char full[96];

    if (reference->pattern_key == 1) {
        reference_key(maker, reference, "attention.sliding_window_pattern", reference->global_every);
    }
    if (reference->pattern_key >= 2) {
        snprintf(full, sizeof(full), "%s.attention.sliding_window_pattern", reference->family);
        maker_key_array(maker, full, GGUF_BOOL, reference->n_layers + reference->pattern_key - 2);
        for (uint32_t i = 0; i < reference->n_layers + reference->pattern_key - 2; i++) {
            maker_bytes(maker, &(uint8_t){ is_local(reference, i) }, 1);
        }
    }
}

static void write_keys(struct maker *maker, const struct reference *reference)
{
    char text[64];

    maker_key_text(maker, "general.architecture", reference->family);
    reference_key(maker, reference, "block_count", reference->n_layers + reference->n_ahead);
    reference_key(maker, reference, "embedding_length", REFERENCE_EMBD);
    reference_key(maker, reference, "feed_forward_length", REFERENCE_FF);
    reference_key(maker, reference, "context_length", REFERENCE_CONTEXT);
    reference_key(maker, reference, "attention.head_count", REFERENCE_HEADS);
    reference_key(maker, reference, "attention.head_count_kv", REFERENCE_KV_HEADS);
    reference_key(maker, reference, "attention.key_length", REFERENCE_HEAD);
    reference_key(maker, reference, "attention.value_length", REFERENCE_HEAD);
    reference_key(maker, reference, "rope.dimension_count", n_rot(reference));
    reference_key(maker, reference, "attention.sliding_window", reference->window);
    reference_key(maker, reference, "pooling_type", reference->pooling);
    if (reference->n_original) {
        reference_key(maker, reference, "rope.scaling.original_context_length", reference->n_original);
    }
    write_pattern(maker, reference);
    reference_net_keys(maker, reference);
    key_f32(maker, reference, "attention.layer_norm_rms_epsilon", EPS);
    key_f32(maker, reference, "attention.scale", reference->attn_scale);
    key_f32(maker, reference, "attn_logit_softcapping", reference->attn_cap);
    key_f32(maker, reference, "final_logit_softcapping", reference->logit_cap);
    key_f32(maker, reference, "rope.freq_base", reference->base);
    key_f32(maker, reference, "rope.freq_base_swa", reference->has_local_key ? reference->base_local : 0.0f);
    key_f32(maker, reference, "rope.scaling.factor", reference->factor);
    key_f32(maker, reference, "rope.scaling.attn_factor", reference->magnitude);
    if (reference->scaling) {
        snprintf(text, sizeof(text), "%s.rope.scaling.type", reference->family);
        maker_key_text(maker, text, reference->scaling);
    }
    reference_vocab(maker);
}

static size_t tensor_bytes(const struct reference_tensor *tensor)
{
    return (size_t)tensor->n_cols * (tensor->n_rows ? tensor->n_rows : 1) * sizeof(float);
}

void reference_make(struct reference_model *model, const struct reference *reference)
{
    struct maker maker;
    const uint8_t *head;
    uint64_t at = 0;
    size_t n;
    int fd = memfd_create("reference.gguf", MFD_CLOEXEC);

    *model = (struct reference_model){ .reference = reference };
    add_tensors(model);
    maker_init(&maker, 3);
    write_keys(&maker, reference);
    for (uint32_t i = 0; i < model->n_tensors; i++) {
        const struct reference_tensor *tensor = &model->tensors[i];

        maker_tensor(&maker, tensor->name, tensor->n_rows ? 2 : 1, (uint64_t[]){ tensor->n_cols, tensor->n_rows },
                     ELEM_F32, at);
        at += (tensor_bytes(tensor) + ALIGN - 1) / ALIGN * ALIGN;
    }
    maker_data(&maker, ALIGN, 0);
    head = maker_file(&maker, &n);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, head, n), (ssize_t)n);
    for (uint32_t i = 0; i < model->n_tensors; i++) {
        size_t n_bytes = tensor_bytes(&model->tensors[i]);

        ck_assert_int_eq(write(fd, model->tensors[i].data, n_bytes), (ssize_t)n_bytes);
        ck_assert_int_ge(lseek(fd, (off_t)((ALIGN - n_bytes % ALIGN) % ALIGN), SEEK_END), 0);
    }
    ck_assert_int_eq(ftruncate(fd, (off_t)(n + at)), 0);
    maker_finish(&maker);
    snprintf(model->path, sizeof(model->path), "/proc/self/fd/%d", fd);
}

void reference_free(struct reference_model *model)
{
    for (uint32_t i = 0; i < model->n_tensors; i++) {
        free(model->tensors[i].data);
    }
}

/* ---- the formulas ---- */

static const float *find(const struct reference_model *model, const char *name)
{
    for (uint32_t i = 0; i < model->n_tensors; i++) {
        if (strcmp(model->tensors[i].name, name) == 0) {
            return model->tensors[i].data;
        }
    }
    return NULL;
}

const float *reference_in_layer(const struct reference_model *model, uint32_t layer, const char *name)
{
    char full[64];

    snprintf(full, sizeof(full), "blk.%u.%s", layer, name);
    return find(model, full);
}

void reference_multiply(const float *matrix, uint32_t n_cols, uint32_t n_rows, const double *x, double *out)
{
    for (uint32_t r = 0; r < n_rows; r++) {
        out[r] = 0.0;
        for (uint32_t c = 0; c < n_cols; c++) {
            out[r] += (double)matrix[(size_t)r * n_cols + c] * x[c];
        }
    }
}

void reference_norm(const float *weight, uint32_t n, const double *x, double *out)
{
    double squares = 0.0;
    double root;

    for (uint32_t i = 0; i < n; i++) {
        squares += x[i] * x[i];
    }
    root = sqrt(squares / n + (double)EPS);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = x[i] / root * (double)weight[i];
    }
}

static double soft_limit(double x, float limit)
{
    return limit > 0.0f ? (double)limit * tanh(x / (double)limit) : x;
}

/* Returns the angle of pair @i at position 1 in layers that see everything, and the factor of sines and cosines. */
static double stretched(const struct reference_model *model, uint32_t i, uint32_t n_context, double *magnitude)
{
    const struct reference *reference = model->reference;
    double base = reference->base > 0.0f ? (double)reference->base : 10000.0;
    uint32_t n = n_rot(reference);
    double angle = pow(base, -2.0 * i / n);
    bool is_yarn = reference->scaling && strcmp(reference->scaling, "yarn") == 0;

    *magnitude = reference->magnitude > 0.0f ? (double)reference->magnitude : 1.0;
    if (is_yarn) { /* the pairs with 32 rotations and with one in the original context */
        double low = floor(n * log(reference->n_original / (32.0 * TWO_PI)) / (2.0 * log(base)));
        double high = ceil(n * log(reference->n_original / (1.0 * TWO_PI)) / (2.0 * log(base)));
        double way;

        low = low < 0.0 ? 0.0 : low;
        high = high > n - 1.0 ? n - 1.0 : high;
        way = (i - low) / (high == low ? 0.001 : high - low);
        way = way < 0.0 ? 0.0 : way > 1.0 ? 1.0 : way;
        angle = angle / (double)reference->factor * way + angle * (1.0 - way);
        *magnitude *= 0.1 * log((double)reference->factor) + 1.0;
    } else if (reference->factor > 0.0f) {
        angle /= (double)reference->factor;
    }
    if (reference->has_factors) {
        angle /= (double)find(model, "rope_freqs.weight")[i];
    }
    if (reference->has_lists) {
        angle /= (double)find(model, n_context > reference->n_original ? "rope_factors_long.weight"
                                                                       : "rope_factors_short.weight")[i];
    }
    return angle;
}

static void rotate(const struct reference_model *model, uint32_t layer, uint32_t position, uint32_t n_context,
                   double *head)
{
    const struct reference *reference = model->reference;
    uint32_t n = n_rot(reference);
    bool has_own = is_local(reference, layer) && reference->base_local > 0.0f;

    if (reference->unturned_every > 0 && (layer + 1) % reference->unturned_every == 0) {
        return;
    }
    for (uint32_t i = 0; i < n / 2; i++) {
        uint32_t first = reference->turns_neighbours ? 2 * i : i;
        uint32_t second = reference->turns_neighbours ? 2 * i + 1 : i + n / 2;
        double magnitude = 1.0;
        double angle = position * (has_own ? pow((double)reference->base_local, -2.0 * i / n)
                                           : stretched(model, i, n_context, &magnitude));
        double a = head[first];
        double b = head[second];

        head[first] = magnitude * (a * cos(angle) - b * sin(angle));
        head[second] = magnitude * (a * sin(angle) + b * cos(angle));
    }
}

/* Results for all positions of one sequence. */
struct work {
    double x[REFERENCE_EMBD];
    double q[N_Q];
    double gates[N_Q];
    double k[REFERENCE_CONTEXT][N_KV];
    double v[REFERENCE_CONTEXT][N_KV];
};

static void add_to(const float *bias, uint32_t n, double *x)
{
    for (uint32_t i = 0; bias && i < n; i++) {
        x[i] += (double)bias[i];
    }
}

/* Projects queries where a gate follows each head. */
static void project_gated(const struct reference_model *model, uint32_t layer, const double *normed, struct work *work)
{
    const float *weight = reference_in_layer(model, layer, "attn_q.weight");

    for (uint32_t head = 0; head < REFERENCE_HEADS; head++) {
        const float *rows = weight + (size_t)2 * head * REFERENCE_HEAD * REFERENCE_EMBD;

        reference_multiply(rows, REFERENCE_EMBD, REFERENCE_HEAD, normed, work->q + (size_t)head * REFERENCE_HEAD);
        reference_multiply(rows + (size_t)REFERENCE_HEAD * REFERENCE_EMBD, REFERENCE_EMBD, REFERENCE_HEAD, normed,
                           work->gates + (size_t)head * REFERENCE_HEAD);
    }
}

/* Computes queries, keys and values of one position from its stream. */
static void project(const struct reference_model *model, uint32_t layer, uint32_t position, uint32_t n_context,
                    struct work *work)
{
    double normed[REFERENCE_EMBD];
    double *const parts[3] = { work->q, work->k[position], work->v[position] };
    static const uint32_t sizes[3] = { N_Q, N_KV, N_KV };
    static const char *const names[3] = { "attn_q", "attn_k", "attn_v" };
    const float *fused = reference_in_layer(model, layer, "attn_qkv.weight");
    char name[32];

    reference_norm(reference_in_layer(model, layer, "attn_norm.weight"), REFERENCE_EMBD, work->x, normed);
    for (uint32_t p = 0; p < 3; p++) {
        snprintf(name, sizeof(name), "%s.weight", names[p]);
        if (p == 0 && model->reference->attends_every > 0) {
            project_gated(model, layer, normed, work);
        } else {
            reference_multiply(fused ? fused : reference_in_layer(model, layer, name), REFERENCE_EMBD, sizes[p], normed,
                               parts[p]);
        }
        fused = fused ? fused + (size_t)sizes[p] * REFERENCE_EMBD : NULL;
        snprintf(name, sizeof(name), "%s.bias", names[p]);
        add_to(reference_in_layer(model, layer, name), sizes[p], parts[p]);
        snprintf(name, sizeof(name), "%s_norm.weight", names[p]);
        for (uint32_t at = 0; p < 2 && at < sizes[p]; at += REFERENCE_HEAD) {
            if (model->reference->norms_heads) {
                reference_norm(reference_in_layer(model, layer, name), REFERENCE_HEAD, parts[p] + at, parts[p] + at);
            }
            rotate(model, layer, position, n_context, parts[p] + at);
        }
    }
}

/* Computes one head of one position. */
static void attend(const struct reference *reference, uint32_t layer, uint32_t position, uint32_t head,
                   const struct work *work, double *out)
{
    double scale = reference->attn_scale > 0.0f ? (double)reference->attn_scale
                   : reference->n_layers == 46  ? 1.0 / sqrt((double)REFERENCE_EMBD / REFERENCE_HEADS)
                                                : 1.0 / sqrt(REFERENCE_HEAD);
    uint32_t at = head / (REFERENCE_HEADS / REFERENCE_KV_HEADS) * REFERENCE_HEAD;
    double weights[REFERENCE_CONTEXT] = { 0.0 };
    double sum = 0.0;

    memset(out, 0, REFERENCE_HEAD * sizeof(*out));
    for (uint32_t seen = 0; seen <= position; seen++) {
        double score = 0.0;

        if (is_local(reference, layer) && seen + reference->window <= position) {
            continue;
        }
        for (uint32_t i = 0; i < REFERENCE_HEAD; i++) {
            score += work->q[head * REFERENCE_HEAD + i] * work->k[seen][at + i];
        }
        weights[seen] = exp(soft_limit(score * scale, reference->attn_cap));
        sum += weights[seen];
    }
    for (uint32_t seen = 0; seen <= position; seen++) {
        for (uint32_t i = 0; i < REFERENCE_HEAD; i++) {
            out[i] += weights[seen] / sum * work->v[seen][at + i];
        }
    }
}

/* Computes all heads of one position, and what they add to the stream. */
static void attend_all(const struct reference_model *model, uint32_t layer, uint32_t position, uint32_t n_context,
                       struct work *work, double *back)
{
    double heads[N_Q];

    project(model, layer, position, n_context, work);
    for (uint32_t head = 0; head < REFERENCE_HEADS; head++) {
        attend(model->reference, layer, position, head, work, heads + (size_t)head * REFERENCE_HEAD);
    }
    for (uint32_t i = 0; model->reference->attends_every > 0 && i < N_Q; i++) {
        heads[i] /= 1.0 + exp(-work->gates[i]);
    }
    reference_multiply(reference_in_layer(model, layer, "attn_output.weight"), N_Q, REFERENCE_EMBD, heads, back);
}

/* x = x + @back, which is normed first if the family does so. */
static void add_back(const struct reference_model *model, uint32_t layer, const char *post_norm, double *back,
                     double *x)
{
    if (model->reference->norms_back) {
        reference_norm(reference_in_layer(model, layer, post_norm), REFERENCE_EMBD, back, back);
    }
    for (uint32_t i = 0; i < REFERENCE_EMBD; i++) {
        x[i] += back[i];
    }
}

static void feed_forward(const struct reference_model *model, uint32_t layer, double *x)
{
    const float *second = reference_in_layer(model, layer, "ffn_up.weight");
    const float *first = model->reference->is_fused ? second : reference_in_layer(model, layer, "ffn_gate.weight");
    double normed[REFERENCE_EMBD];
    double gate[REFERENCE_FF];
    double up[REFERENCE_FF];
    double back[REFERENCE_EMBD];

    reference_norm(reference_in_layer(model, layer,
                                      model->reference->attends_every ? "post_attention_norm.weight"
                                                                      : "ffn_norm.weight"),
                   REFERENCE_EMBD, x, normed);
    reference_multiply(first, REFERENCE_EMBD, REFERENCE_FF, normed, gate);
    reference_multiply(model->reference->is_fused ? second + (size_t)REFERENCE_FF * REFERENCE_EMBD : second,
                       REFERENCE_EMBD, REFERENCE_FF, normed, up);
    for (uint32_t i = 0; i < REFERENCE_FF; i++) {
        double g = gate[i];

        if (model->reference->is_gemma) {
            gate[i] = 0.5 * g * (1.0 + tanh(sqrt(4.0 / TWO_PI) * (g + 0.044715 * g * g * g))) * up[i];
        } else {
            gate[i] = g / (1.0 + exp(-g)) * up[i];
        }
    }
    reference_multiply(reference_in_layer(model, layer, "ffn_down.weight"), REFERENCE_FF, REFERENCE_EMBD, gate, back);
    add_back(model, layer, "post_ffw_norm.weight", back, x);
}

static void embed(const struct reference_model *model, uint32_t token, double *x)
{
    const float *row = find(model, "token_embd.weight") + (size_t)token * REFERENCE_EMBD;

    for (uint32_t i = 0; i < REFERENCE_EMBD; i++) {
        x[i] = (double)row[i] * (model->reference->is_gemma ? sqrt(REFERENCE_EMBD) : 1.0);
    }
}

static void read_out(const struct reference_model *model, const double *x, double *logits)
{
    const float *output = find(model, "output.weight");
    double normed[REFERENCE_EMBD];

    reference_norm(find(model, "output_norm.weight"), REFERENCE_EMBD, x, normed);
    reference_multiply(output ? output : find(model, "token_embd.weight"), REFERENCE_EMBD, REFERENCE_TOKENS, normed,
                       logits);
    for (uint32_t i = 0; i < REFERENCE_TOKENS; i++) {
        logits[i] = soft_limit(logits[i], model->reference->logit_cap);
    }
}

/* Computes the stream behind all layers, one row after the other. */
static void walk(const struct reference_model *model, struct work *layers, uint32_t position, uint32_t token,
                 uint32_t n_context, double *x)
{
    double normed[REFERENCE_EMBD];
    double back[REFERENCE_EMBD];

    embed(model, token, x);
    for (uint32_t layer = 0; layer < model->reference->n_layers; layer++) {
        struct work *work = &layers[layer];

        memcpy(work->x, x, REFERENCE_EMBD * sizeof(*x));
        if (reference_net_recurs(model->reference, layer)) {
            reference_norm(reference_in_layer(model, layer, "attn_norm.weight"), REFERENCE_EMBD, x, normed);
            reference_net_take(model, layer, position, normed, back);
        } else {
            attend_all(model, layer, position, n_context, work, back);
        }
        add_back(model, layer, "post_attention_norm.weight", back, x);
        feed_forward(model, layer, x);
    }
}

void reference_logits(const struct reference_model *model, const uint32_t *tokens, uint32_t n, uint32_t n_context,
                      double *logits)
{
    static struct work layers[64];
    double x[REFERENCE_EMBD];

    ck_assert_uint_le(model->reference->n_layers, COUNTOF(layers));
    for (uint32_t position = 0; position < n; position++) {
        walk(model, layers, position, tokens[position], n_context, x);
        read_out(model, x, logits + (size_t)position * REFERENCE_TOKENS);
    }
}

void reference_hidden(const struct reference_model *model, const uint32_t *tokens, uint32_t n, uint32_t n_context,
                      double *hidden)
{
    static struct work layers[64];
    double x[REFERENCE_EMBD];

    for (uint32_t position = 0; position < n; position++) {
        walk(model, layers, position, tokens[position], n_context, x);
        reference_norm(find(model, "output_norm.weight"), REFERENCE_EMBD, x,
                       hidden + (size_t)position * REFERENCE_EMBD);
    }
}
