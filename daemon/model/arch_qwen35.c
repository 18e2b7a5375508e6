/*
 * Family qwen35: the dense models of Qwen 3.5
 *
 * Most layers are gated delta nets: in place of keys and values that grow with the text, a value head has a matrix S
 * that maps keys to values. Each row lets S decay a little, and then corrects the value that S gives for the row's key:
 *
 *     q, k, v = silu(conv(Wmix norm(x)))                      each channel separately, over the last few rows
 *     decay = exp(-A softplus(Walpha norm(x) + bias)),  beta = sigmoid(Wbeta norm(x))         one a head
 *     S = decay S;  S = S + k^ (beta (v - S^T k^))^T;  o = S^T q^ / sqrt(|q|)       q^, k^: of length 1
 *     x = x + Wout (norm(o) * silu(Wgate norm(x)))            each head normed separately
 *
 * Every fourth layer attends as in qwen3, but only a part of a head rotates, and the output of a head passes a gate:
 *
 *     q, g = Wq norm(x)                                       head by head: its query, its gate
 *     x = x + Wo (attention(rope(norm(q)), rope(norm(k)), v) * sigmoid(g))
 *
 * All layers have x = x + Wdown (silu(Wgate norm(x)) * Wup norm(x)). Prompts go through S row by row, too, since the
 * form that takes many rows at once rounds differently depending on where they are cut.
 *
 * Files hold -A, 1 + w of the norms that multiply by it, and value heads in the order in which neighbours have
 * different key heads. Source: Yang, Kautz, Hatamizadeh 2024, Gated Delta Networks (arXiv 2412.06464).
 */
#include "base/clean.h"
#include "model/builder.h"
#include <math.h>

#define LENGTH_EPS 1e-6f /* under the root, where q and k are scaled to length 1 */

#define ATTENDS (ARCH_LAYER | ARCH_ATTENDS)
#define RECURS  (ARCH_LAYER | ARCH_RECURS)

static const struct arch_tensor attention[] = {
    { "attn_norm.weight", ARCH_DIM_EMBD, ARCH_DIM_ONE, ARCH_LAYER | ARCH_FLOATS, ARCH_IN_LAYER(attn_norm) },
    { "attn_q.weight", ARCH_DIM_EMBD, ARCH_DIM_TWO_Q, ATTENDS, ARCH_IN_LAYER(q) },
    { "attn_k.weight", ARCH_DIM_EMBD, ARCH_DIM_KV, ATTENDS, ARCH_IN_LAYER(k) },
    { "attn_v.weight", ARCH_DIM_EMBD, ARCH_DIM_KV, ATTENDS, ARCH_IN_LAYER(v) },
    { "attn_output.weight", ARCH_DIM_Q, ARCH_DIM_EMBD, ATTENDS, ARCH_IN_LAYER(o) },
    { "attn_q_norm.weight", ARCH_DIM_HEAD, ARCH_DIM_ONE, ATTENDS | ARCH_FLOATS, ARCH_IN_LAYER(q_norm) },
    { "attn_k_norm.weight", ARCH_DIM_HEAD, ARCH_DIM_ONE, ATTENDS | ARCH_FLOATS, ARCH_IN_LAYER(k_norm) },
};

static const struct arch_tensor net[] = {
    { "attn_qkv.weight", ARCH_DIM_EMBD, ARCH_DIM_CHANNELS, RECURS, ARCH_IN_LAYER(mix) },
    { "attn_gate.weight", ARCH_DIM_EMBD, ARCH_DIM_INNER, RECURS, ARCH_IN_LAYER(inner_gate) },
    { "ssm_conv1d.weight", ARCH_DIM_TAPS, ARCH_DIM_CHANNELS, RECURS | ARCH_FLOATS, ARCH_IN_LAYER(taps) },
    { "ssm_a", ARCH_DIM_VALUES, ARCH_DIM_ONE, RECURS | ARCH_FLOATS, ARCH_IN_LAYER(rate) },
    { "ssm_dt.bias", ARCH_DIM_VALUES, ARCH_DIM_ONE, RECURS | ARCH_FLOATS, ARCH_IN_LAYER(dt_bias) },
    { "ssm_alpha.weight", ARCH_DIM_EMBD, ARCH_DIM_VALUES, RECURS, ARCH_IN_LAYER(alpha) },
    { "ssm_beta.weight", ARCH_DIM_EMBD, ARCH_DIM_VALUES, RECURS, ARCH_IN_LAYER(beta) },
    { "ssm_norm.weight", ARCH_DIM_VALUE, ARCH_DIM_ONE, RECURS | ARCH_FLOATS, ARCH_IN_LAYER(inner_norm) },
    { "ssm_out.weight", ARCH_DIM_INNER, ARCH_DIM_EMBD, RECURS, ARCH_IN_LAYER(o) },
};

static const struct arch_tensor gated[] = {
    { "post_attention_norm.weight", ARCH_DIM_EMBD, ARCH_DIM_ONE, ARCH_LAYER | ARCH_FLOATS, ARCH_IN_LAYER(ffn_norm) },
    { "ffn_gate.weight", ARCH_DIM_EMBD, ARCH_DIM_FF, ARCH_LAYER, ARCH_IN_LAYER(gate) },
    { "ffn_up.weight", ARCH_DIM_EMBD, ARCH_DIM_FF, ARCH_LAYER, ARCH_IN_LAYER(up) },
    { "ffn_down.weight", ARCH_DIM_FF, ARCH_DIM_EMBD, ARCH_LAYER, ARCH_IN_LAYER(down) },
};

