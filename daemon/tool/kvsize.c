#include "tool/kvsize.h"

const struct kvsize kvsizes[KVSIZE_COUNT] = {
    { "f32", EXEC_KV_F32 },
    { "f16", EXEC_KV_F16 },
    { "q8", EXEC_KV_Q8 },
    { "q4", EXEC_KV_Q4 },
};

uint64_t kvsize_token(const struct kvsize *kvsize, const struct arch_params *params)
{
    const struct exec_kv_shape shape = { .n_layers = params->n_layers - params->n_recurrent,
                                         .n_kv_heads = params->n_kv_heads,
                                         .head_dim = params->head_dim,
                                         .format = kvsize->format };

    return exec_kv_page_bytes(&shape) / EXEC_PAGE_TOK;
}
