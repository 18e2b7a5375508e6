/*
 * Reference_net: the gated delta net in float64, from the formulas of its paper (arXiv 2412.06464, equation 10) and the
 * published models' reference implementation: S' = S (alpha (I - beta k k^T)) + beta v k^T. It is written with a matrix
 * that maps keys to values, so its sums are in another order than those of sotto.
 */
#include "reference_parts.h"
#include "unit.h"
#include <math.h>
#include <string.h>

/* Sizes that are not multiples of each other, nor of what kernels compute at once. */
#define TAPS      4
#define KEYS      2
#define VALUES    4
#define KEY_DIM   12
#define VALUE_DIM 42
#define INNER     (VALUES * VALUE_DIM)
#define CHANNELS  (2 * KEYS * KEY_DIM + INNER)
#define N_Q       (REFERENCE_HEADS * REFERENCE_HEAD)
#define N_KV      (REFERENCE_KV_HEADS * REFERENCE_HEAD)

bool reference_net_recurs(const struct reference *reference, uint32_t layer)
{
    return reference->attends_every > 0 && (layer + 1) % reference->attends_every != 0;
}

/* ---- the file ---- */

static void add_matrix(struct reference_model *model, uint32_t layer, const char *name, uint32_t n_cols,
                       uint32_t n_rows)
{
    reference_add(model, layer, name, n_cols, n_rows, 0.0f, 2.5f / sqrtf((float)n_cols));
}

void reference_net_add(struct reference_model *model, uint32_t layer)
{
    if (reference_net_recurs(model->reference, layer)) {
        add_matrix(model, layer, "attn_qkv.weight", REFERENCE_EMBD, CHANNELS);
        add_matrix(model, layer, "attn_gate.weight", REFERENCE_EMBD, INNER);
        add_matrix(model, layer, "ssm_conv1d.weight", TAPS, CHANNELS);
        reference_add(model, layer, "ssm_a", VALUES, 0, -2.0f, 1.9f);
        reference_add(model, layer, "ssm_dt.bias", VALUES, 0, -2.0f, 2.0f);
        add_matrix(model, layer, "ssm_alpha.weight", REFERENCE_EMBD, VALUES);
        add_matrix(model, layer, "ssm_beta.weight", REFERENCE_EMBD, VALUES);
        reference_add(model, layer, "ssm_norm.weight", VALUE_DIM, 0, 1.0f, 0.4f);
        add_matrix(model, layer, "ssm_out.weight", INNER, REFERENCE_EMBD);
    } else {
        add_matrix(model, layer, "attn_q.weight", REFERENCE_EMBD, 2 * N_Q);
        add_matrix(model, layer, "attn_k.weight", REFERENCE_EMBD, N_KV);
        add_matrix(model, layer, "attn_v.weight", REFERENCE_EMBD, N_KV);
        add_matrix(model, layer, "attn_output.weight", N_Q, REFERENCE_EMBD);
        reference_add(model, layer, "attn_q_norm.weight", REFERENCE_HEAD, 0, 1.0f, 0.4f);
        reference_add(model, layer, "attn_k_norm.weight", REFERENCE_HEAD, 0, 1.0f, 0.4f);
    }
    reference_add(model, layer, "post_attention_norm.weight", REFERENCE_EMBD, 0, 1.0f, 0.4f);
    add_matrix(model, layer, "ffn_gate.weight", REFERENCE_EMBD, REFERENCE_FF);
    add_matrix(model, layer, "ffn_up.weight", REFERENCE_EMBD, REFERENCE_FF);
    add_matrix(model, layer, "ffn_down.weight", REFERENCE_FF, REFERENCE_EMBD);
}

void reference_net_keys(struct maker *maker, const struct reference *reference)
{
    uint32_t n_layers = reference->n_layers + reference->n_ahead;
    char full[96];

    if (reference->attends_every == 0) {
        return;
    }
    reference_key(maker, reference, "ssm.conv_kernel", TAPS);
    reference_key(maker, reference, "ssm.group_count", KEYS);
    reference_key(maker, reference, "ssm.time_step_rank", reference->n_values ? reference->n_values : VALUES);
    reference_key(maker, reference, "ssm.state_size", KEY_DIM);
    reference_key(maker, reference, "ssm.inner_size", INNER);
    if (reference->n_ahead > 0) {
        reference_key(maker, reference, "nextn_predict_layers", reference->n_ahead);
    }
    if (!reference->lists_layers) {
        reference_key(maker, reference, "full_attention_interval", reference->attends_every);
        return;
    }
    snprintf(full, sizeof(full), "%s.attention.recurrent_layers", reference->family);
    maker_key_array(maker, full, GGUF_BOOL, n_layers);
    for (uint32_t i = 0; i < n_layers; i++) {
        maker_bytes(maker, &(uint8_t){ i < reference->n_layers && reference_net_recurs(reference, i) }, 1);
    }
}

