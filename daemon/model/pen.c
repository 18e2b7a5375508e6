#include "model/pen.h"

void pen_put(struct pen *pen, struct exec_op op)
{
    op.phase = (uint8_t)pen->phase;
    op.layer = pen->layer < pen->source->params->n_layers ? arch_place(pen->source->params, pen->layer) : 0;
    exec_record(pen->program, &op);
}

/* ---- single ops ---- */

void pen_norm(struct pen *pen, uint32_t out, uint32_t in, const struct exec_mem *weight)
{
    pen_put(pen, (struct exec_op){
                     .kind = EXEC_NORM, .in = in, .out = out, .weight = weight, .eps = pen->source->params->eps });
}

void pen_matmul(struct pen *pen, uint32_t out, uint32_t in, const struct exec_mem *weight, const struct exec_mem *bias)
{
    pen_put(pen, (struct exec_op){ .kind = EXEC_MATMUL, .in = in, .out = out, .weight = weight, .bias = bias });
}

void pen_glu(struct pen *pen, uint32_t out, uint32_t gate, uint32_t up, enum exec_gate act)
{
    pen_put(pen, (struct exec_op){ .kind = EXEC_GLU, .in = gate, .in2 = up, .out = out, .gate = act });
}

void pen_add(struct pen *pen, uint32_t out, uint32_t a, uint32_t b)
{
    pen_put(pen, (struct exec_op){ .kind = EXEC_ADD, .in = a, .in2 = b, .out = out });
}

void pen_scale(struct pen *pen, uint32_t x, float scale)
{
    pen_put(pen, (struct exec_op){ .kind = EXEC_SCALE, .in = x, .out = x, .scale = scale });
}

void pen_cap(struct pen *pen, uint32_t x, float cap)
{
    pen_put(pen, (struct exec_op){ .kind = EXEC_CAP, .in = x, .out = x, .cap = cap });
}

void pen_gather(struct pen *pen, uint32_t out, uint32_t in)
{
    pen_put(pen, (struct exec_op){ .kind = EXEC_GATHER, .in = in, .out = out });
}

static void rope(struct pen *pen, uint32_t x, uint32_t n_heads, enum exec_pairs pairs)
{
    const struct arch_source *source = pen->source;
    bool is_local = arch_is_local(source->params, pen->layer);

    pen_put(pen, (struct exec_op){ .kind = EXEC_ROPE,
                                   .in = x,
                                   .out = x,
                                   .table = is_local ? source->rope_local : source->rope,
                                   .n_heads = n_heads,
                                   .head_dim = source->params->head_dim,
                                   .pairs = pairs });
}

/* ---- blocks ---- */

static struct pen_slots slots_of(const struct arch_params *params, struct exec_program *program)
{
    uint32_t n_q = params->n_heads * params->head_dim;
    uint32_t n_kv = params->n_kv_heads * params->head_dim;

    return (struct pen_slots){
        .x = exec_slot(program, "x", params->n_embd, EXEC_ROWS_ALL),
        .normed = exec_slot(program, PEN_HIDDEN, params->n_embd, EXEC_ROWS_ALL),
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

struct pen pen_begin(const struct arch_source *source, struct exec_program *program)
{
    struct pen pen = {
        .program = program, .source = source, .at = slots_of(source->params, program), .phase = STEP_EMBED
    };

    pen_put(&pen, (struct exec_op){ .kind = EXEC_EMBED, .out = pen.at.x, .weight = source->weights->embd });
    return pen;
}

void pen_read(struct pen *pen, enum step_phase phase, const struct exec_mem *norm)
{
    pen->phase = phase;
    pen_norm(pen, pen->at.normed, pen->at.x, norm);
}

void pen_qkv(struct pen *pen, const struct arch_layer *layer)
{
    const struct pen_slots *at = &pen->at;

    pen_matmul(pen, at->q, at->normed, layer->q, layer->q_bias);
    pen_matmul(pen, at->k, at->normed, layer->k, layer->k_bias);
    pen_matmul(pen, at->v, at->normed, layer->v, layer->v_bias);
}

void pen_norm_heads(struct pen *pen, const struct arch_layer *layer)
{
    pen_norm(pen, pen->at.q, pen->at.q, layer->q_norm);
    pen_norm(pen, pen->at.k, pen->at.k, layer->k_norm);
}

void pen_rotate(struct pen *pen, enum exec_pairs pairs)
{
    rope(pen, pen->at.q, pen->source->params->n_heads, pairs);
    rope(pen, pen->at.k, pen->source->params->n_kv_heads, pairs);
}

void pen_attention(struct pen *pen)
{
    const struct arch_params *params = pen->source->params;
    const struct pen_slots *at = &pen->at;

    pen->phase = STEP_ATTEND;
    pen_put(pen, (struct exec_op){ .kind = EXEC_STORE,
                                   .in = at->k,
                                   .in2 = at->v,
                                   .kv = pen->source->kv,
                                   .n_kv_heads = params->n_kv_heads,
                                   .head_dim = params->head_dim });
    pen_put(pen, (struct exec_op){ .kind = EXEC_ATTEND,
                                   .in = at->q,
                                   .out = at->heads,
                                   .kv = pen->source->kv,
                                   .n_heads = params->n_heads,
                                   .n_kv_heads = params->n_kv_heads,
                                   .head_dim = params->head_dim,
                                   .scale = params->attn_scale,
                                   .cap = params->attn_cap,
                                   .window = arch_is_local(params, pen->layer) ? params->window : 0 });
}

void pen_add_back(struct pen *pen, enum step_phase phase, uint32_t in, const struct exec_mem *weight,
                  const struct exec_mem *bias, const struct exec_mem *post_norm)
{
    const struct pen_slots *at = &pen->at;

    pen->phase = phase;
    pen_matmul(pen, at->back, in, weight, bias);
    if (post_norm) {
        pen_norm(pen, at->back, at->back, post_norm);
    }
    pen_add(pen, at->x, at->x, at->back);
}

void pen_feed_forward(struct pen *pen, const struct arch_layer *layer, enum exec_gate gate)
{
    const struct pen_slots *at = &pen->at;

    pen_matmul(pen, at->gate, at->normed, layer->gate, NULL);
    pen_matmul(pen, at->up, at->normed, layer->up, NULL);
    pen_glu(pen, at->gate, at->gate, at->up, gate);
    pen_add_back(pen, STEP_FFN, at->gate, layer->down, NULL, layer->ffn_post_norm);
}

uint32_t pen_logits(struct pen *pen)
{
    const struct arch_weights *weights = pen->source->weights;
    const struct pen_slots *at = &pen->at;

    pen->phase = STEP_HEAD;
    if (pen->source->params->pooling != GIST_NONE) {
        pen_norm(pen, at->normed, at->x, weights->output_norm);
        pen_gather(pen, at->last, at->normed);
    } else {
        pen_gather(pen, at->last, at->x);
        pen_norm(pen, at->last, at->last, weights->output_norm);
    }
    pen_matmul(pen, at->logits, at->last, weights->output, NULL);
    if (pen->source->params->logit_cap > 0.0f) {
        pen_cap(pen, at->logits, pen->source->params->logit_cap);
    }
    return at->logits;
}