static const struct arch_table own_attention = { attention, COUNTOF(attention) };
static const struct arch_table own_net = { net, COUNTOF(net) };
static const struct arch_table own_gated = { gated, COUNTOF(gated) };

/* Slots that only this family has. */
struct slots {
    uint32_t q_gates;     /* [2 * n_heads * head_dim] each head's query, then its gate */
    uint32_t gates;       /* [n_heads * head_dim] */
    uint32_t mixed;       /* [channels] input of the convolution */
    uint32_t qkv;         /* [channels] its output */
    uint32_t inner;       /* [n_inner] output of the net */
    uint32_t inner_gates; /* [n_inner] */
    uint32_t alpha, beta; /* [n_values] */
};

static struct slots slots_of(const struct arch_params *params, struct exec_program *program)
{
    uint32_t n_q = params->n_heads * params->head_dim;
    uint32_t n_channels = arch_n_channels(&params->net);

    return (struct slots){
        .q_gates = exec_slot(program, "q_gates", 2 * n_q, EXEC_ROWS_ALL),
        .gates = exec_slot(program, "gates", n_q, EXEC_ROWS_ALL),
        .mixed = exec_slot(program, "mixed", n_channels, EXEC_ROWS_ALL),
        .qkv = exec_slot(program, "qkv", n_channels, EXEC_ROWS_ALL),
        .inner = exec_slot(program, "inner", params->net.n_inner, EXEC_ROWS_ALL),
        .inner_gates = exec_slot(program, "inner_gates", params->net.n_inner, EXEC_ROWS_ALL),
        .alpha = exec_slot(program, "alpha", params->net.n_values, EXEC_ROWS_ALL),
        .beta = exec_slot(program, "beta", params->net.n_values, EXEC_ROWS_ALL),
    };
}

static void unzip(struct builder *builder, uint32_t out, uint32_t in, uint32_t part)
{
    builder_put(builder, (struct exec_op){ .kind = EXEC_UNZIP,
                                           .in = in,
                                           .out = out,
                                           .part = part,
                                           .head_dim = builder->source->params->head_dim });
}

static void attend(struct builder *builder, const struct slots *slots, const struct arch_layer *layer)
{
    const struct builder_slots *at = &builder->at;

    builder_matmul(builder, slots->q_gates, at->normed, layer->q, NULL);
    builder_matmul(builder, at->k, at->normed, layer->k, NULL);
    builder_matmul(builder, at->v, at->normed, layer->v, NULL);
    builder->phase = STEP_ATTEND;
    unzip(builder, at->q, slots->q_gates, 0);
    unzip(builder, slots->gates, slots->q_gates, 1);
    builder_norm_heads(builder, layer);
    builder_rotate(builder, EXEC_PAIRS_HALVES);
    builder_attention(builder);
    builder_glu(builder, at->heads, slots->gates, at->heads, EXEC_GATE_SIGMOID);
    builder_add_back(builder, STEP_OUTPUT, at->heads, layer->o, NULL, NULL);
}

static void recur(struct builder *builder, const struct slots *slots, const struct arch_layer *layer)
{
    const struct arch_net *shape = &builder->source->params->net;
    const struct builder_slots *at = &builder->at;

    builder_matmul(builder, slots->mixed, at->normed, layer->mix, NULL);
    builder_matmul(builder, slots->inner_gates, at->normed, layer->inner_gate, NULL);
    builder_matmul(builder, slots->alpha, at->normed, layer->alpha, NULL);
    builder_matmul(builder, slots->beta, at->normed, layer->beta, NULL);
    builder->phase = STEP_ATTEND;
    builder_put(builder, (struct exec_op){ .kind = EXEC_CONV,
                                           .in = slots->mixed,
                                           .out = slots->qkv,
                                           .weight = layer->taps,
                                           .states = builder->source->states });
    builder_put(builder, (struct exec_op){ .kind = EXEC_DELTA,
                                           .in = slots->qkv,
                                           .in2 = slots->alpha,
                                           .in3 = slots->beta,
                                           .out = slots->inner,
                                           .weight = layer->rate,
                                           .bias = layer->dt_bias,
                                           .states = builder->source->states,
                                           .n_heads = shape->n_values,
                                           .n_kv_heads = shape->n_keys,
                                           .head_dim = shape->key_dim,
                                           .eps = LENGTH_EPS,
                                           .scale = 1.0f / sqrtf((float)shape->key_dim) });
    builder_norm(builder, slots->inner, slots->inner, layer->inner_norm);
    builder_glu(builder, slots->inner, slots->inner_gates, slots->inner, EXEC_GATE_SILU);
    builder_add_back(builder, STEP_OUTPUT, slots->inner, layer->o, NULL, NULL);
}

static uint32_t record(const struct arch_source *source, struct exec_program *program)
{
    struct builder builder = builder_begin(source, program);
    const struct slots slots = slots_of(source->params, program);

    for (builder.layer = 0; builder.layer < source->params->n_layers; builder.layer++) {
        const struct arch_layer *layer = &source->weights->layers[builder.layer];

        builder_read(&builder, STEP_QKV, layer->attn_norm);
        if (arch_recurs(source->params, builder.layer)) {
            recur(&builder, &slots, layer);
        } else {
            attend(&builder, &slots, layer);
        }
        builder_read(&builder, STEP_FFN, layer->ffn_norm);
        builder_feed_forward(&builder, layer, EXEC_GATE_SILU);
    }
    return builder_logits(&builder);
}

const struct arch arch_qwen35 = {
    .name = "qwen35",
    .tables = { &arch_stream, &own_attention, &own_net, &own_gated },
    .habits = { .attends_every = 4 },
    .never_shares = true,
    .record = record,
};