/* ---- the formulas ---- */

/* State of a layer for one sequence. */
static struct net_state {
    double mixed[REFERENCE_CONTEXT][CHANNELS];
    double matrices[VALUES][KEY_DIM][VALUE_DIM];
} states[64];

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static void convolve(const float *taps, const struct net_state *state, uint32_t position, double *out)
{
    for (uint32_t c = 0; c < CHANNELS; c++) {
        double sum = 0.0;

        for (uint32_t back = 0; back < TAPS && back <= position; back++) {
            sum += (double)taps[c * TAPS + TAPS - 1 - back] * state->mixed[position - back][c];
        }
        out[c] = sum * sigmoid(sum);
    }
}

static void unit_length(const double *x, double *out)
{
    double squares = 1e-6;

    for (uint32_t i = 0; i < KEY_DIM; i++) {
        squares += x[i] * x[i];
    }
    for (uint32_t i = 0; i < KEY_DIM; i++) {
        out[i] = x[i] / sqrt(squares);
    }
}

static void learn(double (*matrix)[VALUE_DIM], double alpha, double beta, const double *k, const double *v)
{
    for (uint32_t j = 0; j < VALUE_DIM; j++) {
        double read = 0.0;

        for (uint32_t i = 0; i < KEY_DIM; i++) {
            read += k[i] * matrix[i][j];
        }
        for (uint32_t i = 0; i < KEY_DIM; i++) {
            matrix[i][j] = alpha * (matrix[i][j] - beta * k[i] * read) + beta * v[j] * k[i];
        }
    }
}

static void take_head(struct net_state *state, uint32_t head, double alpha, double beta, const double *qkv, double *out)
{
    double q[KEY_DIM];
    double k[KEY_DIM];
    uint32_t key = head % KEYS;

    unit_length(qkv + (size_t)key * KEY_DIM, q);
    unit_length(qkv + (size_t)(KEYS + key) * KEY_DIM, k);
    learn(state->matrices[head], alpha, beta, k, qkv + (size_t)2 * KEYS * KEY_DIM + (size_t)head * VALUE_DIM);
    for (uint32_t j = 0; j < VALUE_DIM; j++) {
        out[j] = 0.0;
        for (uint32_t i = 0; i < KEY_DIM; i++) {
            out[j] += state->matrices[head][i][j] * q[i] / sqrt(KEY_DIM);
        }
    }
}

void reference_net_take(const struct reference_model *model, uint32_t layer, uint32_t position, const double *normed,
                        double *back)
{
    const float *rate = reference_in_layer(model, layer, "ssm_a");
    const float *bias = reference_in_layer(model, layer, "ssm_dt.bias");
    struct net_state *state = &states[layer];
    double qkv[CHANNELS];
    double gates[INNER];
    double inner[INNER];
    double alpha[VALUES];
    double beta[VALUES];

    if (position == 0) {
        memset(state, 0, sizeof(*state));
    }
    reference_multiply(reference_in_layer(model, layer, "attn_qkv.weight"), REFERENCE_EMBD, CHANNELS, normed,
                       state->mixed[position]);
    reference_multiply(reference_in_layer(model, layer, "attn_gate.weight"), REFERENCE_EMBD, INNER, normed, gates);
    reference_multiply(reference_in_layer(model, layer, "ssm_alpha.weight"), REFERENCE_EMBD, VALUES, normed, alpha);
    reference_multiply(reference_in_layer(model, layer, "ssm_beta.weight"), REFERENCE_EMBD, VALUES, normed, beta);
    convolve(reference_in_layer(model, layer, "ssm_conv1d.weight"), state, position, qkv);
    for (uint32_t head = 0; head < VALUES; head++) {
        double *out = inner + (size_t)head * VALUE_DIM;

        take_head(state, head, exp((double)rate[head] * log1p(exp(alpha[head] + (double)bias[head]))),
                  sigmoid(beta[head]), qkv, out);
        reference_norm(reference_in_layer(model, layer, "ssm_norm.weight"), VALUE_DIM, out, out);
    }
    for (uint32_t i = 0; i < INNER; i++) {
        inner[i] *= gates[i] * sigmoid(gates[i]);
    }
    reference_multiply(reference_in_layer(model, layer, "ssm_out.weight"), INNER, REFERENCE_EMBD, inner, back);
}
