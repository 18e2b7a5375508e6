#include "model/arch.h"
#include "base/clean.h"
#include <string.h>

static const struct arch *const families[] = { &arch_llama };

int arch_find(const struct gguf *gguf, const struct arch **ret_arch, struct diag *diag)
{
    struct gguf_text name;
    int r = gguf_get_text(gguf, "general.architecture", &name, diag);

    if (r == GGUF_NONE) {
        diag_set(diag, "the file has no key general.architecture: it is no model");
    }
    if (r) {
        return MODEL_REFUSED;
    }
    for (size_t i = 0; i < COUNTOF(families); i++) {
        if (strlen(families[i]->name) == name.n && memcmp(families[i]->name, name.bytes, name.n) == 0) {
            *ret_arch = families[i];
            return MODEL_OK;
        }
    }
    diag_blame(diag, "general.architecture",
               "architecture \"%.*s\" is not supported; there is llama (Llama 2 and 3, "
               "TinyLlama, SmolLM2, Mistral)",
               (int)(name.n < 64 ? name.n : 64), name.bytes);
    return MODEL_REFUSED;
}

/* ---- recording ---- */

static void put(struct pen *pen, struct exec_op op)
{
    op.phase = (uint8_t)pen->phase;
    op.layer = pen->layer;
    exec_record(pen->program, &op);
}

void pen_embed(struct pen *pen, uint32_t out, const struct exec_mem *table)
{
    put(pen, (struct exec_op){ .kind = EXEC_EMBED, .out = out, .weight = table });
}

void pen_norm(struct pen *pen, uint32_t out, uint32_t in, const struct exec_mem *weight)
{
    put(pen,
        (struct exec_op){
            .kind = EXEC_NORM, .in = in, .out = out, .weight = weight, .eps = pen->source->params->eps });
}

void pen_matmul(struct pen *pen, uint32_t out, uint32_t in, const struct exec_mem *weight,
                const struct exec_mem *bias)
{
    put(pen, (struct exec_op){ .kind = EXEC_MATMUL, .in = in, .out = out, .weight = weight, .bias = bias });
}

void pen_rope(struct pen *pen, uint32_t x, uint32_t n_heads, enum exec_pairs pairs)
{
    put(pen, (struct exec_op){ .kind = EXEC_ROPE,
                               .in = x,
                               .out = x,
                               .table = pen->source->rope,
                               .n_heads = n_heads,
                               .head_dim = pen->source->params->head_dim,
                               .pairs = pairs });
}

void pen_store(struct pen *pen, uint32_t k, uint32_t v)
{
    put(pen, (struct exec_op){ .kind = EXEC_STORE,
                               .in = k,
                               .in2 = v,
                               .kv = pen->source->kv,
                               .n_kv_heads = pen->source->params->n_kv_heads,
                               .head_dim = pen->source->params->head_dim });
}

void pen_attend(struct pen *pen, uint32_t out, uint32_t q, float scale)
{
    put(pen, (struct exec_op){ .kind = EXEC_ATTEND,
                               .in = q,
                               .out = out,
                               .kv = pen->source->kv,
                               .n_heads = pen->source->params->n_heads,
                               .n_kv_heads = pen->source->params->n_kv_heads,
                               .head_dim = pen->source->params->head_dim,
                               .scale = scale });
}

void pen_glu(struct pen *pen, uint32_t out, uint32_t gate, uint32_t up)
{
    put(pen, (struct exec_op){ .kind = EXEC_GLU, .in = gate, .in2 = up, .out = out });
}

void pen_add(struct pen *pen, uint32_t out, uint32_t a, uint32_t b)
{
    put(pen, (struct exec_op){ .kind = EXEC_ADD, .in = a, .in2 = b, .out = out });
}

void pen_gather(struct pen *pen, uint32_t out, uint32_t in)
{
    put(pen, (struct exec_op){ .kind = EXEC_GATHER, .in = in, .out = out });
}
