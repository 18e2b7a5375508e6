#include "model/builder.h"

void builder_put(struct builder *builder, struct exec_op op)
{
    op.phase = (uint8_t)builder->phase;
    op.layer =
        builder->layer < builder->source->params->n_layers ? arch_place(builder->source->params, builder->layer) : 0;
    exec_record(builder->program, &op);
}

/* ---- single ops ---- */

void builder_norm(struct builder *builder, uint32_t out, uint32_t in, const struct exec_mem *weight)
{
    builder_put(builder,
                (struct exec_op){
                    .kind = EXEC_NORM, .in = in, .out = out, .weight = weight, .eps = builder->source->params->eps });
}

void builder_matmul(struct builder *builder, uint32_t out, uint32_t in, const struct exec_mem *weight,
                    const struct exec_mem *bias)
{
    builder_put(builder, (struct exec_op){ .kind = EXEC_MATMUL, .in = in, .out = out, .weight = weight, .bias = bias });
}

void builder_glu(struct builder *builder, uint32_t out, uint32_t gate, uint32_t up, enum exec_gate act)
{
    builder_put(builder, (struct exec_op){ .kind = EXEC_GLU, .in = gate, .in2 = up, .out = out, .gate = act });
}

static void add(struct builder *builder, uint32_t out, uint32_t a, uint32_t b)
{
    builder_put(builder, (struct exec_op){ .kind = EXEC_ADD, .in = a, .in2 = b, .out = out });
}

void builder_scale(struct builder *builder, uint32_t x, float scale)
{
    builder_put(builder, (struct exec_op){ .kind = EXEC_SCALE, .in = x, .out = x, .scale = scale });
}

static void cap(struct builder *builder, uint32_t x, float cap)
{
    builder_put(builder, (struct exec_op){ .kind = EXEC_CAP, .in = x, .out = x, .cap = cap });
}

static void gather(struct builder *builder, uint32_t out, uint32_t in)
{
    builder_put(builder, (struct exec_op){ .kind = EXEC_GATHER, .in = in, .out = out });
}

static void rope(struct builder *builder, uint32_t x, uint32_t n_heads, enum exec_pairs pairs)
{
    const struct arch_source *source = builder->source;
    bool is_local = arch_is_local(source->params, builder->layer);

    builder_put(builder, (struct exec_op){ .kind = EXEC_ROPE,
                                           .in = x,
                                           .out = x,
                                           .table = is_local ? source->rope_local : source->rope,
                                           .n_heads = n_heads,
                                           .head_dim = source->params->head_dim,
                                           .pairs = pairs });
}

/* ---- blocks ---- */

static struct builder_slots slots_of(const struct arch_params *params, struct exec_program *program)
{
    uint32_t n_q = params->n_heads * params->head_dim;
    uint32_t n_kv = params->n_kv_heads * params->head_dim;

    return (struct builder_slots){
        .x = exec_slot(program, "x", params->n_embd, EXEC_ROWS_ALL),
        .normed = exec_slot(program, BUILDER_HIDDEN, params->n_embd, EXEC_ROWS_ALL),
        .q = exec_slot(program, "q", n_q, EXEC_ROWS_ALL),
        .k = exec_slot(program, "k", n_kv, EXEC_ROWS_ALL),
        .v = exec_slot(program, "v", n_kv, EXEC_ROWS_ALL),
        .heads = exec_slot(program, "heads", n_q, EXEC_ROWS_ALL),
        .gate = exec_slot(program, "gate", params->n_ff, EXEC_ROWS_ALL),
        .up = exec_slot(program, "up", params->n_ff, EXEC_ROWS_ALL),
        .back = exec_slot(program, "back", params->n_embd, EXEC_ROWS_ALL),
        .last = exec_slot(program, "last", params->n_embd, EXEC_ROWS_WANTED),
        .logits = exec_slot(program, "logits", params->n_tokens, EXEC_ROWS_WANTED),
    };
}

struct builder builder_begin(const struct arch_source *source, struct exec_program *program)
{
    struct builder builder = {
        .program = program, .source = source, .at = slots_of(source->params, program), .phase = STEP_EMBED
    };

