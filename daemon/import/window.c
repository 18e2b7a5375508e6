/*
 * Newer folders list the kind of every layer, older ones leave it to the family. The list is written in both cases, so
 * that readers need not know the family.
 */
#include "import/window.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include <errno.h>

#define LOCAL  "sliding_attention"
#define GLOBAL "full_attention"

/* Fills @out; *ret_any: at least one layer is local. */
static int list_layers(const struct import *import, window_layer_fn is_local, bool *out, bool *ret_any,
                       struct diag *diag)
{
    const json_t *kinds = json_object_get(import->folder->text, "layer_types");
    const uint32_t n = import->facts.n_layers;

    if (json_is_array(kinds) && json_array_size(kinds) != n) {
        diag_blame(diag, "layer_types", "config.json: \"layer_types\" lists %zu layers of %u", json_array_size(kinds),
                   n);
        return IMPORT_REFUSED;
    }
    *ret_any = false;
    for (uint32_t i = 0; i < n; i++) {
        const char *kind = json_string_value(json_array_get(kinds, i));

        if (json_is_array(kinds) && (!kind || (strcmp(kind, LOCAL) != 0 && strcmp(kind, GLOBAL) != 0))) {
            diag_blame(diag, "layer_types",
                       "config.json: layer %u is of the kind \"%.40s\"; only " GLOBAL " and " LOCAL " are known", i,
                       kind ? kind : "");
            return IMPORT_REFUSED;
        }
        out[i] = kind ? strcmp(kind, LOCAL) == 0 : !is_local || is_local(import, i);
        *ret_any = *ret_any || out[i];
    }
    return IMPORT_OK;
}

int window_import(struct import *import, window_layer_fn is_local, struct diag *diag)
{
    cleanup(mem_freep) bool *local = mem_calloc(MEM_SCRATCH, import->facts.n_layers, sizeof(*local));
    const json_t *config = import->folder->text;
    uint32_t window = 0;
    bool is_used = true;
    bool any;

    if (!local) {
        return err_new(-ENOMEM);
    }
    if (json_get_u32(config, "sliding_window", &window, diag) == JSON_WRONG ||
        json_get_bool(config, "use_sliding_window", &is_used, diag) == JSON_WRONG ||
        list_layers(import, is_local, local, &any, diag)) {
        return IMPORT_REFUSED;
    }
    if (!any || !is_used || window == 0) {
        return IMPORT_OK;
    }
    gguf_put_u32(import->writer, import_key(import, "attention.sliding_window"), window);
    gguf_put_numbers(import->writer, import_key(import, "attention.sliding_window_pattern"), GGUF_BOOL, local,
                     import->facts.n_layers);
    return IMPORT_OK;
}
