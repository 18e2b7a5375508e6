#include "tool/kvsize.h"

const struct kvsize kvsizes[KVSIZE_COUNT] = {
    { "f32", ELEM_F32 },
    { "f16", ELEM_F16 },
    { "q8", ELEM_Q8_0 },
    { "q4", ELEM_Q4_0 },
};

uint64_t kvsize_token(const struct kvsize *kvsize, const struct arch_params *params)
{
    const struct exec_kv_shape shape = { .n_layers = params->n_layers,
                                         .n_kv_heads = params->n_kv_heads,
                                         .head_dim = params->head_dim,
                                         .format = kvsize->type };

    return exec_kv_page_bytes(&shape) / EXEC_PAGE_TOK;
}