    builder_put(&builder, (struct exec_op){ .kind = EXEC_EMBED, .out = builder.at.x, .weight = source->weights->embd });
    return builder;
}

void builder_read(struct builder *builder, enum step_phase phase, const struct exec_mem *norm)
{
    builder->phase = phase;
    builder_norm(builder, builder->at.normed, builder->at.x, norm);
}

void builder_qkv(struct builder *builder, const struct arch_layer *layer)
{
    const struct builder_slots *at = &builder->at;

    builder_matmul(builder, at->q, at->normed, layer->q, layer->q_bias);
    builder_matmul(builder, at->k, at->normed, layer->k, layer->k_bias);
    builder_matmul(builder, at->v, at->normed, layer->v, layer->v_bias);
}

void builder_norm_heads(struct builder *builder, const struct arch_layer *layer)
{
    builder->phase = STEP_ATTEND;
    builder_norm(builder, builder->at.q, builder->at.q, layer->q_norm);
    builder_norm(builder, builder->at.k, builder->at.k, layer->k_norm);
}

void builder_rotate(struct builder *builder, enum exec_pairs pairs)
{
    builder->phase = STEP_ATTEND;
    rope(builder, builder->at.q, builder->source->params->n_heads, pairs);
    rope(builder, builder->at.k, builder->source->params->n_kv_heads, pairs);
}

void builder_attention(struct builder *builder)
{
    const struct arch_params *params = builder->source->params;
    const struct builder_slots *at = &builder->at;

    builder->phase = STEP_ATTEND;
    builder_put(builder, (struct exec_op){ .kind = EXEC_STORE,
                                           .in = at->k,
                                           .in2 = at->v,
                                           .kv = builder->source->kv,
                                           .n_kv_heads = params->n_kv_heads,
                                           .head_dim = params->head_dim });
    builder_put(builder, (struct exec_op){ .kind = EXEC_ATTEND,
                                           .in = at->q,
                                           .out = at->heads,
                                           .kv = builder->source->kv,
                                           .n_heads = params->n_heads,
                                           .n_kv_heads = params->n_kv_heads,
                                           .head_dim = params->head_dim,
                                           .scale = params->attn_scale,
                                           .cap = params->attn_cap,
                                           .window = arch_is_local(params, builder->layer) ? params->window : 0 });
}

void builder_add_back(struct builder *builder, enum step_phase phase, uint32_t in, const struct exec_mem *weight,
                      const struct exec_mem *bias, const struct exec_mem *post_norm)
{
    const struct builder_slots *at = &builder->at;

    builder->phase = phase;
    builder_matmul(builder, at->back, in, weight, bias);
    if (post_norm) {
        builder_norm(builder, at->back, at->back, post_norm);
    }
    add(builder, at->x, at->x, at->back);
}

void builder_feed_forward(struct builder *builder, const struct arch_layer *layer, enum exec_gate gate)
{
    const struct builder_slots *at = &builder->at;

    builder_matmul(builder, at->gate, at->normed, layer->gate, NULL);
    builder_matmul(builder, at->up, at->normed, layer->up, NULL);
    builder_glu(builder, at->gate, at->gate, at->up, gate);
    builder_add_back(builder, STEP_FFN, at->gate, layer->down, NULL, layer->ffn_post_norm);
}

uint32_t builder_logits(struct builder *builder)
{
    const struct arch_weights *weights = builder->source->weights;
    const struct builder_slots *at = &builder->at;

    builder->phase = STEP_HEAD;
    if (builder->source->params->pooling != POOLING_NONE) {
        builder_norm(builder, at->normed, at->x, weights->output_norm);
        gather(builder, at->last, at->normed);
    } else {
        gather(builder, at->last, at->x);
        builder_norm(builder, at->last, at->last, weights->output_norm);
    }
    builder_matmul(builder, at->logits, at->last, weights->output, NULL);
    if (builder->source->params->logit_cap > 0.0f) {
        cap(builder, at->logits, builder->source->params->logit_cap);
    }
    return at->logits;
}
