#include "model/uses.h"
#include <string.h>

/* Takes "blk.N." off @name. Returns false if it is not there, or N is no layer. */
static bool take_layer(struct gguf_text *name, uint32_t n_layers, uint32_t *ret_layer)
{
    static const char lead[] = "blk.";
    size_t at = sizeof(lead) - 1;
    uint32_t layer = 0;

    if (name->n < at || memcmp(name->bytes, lead, at) != 0) {
        return false;
    }
    for (; at < name->n && name->bytes[at] >= '0' && name->bytes[at] <= '9' && layer < n_layers; at++) {
        layer = layer * 10 + (uint32_t)(name->bytes[at] - '0');
    }
    if (at == sizeof(lead) - 1 || at == name->n || name->bytes[at] != '.' || layer >= n_layers) {
        return false;
    }
    *ret_layer = layer;
    name->bytes += at + 1;
    name->n -= at + 1;
    return true;
}

const struct arch_tensor *arch_find_row(const struct arch *arch, const struct arch_params *params,
                                        struct gguf_text name)
{
    uint32_t layer = 0;
    bool in_layer = take_layer(&name, params->n_layers, &layer);

    for (size_t t = 0; t < ARCH_TABLES_MAX && arch->tables[t]; t++) {
        for (size_t i = 0; i < arch->tables[t]->n; i++) {
            const struct arch_tensor *row = &arch->tables[t]->rows[i];

            if (in_layer == ((row->flags & ARCH_LAYER) != 0) && (!in_layer || arch_row_is_of(row, params, layer)) &&
                strlen(row->name) == name.n && memcmp(row->name, name.bytes, name.n) == 0) {
                return row;
            }
        }
    }
    return NULL;
}
